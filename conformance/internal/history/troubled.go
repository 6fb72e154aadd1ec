package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/record"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
)

// A Trouble is what befalls a store while clients work with it.
type Trouble struct {
	Seed    uint64 // of what the clients do
	Rounds  int    // histories, of each kind in turn
	Clients int    // that work at once, 100 at most; 0 is 5

	// Make makes calls fail until its context ends, which is when the clients are done, and
	// after Lasts at the latest; 0 is 20 seconds. When it returns, the trouble is over.
	Make  func(ctx context.Context, seed uint64)
	Lasts time.Duration
}

// A tally counts the calls of histories in trouble, and what became of those whose
// outcome was unknown.
type tally struct {
	Calls        int
	Answered     int
	Unknown      int
	Committed    int // of Unknown, as Resolve says
	NotCommitted int
	Open         int // Resolve cannot say: such a call may have been done at any time, or not at all
}

// Rounds makes the histories of all rounds.
func Rounds(ctx context.Context, on tested.Store, t Trouble, in *Troubled) error {
	var all *repo.Repo[record.Entry]
	var meters *repo.Repo[meter]
	var twins *repo.Repo[twin]
	err := InsistCalmly(ctx, func(ctx context.Context) (err error) {
		if all, twins, err = withTwins(ctx, on); err != nil {
			return err
		}
		schema := meterSchema(tested.Reach(on.Facts))
		schema.Collection = on.FreshName()
		meters, err = repo.Open[meter](ctx, repo.NewStore(double.Jittery{Store: on.Store}, nil), schema)
		return err
	})
	if err != nil {
		return err
	}
	kinds := append(KindsOf(tested.Reach(on.Facts)), historyKind{"a counter", (*history).useCounters, (*history).lastCounters, (*history).checkCalls, true})
	kinds = append(kinds, twinKinds(twins)...)
	for i := range t.Rounds {
		kind := kinds[i%len(kinds)]
		in.polite = i/len(kinds)%2 == 1
		err := decided(func(before int) error {
			h := NewHistory(all, t.Seed, i+before*t.Rounds)
			h.meters, h.twins, h.trouble = meters, twins, in
			if t.Clients > 0 {
				h.clients = min(t.Clients, mostClients)
			}
			h.ops = troubledOps / h.clients >> before // fewer are explained sooner
			return h.runInTrouble(ctx, kind, t)
		})
		if err != nil {
			return fmt.Errorf("%s, round %d of seed %d: %w", kind.what, i, t.Seed, err)
		}
	}
	return nil
}

const (
	troubledOps  = 200                    // of all clients
	pauseOfCalls = 4 * time.Millisecond   // at most, before each call
	patience     = 100 * time.Millisecond // at most, of half of the calls
	askAgain     = 5 * time.Millisecond
	stormAtMost  = 20 * time.Second
	calmRun      = 2 * time.Minute // for what must be answered when it is over
)

// runInTrouble is run with trouble while the clients work, and calm thereafter.
func (h *history) runInTrouble(calmly context.Context, kind historyKind, t Trouble) error {
	calmly, end := context.WithTimeout(calmly, historyRun+calmRun)
	defer end()
	ctx, cancel := context.WithTimeout(calmly, historyRun)
	defer cancel()
	h.trouble.told, h.trouble.resolve = nil, h.resolve
	if kind.counts {
		if err := h.makeCounters(ctx); err != nil {
			return err
		}
	}
	storm, calm := context.WithTimeout(ctx, cmp.Or(t.Lasts, stormAtMost))
	var over sync.WaitGroup
	over.Go(func() { t.Make(storm, t.Seed+uint64(h.number)) })
	err := h.work(ctx, kind)
	calm()
	over.Wait()
	if err == nil {
		err = errors.Join(insist(calmly, h.trouble.askAnew), kind.last(h, calmly), insist(calmly, h.inStep))
	}
	h.trouble.Tally.Calls += h.asked
	h.trouble.Tally.Answered += h.told
	if err != nil {
		return err
	}
	return h.explain(kind)
}

// insist does what may be done twice, and what a busy machine may not answer in time, until it is
// answered.
func insist(ctx context.Context, do func(ctx context.Context) error) error {
	for {
		err := do(ctx)
		if ctx.Err() != nil || !errors.Is(err, repo.ErrTimeout) && !errors.Is(err, repo.ErrUnavailable) && !errors.Is(err, repo.ErrUnknownOutcome) {
			return err
		}
		time.Sleep(askAgain)
	}
}

