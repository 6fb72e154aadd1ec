package history

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/record"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// Concurrent histories: some clients work on few records at once, and what each
// asked, was told, and when, must be explained by some order of the calls.
const (
	clients     = 5
	clientOps   = 24
	mostClients = 100
	historyRun  = 2 * time.Minute // for the calls of one history
	checkTime   = time.Minute     // for explaining it
	forever     = math.MaxInt64   // when a call returns whose outcome is unknown
)

// Record makes n histories, some of each kind, and returns the first that cannot
// be explained.
func Record(ctx context.Context, on tested.Store, seed uint64, n int, progress func(string, int, int)) error {
	r, twins, err := withTwins(ctx, on)
	if err != nil {
		return err
	}
	kinds := append(KindsOf(tested.Reach(on.Facts)), twinKinds(twins)...)
	for i := range n {
		h := NewHistory(r, seed, i)
		h.twins = twins
		if err := h.Run(ctx, kinds[i%len(kinds)]); err != nil {
			m := finding.AsMismatch(err)
			return finding.Wanted(m.Want, fmt.Sprintf("%s (history %d of seed %d)", m.Got, i, seed))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		progress("concurrent histories", i+1, n)
	}
	return nil
}

// Entries returns a repository on a new collection whose calls mix.
func Entries(ctx context.Context, on tested.Store) (*repo.Repo[record.Entry], error) {
	schema := record.Schema(on.Facts, true)
	schema.Collection = on.FreshName()
	return repo.Open[record.Entry](ctx, repo.NewStore(double.Jittery{Store: on.Store}, nil), schema)
}

// A history is one run of all clients, and what they saw.
type history struct {
	repo   *repo.Repo[record.Entry]
	Others []*repo.Repo[record.Entry] // of other programs, whose clients come by turns
	tag    string                     // begins the names that it uses
	number int
	rand   func(client int) *rand.Rand

	clients int
	ops     int // that each client does
	meters  *repo.Repo[meter]
	twins   *repo.Repo[twin]
	trouble *Troubled // nil if nothing disturbs the clients

	*sights
}

// sights are what all clients of a history saw.
type sights struct {
	began time.Time
	mu    sync.Mutex
	calls map[string][]porcupine.Operation // by what must be explained alone: a record, or a value
	moves map[string][]stay                // by record: the values that it had
	looks []look
	asked int // calls that should have been answered
	told  int // those that were
}

// NewHistory returns the history of a number, whose calls a seed draws, on a collection.
func NewHistory(r *repo.Repo[record.Entry], seed uint64, number int) *history {
	return &history{
		repo: r, number: number, tag: fmt.Sprintf("h%d", number), clients: clients, ops: clientOps,
		rand:   func(client int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(number*mostClients+client))) },
		sights: &sights{began: time.Now(), calls: map[string][]porcupine.Operation{}, moves: map[string][]stay{}},
	}
}

// KindsOf returns the kinds of histories that a store can have.
func KindsOf(scope driver.Scope) []historyKind {
	kinds := []historyKind{{"a record", (*history).useRecords, (*history).lastRecords, (*history).checkCalls, false}}
	if scope == driver.ScopeStore {
		kinds = append(kinds, historyKind{"a unique value", (*history).useValues, (*history).lastValues, (*history).checkCalls, false},
			historyKind{"an index", (*history).useIndex, (*history).lastLooks, (*history).checkLooks, false})
	}
	return append(kinds, historyKind{"a list", (*history).useLists, (*history).lastLists, (*history).checkCalls, false})
}

// A historyKind is what clients do, what one reads when they have gone, and how what
// they saw is explained.
type historyKind struct {
	what   string
	client func(h *history, ctx context.Context, client int) error
	last   func(h *history, ctx context.Context) error
	check  func(h *history, what string) error
	counts bool // it needs the meters
}

func (h *history) Run(ctx context.Context, kind historyKind) error {
	ctx, cancel := context.WithTimeout(ctx, historyRun)
	defer cancel()
	if err := h.work(ctx, kind); err != nil {
		return err
	}
	return h.explain(kind)
}

