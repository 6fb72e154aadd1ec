package random

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
)

// Random operations are done on the store under test and on the memory backend, which
// must answer alike. There a commit changes whatever it likes, so that no index and no
// unique value needs the protocol by which they are kept where a commit changes one
// partition: what is wrong with that is not wrong on both sides. The operations come in
// episodes: each begins with an empty collection, so that the operations of one that fails
// can be tried again and those that do not matter left out.
const (
	episodeOps  = 160
	lanes       = 4 // episodes at once
	shrinkTries = 300
	shrinkTime  = 20 * time.Second
)

// referenceName is that of the collection of the reference.
const referenceName = "reference"

// A comparison is of a store with the reference.
type comparison struct{ on tested.Store }

// Compare does n random operations. The error is the first difference, shrunk.
func Compare(ctx context.Context, on tested.Store, seed uint64, n int, progress func(string, int, int)) error {
	s := comparison{on}
	episodes := (n + episodeOps - 1) / episodeOps
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for lane := range min(lanes, episodes) {
		wg.Go(func() {
			err := finding.Caught(func() error {
				return s.lane(ctx, seed, lane, episodes, func() {
					mu.Lock()
					defer mu.Unlock()
					done++
					progress("random operations", min(done*episodeOps, n), n)
				})
			})
			if err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// lane does every lanes-th episode in one collection, which it empties each time.
// In every other lane records may expire.
func (s comparison) lane(ctx context.Context, seed uint64, lane, episodes int, done func()) error {
	p, err := s.pair(ctx, lane%2 == 0)
	if err != nil {
		return err
	}
	for i := lane; i < episodes && ctx.Err() == nil; i += lanes {
		ops := episode(seed, i)
		if p.apart {
			claimOnce(ops)
		}
		at, diff, err := p.play(ctx, ops)
		if err != nil {
			return err
		}
		if diff != nil {
			return s.shrunk(ctx, seed, i, ops[:at+1], diff)
		}
		if err := p.clear(ctx); err != nil {
			return fmt.Errorf("empty the collection after episode %d of seed %d: %w", i, seed, err)
		}
		done()
	}
	return nil
}

// episode returns the operations of an episode: the same ones for the same seed.
func episode(seed uint64, number int) []operation {
	r := &draw{rand.New(rand.NewPCG(seed, uint64(number)))}
	ops := make([]operation, 0, episodeOps)
	for range episodeOps - 1 {
		ops = append(ops, r.operation())
	}
	return append(ops, operation{verb: "verify"})
}

// A pair is the store under test and the reference, in the same state.
type pair struct {
	tested, reference side
	clock             *double.Clock
	apart             bool // unique values of the store under test are not changed with their records
}

// pair returns a pair with empty collections.
func (s comparison) pair(ctx context.Context, expires bool) (*pair, error) {
	p := &pair{clock: &double.Clock{}, apart: s.on.Facts.Scope < tested.Reach(s.on.Facts)}
	p.clock.Ms.Store(1_500_000_000_000)
	opts := &repo.Options{Now: p.clock.Now}
	var err error
	if p.tested, err = openSide(ctx, repo.NewStore(s.on.Store, opts), s.on.FreshName(), s.on.Facts, expires); err != nil {
		return nil, err
	}
	p.reference, err = openSide(ctx, repo.NewStore(oracle(s.on.Facts), opts), referenceName, s.on.Facts, expires)
	return p, err
}

// A difference is an operation that the two answered differently.
type difference struct {
	op        operation
	got, want string
}

// play does operations on both until they differ, and returns where they did.
func (p *pair) play(ctx context.Context, ops []operation) (at int, diff *difference, err error) {
	for i, op := range ops {
		if err := ctx.Err(); err != nil {
			return i, nil, err
		}
		if op.verb == "pass" {
			p.clock.Pass(time.Duration(op.n) * time.Second)
			continue
		}
		if p.apart && p.reference.passesOn(ctx, op) {
			continue // a store that can change it with both records does what another one refuses
		}
		want := p.reference.do(ctx, op)
		got := p.tested.do(ctx, op)
		if ctx.Err() == nil && got != want {
			return i, &difference{op, got, want}, nil
		}
	}
	return len(ops), nil, nil
}

// clear deletes all records of both.
func (p *pair) clear(ctx context.Context) error {
	return errors.Join(p.tested.clear(ctx), p.reference.clear(ctx))
}

// shrunk leaves operations out as long as the two still differ, each time in new
// collections, and returns the error.
func (s comparison) shrunk(ctx context.Context, seed uint64, number int, ops []operation, diff *difference) error {
	at := len(ops)
	text := fmt.Sprintf("seed %d, episode %d, operation %d: %s", seed, number, at, diffText(diff))
	until := time.Now().Add(shrinkTime)
	tries := 0
	for size := len(ops) / 2; size > 0; {
		before := len(ops)
		for from := 0; from+size < len(ops) && tries < shrinkTries && time.Now().Before(until); tries++ {
			shorter := append(append([]operation{}, ops[:from]...), ops[from+size:]...)
			p, err := s.pair(ctx, number%lanes%2 == 0)
			if err != nil {
				return fmt.Errorf("%s\n(not shrunk: %w)", text, err)
			}
			if n, d, err := p.play(ctx, shorter); err == nil && d != nil {
				ops, diff = shorter[:n+1], d
				continue
			}
			from += size
		}
		if size > 1 || len(ops) == before { // one by one until none can be left out
			size /= 2
		}
	}
	var b strings.Builder
	for i, op := range ops {
		fmt.Fprintf(&b, "\n  %2d  %s", i+1, op)
	}
	return &finding.Mismatch{Want: diff.want, Got: fmt.Sprintf("%s\n%s\nshrunk to %d operations:%s\nthe last of which: %s", diff.got, text, len(ops), b.String(), diffText(diff))}
}

func diffText(d *difference) string { return fmt.Sprintf("%s: got %s, want %s", d.op, d.got, d.want) }