// InsistCalmly is insist for as long as all must be answered when it is calm.
func InsistCalmly(ctx context.Context, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, calmRun)
	defer cancel()
	return insist(ctx, do)
}

// resolve asks the collection of an outcome.
func (h *history) resolve(ctx context.Context, in string, o *repo.Outcome) (repo.Verdict, error) {
	switch {
	case in == nameOf(h.meters):
		return h.meters.Resolve(ctx, o)
	case h.twins != nil && in == nameOf(h.twins):
		return h.twins.Resolve(ctx, o)
	}
	return h.repo.Resolve(ctx, o)
}

// nameOf returns the name of a collection.
func nameOf[T any](r *repo.Repo[T]) string { return r.ExplainWrites()[0].Collection }

// inStep sees that the indexes agree with the records.
func (h *history) inStep(ctx context.Context) error {
	reports, err := h.repo.Verify(ctx)
	more, err2 := h.meters.Verify(ctx)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	for _, r := range append(reports, more...) {
		if !r.Clean() {
			return finding.Wanted("index "+r.Index+" to agree with the records", fmt.Sprintf("%d rows missing, %d stale: %q", r.Missing, r.Stale, r.Samples))
		}
	}
	return nil
}

// Troubled is what clients in trouble know of their outcomes.
type Troubled struct {
	mu      sync.Mutex
	Tally   tally
	resolve func(ctx context.Context, in string, o *repo.Outcome) (repo.Verdict, error)
	told    []told // in this round
	asking  atomic.Int64
	polite  bool // clients begin nothing new while one asks, so that a record still knows its last writers
}

// told is a verdict.
type told struct {
	in      string // the collection
	outcome *repo.Outcome
	verdict repo.Verdict
}

// turn does one call after a while, half of the times with little patience.
func (t *Troubled) turn(ctx context.Context, r *rand.Rand, do func(ctx context.Context)) {
	time.Sleep(time.Duration(r.Int64N(int64(pauseOfCalls))))
	for t.polite && t.asking.Load() > 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if r.IntN(2) == 0 {
		limited, cancel := context.WithTimeout(ctx, time.Duration(r.Int64N(int64(patience))))
		defer cancel()
		ctx = limited
	}
	do(ctx)
}

// settle asks what became of a call until it is told, with a deadline of its own: that
// of the call may have passed. While the trouble lasts no answer may come, and it may
// last for as long as one asks.
func (t *Troubled) settle(ctx context.Context, err error) status {
	e, ok := errors.AsType[*repo.Error](err)
	if !ok || e.Outcome == nil {
		panic(finding.Wanted("an unknown outcome to be told with what Resolve needs", err.Error()))
	}
	t.asking.Add(1)
	defer t.asking.Add(-1)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stormAtMost+calmRun)
	defer cancel()
	for {
		v, err := t.resolve(ctx, e.Collection, e.Outcome)
		if err == nil {
			return t.note(told{e.Collection, e.Outcome, v})
		}
		if ctx.Err() != nil {
			panic(finding.Wanted(fmt.Sprintf("an outcome to be resolved within %s, %s of them calm", stormAtMost+calmRun, calmRun), err.Error()))
		}
		time.Sleep(askAgain)
	}
}

func (t *Troubled) note(is told) status {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.told = append(t.told, is)
	t.Tally.Unknown++
	switch is.verdict {
	case repo.Committed:
		t.Tally.Committed++
		return done
	case repo.NotCommitted:
		t.Tally.NotCommitted++
		return nothingDone
	}
	t.Tally.Open++
	return notKnown
}

// askAnew sees that no verdict of the round is taken back.
func (t *Troubled) askAnew(ctx context.Context) error {
	for _, was := range t.told {
		v, err := t.resolve(ctx, was.in, was.outcome)
		if err != nil {
			return fmt.Errorf("resolve, when it is calm: %w", err)
		}
		if v != was.verdict && v != repo.Unknown && was.verdict != repo.Unknown {
			return finding.Wanted("a verdict to be kept", fmt.Sprintf("first %s, then %s", was.verdict, v))
		}
	}
	return nil
}
