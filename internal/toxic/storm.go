package toxic

import (
	"context"
	"math/rand/v2"
	"time"
)

// Storm makes trouble, of one kind after the other with calm in between, until the
// context ends, and heals the network then. The seed decides on kinds, ways and times
// and so makes the same trouble again; when it meets which call is up to the machine.
// It returns what it did.
func (p *Proxy) Storm(ctx context.Context, seed uint64) []Fault {
	return p.Squalls(ctx, seed, 1)
}

// Squalls is Storm with so many times as much calm in between: for clients that take
// long to make a connection.
func (p *Proxy) Squalls(ctx context.Context, seed uint64, longer int) []Fault {
	defer p.Heal()
	r := rand.New(rand.NewPCG(seed, 0))
	var done []Fault
	for {
		f, lasts, calm := draw(r)
		if !Sleep(ctx, time.Duration(longer)*calm) {
			return done
		}
		p.Set(f)
		done = append(done, f)
		goesOn := Sleep(ctx, lasts)
		p.Heal()
		if !goesOn {
			return done
		}
	}
}

// draw returns a fault, how long it lasts, and how long it is calm before.
func draw(r *rand.Rand) (f Fault, lasts, calm time.Duration) {
	between := func(least, most time.Duration) time.Duration {
		return least + time.Duration(r.Int64N(int64(most-least)))
	}
	f = Fault{Kind: Delay + Kind(r.IntN(5)), Way: Way(r.IntN(3)), Time: between(time.Millisecond, 30*time.Millisecond)}
	calm = between(5*time.Millisecond, 40*time.Millisecond)
	switch f.Kind {
	case Cut, Reset: // what they do is done at once
		lasts = between(time.Millisecond, 20*time.Millisecond)
	default:
		lasts = between(10*time.Millisecond, 120*time.Millisecond)
	}
	return f, lasts, calm
}

// Sleep reports whether d passed before the context ended.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
