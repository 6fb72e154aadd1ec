package measure

import (
	"context"
	"fmt"
	"time"

	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/operation"
)

// A Share is the part of a load that this process sends. All processes make the same operations. Each sends every n-th of
// them at its own instant, so that together they are those of one process, and knows what the others write.
type Share struct {
	Number int // from 1
	Of     int
	Start  time.Time     // of the first round, the same for all
	Every  time.Duration // from the beginning of a round to that of the next one
}

// slot returns when a round of a candidate begins: the number of the round, and the candidate's place in its order.
func (s *Share) slot(number, candidates, place int) time.Time {
	return s.Start.Add(time.Duration(number*candidates+place) * s.Every)
}

// sends reports whether the share sends the i-th operation.
func (s *Share) sends(i int) bool { return s == nil || i%s.Of == s.Number-1 }

// divide returns the operations of the share and their instants, and the operations of the others.
func (s *Share) divide(calls []operation.Call, instant func(int) time.Duration) (own []operation.Call, due []time.Duration, others []operation.Call) {
	for i := range calls {
		if s.sends(i) {
			own, due = append(own, calls[i]), append(due, instant(i))
		} else {
			others = append(others, calls[i])
		}
	}
	return own, due, others
}

// Divide lets the measurement be that of one share.
func (m *Measurement) Divide(s *Share) {
	m.share = s
	if s == nil {
		return
	}
	m.bench.Divided = true
	m.bench.Rate = (m.w.Rate + s.Of - 1) / s.Of
	m.bench.Slots = m.w.Slots / s.Of
	if s.Number <= m.w.Slots%s.Of {
		m.bench.Slots++
	}
}

// own returns what the share sends of the operations of a round, and tells the oracles what others write.
func (m *Measurement) own(calls []operation.Call) []operation.Call {
	if m.share == nil {
		return calls
	}
	instant := func(i int) time.Duration { return time.Duration(int64(i) * int64(time.Second) / int64(m.w.Rate)) }
	own, due, others := m.share.divide(calls, instant)
	m.bench.Due, m.bench.Last = due, instant(len(calls)-1)
	m.others = others
	return own
}

// await waits until a round of a candidate begins, and does what is left to be done before that.
func (m *Measurement) await(ctx context.Context, number, place, i int) error {
	if m.share == nil {
		return nil
	}
	m.candidates[i].Seen.Elsewhere(m.others)
	at := m.share.slot(number, len(m.candidates), place)
	early := time.Until(at) - limit.ShareLead
	if early < 0 {
		return fmt.Errorf("share %d of %d was %v late for its round %d of %s: load less beside it, or more shares with less to do each; then begin all shares anew, with a later --start-at",
			m.share.Number, m.share.Of, (-early).Round(time.Millisecond), number, m.candidates[i].Label)
	}
	m.bench.At = at
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(early):
		return nil
	}
}

// Sampled lets the operations go on behind the sampled writes of another process, which all candidates here may have.
func (m *Measurement) Sampled(calls []operation.Call) {
	m.stream.Follow(calls)
	for _, c := range m.candidates {
		c.Seen.Elsewhere(calls)
	}
}
