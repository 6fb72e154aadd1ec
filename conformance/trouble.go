package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// Trouble is what befalls a store while clients work with it.
type Trouble struct {
	Seed    uint64 // of what the clients do
	Rounds  int    // histories, of each kind in turn
	Clients int    // that work at once, 100 at most; 0 is 5

	// Make makes calls fail until its context ends, which is when the clients are done, and
	// after Lasts at the latest; 0 is 20 seconds. When it returns, the trouble is over.
	Make  func(ctx context.Context, seed uint64)
	Lasts time.Duration
}

// A Tally counts the calls of histories in trouble, and what became of those whose
// outcome was unknown.
type Tally struct {
	Calls        int
	Answered     int
	Unknown      int
	Committed    int // of Unknown, as Resolve says
	NotCommitted int
	Open         int // Resolve cannot say: such a call may have been done at any time, or not at all
}

// InTrouble makes concurrent histories like those of Run, and of counters, on a store
// that is in trouble. Clients resolve what is unknown to them. What they saw must be
// explained by an order of the calls, in which none has an effect that was said to
// have none; what Resolve has said it must not take back; and the indexes must be in
// step with the records. The error says what was not so, and in which round.
func InTrouble(ctx context.Context, open Open, t Trouble) (Tally, error) {
	if ctx == nil || open == nil || t.Make == nil {
		return Tally{}, fmt.Errorf("trouble: the context, what opens the store, or Trouble.Make is nil: %w", driver.ErrInvalid)
	}
	var s *suite
	err := insistCalmly(ctx, func(ctx context.Context) (err error) {
		s, err = newSuite(ctx, open, nil)
		return err
	})
	if err != nil {
		return Tally{}, err
	}
	in := &troubled{}
	err = s.rounds(ctx, t, in)
	if left := insistCalmly(context.WithoutCancel(ctx), s.dropAll); left == nil {
		s.opened, s.made = nil, nil
	}
	return in.tally, errors.Join(err, s.finish(context.WithoutCancel(ctx)))
}

func (s *suite) rounds(ctx context.Context, t Trouble, in *troubled) error {
	var entries *repo.Repo[entry]
	var meters *repo.Repo[meter]
	err := insistCalmly(ctx, func(ctx context.Context) (err error) {
		if entries, err = s.entries(ctx); err != nil {
			return err
		}
		schema := meterSchema(reach(s.facts))
		schema.Collection = s.freshName()
		meters, err = repo.Open[meter](ctx, repo.NewStore(jittery{s.store}, nil), schema)
		return err
	})
	if err != nil {
		return err
	}
	kinds := append(kindsOf(reach(s.facts)), historyKind{"a counter", (*history).useCounters, (*history).lastCounters, (*history).checkCalls, true})
	for i := range t.Rounds {
		h := newHistory(entries, t.Seed, i)
		h.meters, h.trouble = meters, in
		if t.Clients > 0 {
			h.clients = min(t.Clients, mostClients)
		}
		h.ops = troubledOps / h.clients
		kind := kinds[i%len(kinds)]
		in.polite = i/len(kinds)%2 == 1
		if err := h.runInTrouble(ctx, kind, t); err != nil {
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
	h.trouble.told, h.trouble.resolve = nil, h.repo.Resolve
	if kind.counts {
		h.trouble.resolve = h.meters.Resolve
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
	h.trouble.tally.Calls += h.asked
	h.trouble.tally.Answered += h.told
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

// insistCalmly is insist for as long as all must be answered when it is calm.
func insistCalmly(ctx context.Context, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, calmRun)
	defer cancel()
	return insist(ctx, do)
}

// inStep sees that the indexes agree with the records.
func (h *history) inStep(ctx context.Context) error {
	reports, err := h.repo.Verify(ctx)
	more, err2 := h.meters.Verify(ctx)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	for _, r := range append(reports, more...) {
		if !r.Clean() {
			return &mismatch{"index " + r.Index + " to agree with the records", fmt.Sprintf("%d rows missing, %d stale: %q", r.Missing, r.Stale, r.Samples)}
		}
	}
	return nil
}

// troubled is what clients in trouble know of their outcomes.
type troubled struct {
	mu      sync.Mutex
	tally   Tally
	resolve func(ctx context.Context, o *repo.Outcome) (repo.Verdict, error)
	told    []told // in this round
	asking  atomic.Int64
	polite  bool // clients begin nothing new while one asks, so that a record still knows its last writers
}

// told is a verdict.
type told struct {
	outcome *repo.Outcome
	verdict repo.Verdict
}

// turn does one call after a while, half of the times with little patience.
func (t *troubled) turn(ctx context.Context, r *rand.Rand, do func(ctx context.Context)) {
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
func (t *troubled) settle(ctx context.Context, err error) status {
	e, ok := errors.AsType[*repo.Error](err)
	if !ok || e.Outcome == nil {
		panic(&mismatch{"an unknown outcome to be told with what Resolve needs", err.Error()})
	}
	t.asking.Add(1)
	defer t.asking.Add(-1)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stormAtMost+calmRun)
	defer cancel()
	for {
		v, err := t.resolve(ctx, e.Outcome)
		if err == nil {
			return t.note(e.Outcome, v)
		}
		if ctx.Err() != nil {
			panic(&mismatch{fmt.Sprintf("an outcome to be resolved within %s, %s of them calm", stormAtMost+calmRun, calmRun), err.Error()})
		}
		time.Sleep(askAgain)
	}
}

func (t *troubled) note(o *repo.Outcome, v repo.Verdict) status {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.told = append(t.told, told{o, v})
	t.tally.Unknown++
	switch v {
	case repo.Committed:
		t.tally.Committed++
		return done
	case repo.NotCommitted:
		t.tally.NotCommitted++
		return nothingDone
	}
	t.tally.Open++
	return notKnown
}

// askAnew sees that no verdict of the round is taken back.
func (t *troubled) askAnew(ctx context.Context) error {
	for _, was := range t.told {
		v, err := t.resolve(ctx, was.outcome)
		if err != nil {
			return fmt.Errorf("resolve, when it is calm: %w", err)
		}
		if v != was.verdict && v != repo.Unknown && was.verdict != repo.Unknown {
			return &mismatch{"a verdict to be kept", fmt.Sprintf("first %s, then %s", was.verdict, v)}
		}
	}
	return nil
}