// work lets the clients do what they do.
func (h *history) work(ctx context.Context, kind historyKind) error {
	errs := make([]error, h.clients)
	var wg sync.WaitGroup
	for c := range h.clients {
		wg.Go(func() { errs[c] = finding.Caught(func() error { return kind.client(h.of(c), ctx, c) }) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// of returns the history as a client of one program sees it.
func (h *history) of(client int) *history {
	program := client % (len(h.Others) + 1)
	if program == 0 {
		return h
	}
	view := *h
	view.repo = h.Others[program-1]
	return &view
}

func (h *history) explain(kind historyKind) error {
	least := h.asked / 2
	if h.trouble != nil { // half of the calls have little patience, and the machine may be busy
		least = h.asked / 10
	}
	if h.told < least {
		return finding.Wanted(fmt.Sprintf("%d calls on %s to be answered", least, kind.what), fmt.Sprintf("%d of %d were", h.told, h.asked))
	}
	return kind.check(h, kind.what)
}

// turn does one call of a client, and reports whether the client goes on: what was
// seen until the context ended is a history, too.
func (h *history) turn(ctx context.Context, r *rand.Rand, do func(ctx context.Context)) bool {
	if h.trouble == nil {
		do(ctx)
	} else {
		h.trouble.turn(ctx, r, do)
	}
	return ctx.Err() == nil
}

// became returns what a client knows of a call that returned err, after it has asked
// what became of it if that was unknown.
func (h *history) became(ctx context.Context, err error) status {
	if s := statusOf(err); s != notKnown || h.trouble == nil {
		return s
	}
	return h.trouble.settle(ctx, err)
}

// count counts a call. The caller has the lock.
func (h *sights) count(s status) {
	h.asked++
	if s != nothingDone && s != notKnown {
		h.told++
	}
}

func (h *sights) now() int64 { return int64(time.Since(h.began)) }

// note records a call on a thing. A call that failed without an effect is left
// out; one whose outcome is unknown never returns.
func (h *sights) note(thing string, client int, began int64, in call, out reply) {
	op := porcupine.Operation{ClientId: client, Input: in, Output: out, Call: began, Return: h.now()}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count(out.status)
	switch out.status {
	case nothingDone:
		return
	case notKnown:
		op.Return = forever
	}
	h.calls[thing] = append(h.calls[thing], op)
}

// A call is what a client asked of a thing: a record, whose state is its value,
// or a unique value, whose state is its owner. The state "" is absent.
type call struct {
	do     string
	expect string // the state that the call needs, where it names one
	next   string // the state that it makes
}

// A reply is what a client was told.
type reply struct {
	status status
	state  string // of a read
}

type status uint8

const (
	done status = iota
	exists
	notFound
	conflict
	notKnown
	nothingDone
)

func statusOf(err error) status {
	switch {
	case err == nil:
		return done
	case errors.Is(err, repo.ErrUnknownOutcome):
		return notKnown
	case errors.Is(err, repo.ErrExists):
		return exists
	case errors.Is(err, repo.ErrNotFound):
		return notFound
	case errors.Is(err, repo.ErrConflict):
		return conflict
	}
	return nothingDone
}

// step returns the states that a call may leave when it was answered so; none if
// no order explains the answer.
func step(state string, in call, out reply) []string {
	fits, after := in.apply(state)
	switch out.status {
	case done:
		if in.do == "read" {
			return only(state, state == out.state)
		}
		return only(after, fits)
	case notKnown:
		if fits {
			return []string{state, after}
		}
		return []string{state}
	case exists:
		return only(state, state != "" && (in.do == "insert" || state != in.next))
	case notFound:
		return only(state, state == "")
	case conflict:
		return only(state, state != in.expect || in.do == "update") // update gives up when others are faster each time
	}
	return []string{state}
}

func only(state string, ok bool) []string {
	if ok {
		return []string{state}
	}
	return nil
}

// apply reports whether a call can be done in a state, and the state after it.
func (in call) apply(state string) (fits bool, after string) {
	switch in.do {
	case "read":
		return true, state
	case "insert", "take": // of a record; of a value
		return state == "", in.next
	case "replace":
		return state != "", in.next
	case "put":
		return true, in.next
	case "delete":
		return true, ""
	case "add":
		n, err := strconv.Atoi(state)
		return err == nil, strconv.Itoa(n + 1)
	case "push", "push front", "pull":
		return state != "", in.edited(state)
	}
	return state == in.expect, in.next // compare and set: update, delete by version, free, pass on
}

func (in call) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s", in.do, strings.TrimPrefix(in.expect+" → "+in.next, " → ")))
}

func (r reply) String() string {
	return [...]string{"done", "exists", "not found", "conflict", "unknown", "nothing done"}[r.status] + " " + r.state
}

// checkCalls looks for an order of the calls on each thing.
func (h *sights) checkCalls(what string) error {
	model := (&porcupine.NondeterministicModel{
		Init: func() []any { return []any{""} },
		Step: func(state, in, out any) []any {
			var next []any
			for _, s := range step(state.(string), in.(call), out.(reply)) {
				next = append(next, s)
			}
			return next
		},
	}).ToModel()
	for thing, ops := range h.calls {
		want := fmt.Sprintf("an order of the calls on %s that explains their answers", what)
		switch porcupine.CheckOperationsTimeout(model, ops, checkTime) {
		case porcupine.Illegal:
			return finding.Wanted(want, fmt.Sprintf("none for %q:%s", thing, callsText(ops)))
		case porcupine.Unknown:
			return undecided{finding.Wanted(want, fmt.Sprintf("none found for %q within %s:%s", thing, checkTime, callsText(ops)))}
		}
	}
	return nil
}

// An undecided error is that of a history which took too long to explain, since many calls were under way at once.
type undecided struct{ error }

func (u undecided) Unwrap() error { return u.error }

// decided makes a history until it can be decided, a few times at most: make is told how often it was made before.
func decided(make func(before int) error) error {
	for before := 0; ; before++ {
		err := make(before)
		if _, open := errors.AsType[undecided](err); !open || before == 2 {
			return err
		}
	}
}

func callsText(ops []porcupine.Operation) string {
	var b strings.Builder
	for _, op := range ops {
		until := fmt.Sprintf("%9.3f", float64(op.Return)/1e6)
		if op.Return == forever {
			until = "        ∞"
		}
		fmt.Fprintf(&b, "\n  %9.3f to %s ms  client %d  %s: %s", float64(op.Call)/1e6, until, op.ClientId, op.Input, op.Output)
	}
	return b.String()
}
