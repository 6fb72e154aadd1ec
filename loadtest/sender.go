package loadtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/polystore/polystore/loadtest/internal/candidate"
	"github.com/polystore/polystore/loadtest/internal/data"
	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/store"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo/driver"
)

// A Sender sends operations of a workload to one model on one store, of which an earlier run kept the data
// ([Options].Keep). When to send them, and what to make of what becomes of them, is up to its program: k6 is one.
// Programs on several machines may send to the same data. It is for several goroutines.
type Sender struct {
	store     *store.Store
	candidate *candidate.Candidate

	mu     sync.Mutex
	stream *operation.Stream
	blocks []sendBlock // the last used first
}

// A sendBlock is some operations that follow one another.
type sendBlock struct {
	number int
	calls  []operation.Call
}

const (
	blockSize  = 1000
	blocksHeld = 8
	mostSent   = 2_000_000_000 // operations of one workload
)

// OpenSender returns a sender for a model of a workload on the store of a URL, which open opens. The sender closes it.
// Without data that fit the error says what to run first. From then on no run reuses these data: what is sent changes them.
func OpenSender(ctx context.Context, w *Workload, model, url string, open func(context.Context, string) (driver.Store, error)) (s *Sender, err error) {
	if err := sound(ctx, open); err != nil {
		return nil, err
	}
	settled, err := w.settled()
	if err != nil {
		return nil, err
	}
	if settled.Trace != nil {
		return nil, fmt.Errorf("the operations are those of a trace; a sender has those that are drawn: %w", driver.ErrInvalid)
	}
	r := &run{w: settled, opts: &Options{Reuse: true, Open: open}, began: time.Now()}
	if r.data, err = data.Survey(ctx, settled, nil); err != nil {
		return nil, err
	}
	stream, err := operation.NewStream(settled, r.data)
	if err != nil {
		return nil, err
	}
	st, err := store.Open(ctx, url, store.Redact(url), open)
	if err != nil {
		return nil, err
	}
	s = &Sender{store: st, stream: stream}
	if err = s.attach(ctx, r, model); err == nil {
		err = failure.AsError(s.candidate.Plan(settled, func(at int) operation.Call { return stream.Only(at, 1, 0)[0] }))
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// attach takes what an earlier run kept of a model.
func (s *Sender) attach(ctx context.Context, r *run, model string) error {
	var names []string
	for _, mo := range r.w.Models {
		names = append(names, strconv.Quote(mo.Name))
		if mo.Name != model {
			continue
		}
		s.candidate = candidate.New(r.w, s.store, mo, "")
		if err := r.describe(ctx, s.candidate); err != nil {
			return err
		}
		return s.take(ctx, r.w)
	}
	return fmt.Errorf("the workload %s has no model %q; it has %s: %w", r.w.Name, model, strings.Join(names, ", "), driver.ErrInvalid)
}

// take takes the newest data that fit, also those that a sender has changed, and says in the store that they are not
// as they were loaded.
func (s *Sender) take(ctx context.Context, w *workload.Workload) error {
	c := s.candidate
	list, err := c.Store.Kept(ctx)
	if err != nil {
		return err
	}
	why := "no run kept it"
	for _, k := range list {
		if k.Workload != c.Kept.Workload || k.Model != c.Kept.Model {
			continue
		}
		loaded := k
		loaded.Whole = true
		if differs := loaded.Differs(&c.Kept); differs != "" {
			why = "what run " + k.Run + " kept does not fit: " + differs
			continue
		}
		if k.Whole {
			k.Whole = false
			if err := c.Store.Keep(ctx, &k); err != nil {
				return err
			}
		}
		return c.Take(ctx, w, k)
	}
	return fmt.Errorf("there are no data of model %s on %s: %s; load them: polystore load %s --on %s --keep: %w", c.Model.Name, c.Store.URL, why, w.File, c.Store.URL, driver.ErrNotFound)
}

// Send sends the n-th operation, from 0, and returns what became of it, with an error that the store returned. The same
// number is the same operation, so each is sent once: programs that share the load send different ones. Response is
// how long the operation took; there is no lag.
func (s *Sender) Send(ctx context.Context, n int) (Observation, error) {
	k, err := s.call(n)
	if err != nil {
		return Observation{}, err
	}
	began := time.Now()
	a, err := s.candidate.Do(ctx, &k, false)
	took := time.Since(began)
	outcome := operation.OutcomeOf(ctx, err)
	if outcome.Nothing() {
		err = nil
	}
	return Observation{Store: s.store.URL, Model: s.candidate.Model.Name, Query: k.Q.Name, Outcome: k.Effect(a, outcome).String(), Response: took}, err
}

// call returns the n-th operation.
func (s *Sender) call(n int) (operation.Call, error) {
	if n < 0 || n > mostSent {
		return operation.Call{}, fmt.Errorf("operation %d: want 0 to %d: %w", n, mostSent, driver.ErrInvalid)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	number := n / blockSize
	at := slices.IndexFunc(s.blocks, func(b sendBlock) bool { return b.number == number })
	if at < 0 {
		s.blocks = slices.Insert(s.blocks, 0, sendBlock{number, s.stream.Mixed(fmt.Sprint("sent ", number), blockSize, number*blockSize)})
		s.blocks = s.blocks[:min(len(s.blocks), blocksHeld)]
		return s.blocks[0].calls[n%blockSize], nil
	}
	b := s.blocks[at]
	copy(s.blocks[1:], s.blocks[:at])
	s.blocks[0] = b
	return b.calls[n%blockSize], nil
}

// Close closes the store. The data stay; polystore load --clean --kept removes them.
func (s *Sender) Close() error { return s.store.Repo.Close() }
