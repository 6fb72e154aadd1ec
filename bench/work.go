package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"
)

// The operations, each a phase of its own, in the order in which they run. A mix
// is of all of them.
const (
	opGet    = "get"
	opUpdate = "update"
	opMove   = "move"
	opNewest = "newest20"
	opInsert = "insert"
	opMix    = "mix"
	opDelete = "delete"
)

var operations = []string{opGet, opUpdate, opMove, opNewest, opInsert, opMix, opDelete}

// mixture is how many of a hundred operations of a mix are of a kind.
var mixture = []struct {
	op    string
	share int
}{{opGet, 50}, {opNewest, 20}, {opUpdate, 12}, {opInsert, 8}, {opMove, 5}, {opDelete, 5}}

// A call is one operation, with all that it needs made beforehand.
type call struct {
	op     string
	key    key // of the newest of an author the author alone
	post   *post
	change func(*post) error
}

// A world knows which posts a candidate holds, and makes calls that fit.
type world struct {
	records int   // it began with
	live    []int // numbers of the posts that are there
	next    int   // number of the next new one
}

func newWorld(records int) *world {
	w := &world{records: records, next: records}
	for i := range records {
		w.live = append(w.live, i)
	}
	return w
}

// calls returns n calls of an operation, spread over workers so that one worker
// has all calls on the same post: what they leave is the same in any order.
func (w *world) calls(op string, n, workers int, r *rand.Rand) [][]call {
	lists := make([][]call, workers)
	for range n {
		kind := op
		if op == opMix {
			kind = mixed(r)
		}
		c, worker := w.call(kind, r)
		lists[worker%workers] = append(lists[worker%workers], c)
	}
	return lists
}

func mixed(r *rand.Rand) string {
	n := r.IntN(100)
	for _, m := range mixture {
		if n -= m.share; n < 0 {
			return m.op
		}
	}
	return opGet
}

// call returns a call and a number that says which worker does it.
func (w *world) call(op string, r *rand.Rand) (call, int) {
	switch op {
	case opInsert:
		p := newPost(w.next, w.records)
		w.live = append(w.live, w.next)
		w.next++
		return call{op: op, key: p.key(), post: &p}, w.next - 1
	case opNewest:
		i := r.IntN(authors(w.records))
		return call{op: op, key: key{author: authorName(i)}}, i
	}
	at := r.IntN(len(w.live))
	i := w.live[at]
	c := call{op: op, key: keyOf(i, w.records)}
	switch op {
	case opUpdate:
		title := sentence(r, 38)
		c.change = func(p *post) error { p.Title = title; return nil }
	case opMove:
		k := r.IntN(categories)
		to, other := categoryName(k), categoryName((k+1)%categories)
		c.change = func(p *post) error {
			if p.Category == to {
				p.Category = other
			} else {
				p.Category = to
			}
			return nil
		}
	case opDelete:
		last := len(w.live) - 1
		w.live[at], w.live = w.live[last], w.live[:last]
	}
	return c, i
}

// do does the call and returns a number made of the answer.
func (c *call) do(ctx context.Context, p posts) (sum uint64, err error) {
	switch c.op {
	case opInsert:
		return 0, p.insert(ctx, c.post)
	case opDelete:
		return 0, p.delete(ctx, c.key)
	case opNewest:
		list, err := p.byAuthor(ctx, c.key.author, 20)
		for i := range list {
			sum = sum*31 + list[i].fold()
		}
		return sum, err
	}
	var got post
	if c.op == opGet {
		got, err = p.get(ctx, c.key)
	} else {
		got, err = p.update(ctx, c.key, got.Version, c.change)
	}
	if err != nil {
		return 0, err
	}
	return got.fold(), nil
}

// A sample is what one candidate needed for the calls of one phase.
type sample struct {
	Calls  int     `json:"calls"`
	P50    float64 `json:"p50_us"`
	P99    float64 `json:"p99_us"`
	CPU    float64 `json:"cpu_us"` // user and system, of the whole process and of the server, a call
	Allocs float64 `json:"allocs"` // a call
	Bytes  float64 `json:"bytes"`  // allocated, a call
	Took   float64 `json:"seconds"`

	Server   float64 `json:"server_cpu_us"` // the part of CPU that the server has
	Switches float64 `json:"switches"`      // times a thread waited, a call
	Writes   float64 `json:"writes"`        // of the process to files, a call; 0 if the system does not tell

	Requests float64 `json:"requests,omitempty"` // to the server, a call; 0 where nobody counts

	Sum uint64 `json:"-"` // of the answers
}

// measure does all lists of calls, each in its own goroutine.
func measure(ctx context.Context, p posts, lists [][]call) (sample, error) {
	workers := newWorkers(lists)
	var start, end runtime.MemStats
	runtime.ReadMemStats(&start)
	then, err1 := used()
	began := time.Now()
	err2 := runAll(ctx, p, workers)
	took := time.Since(began)
	now, err3 := used()
	runtime.ReadMemStats(&end)
	s := summarize(workers)
	n := float64(s.Calls)
	spent := now.since(then)
	s.CPU = micros(spent.cpu) / n
	s.Switches = float64(spent.switches) / n
	s.Writes = float64(spent.writes) / n
	s.Allocs = float64(end.Mallocs-start.Mallocs) / n
	s.Bytes = float64(end.TotalAlloc-start.TotalAlloc) / n
	s.Took = took.Seconds()
	return s, errors.Join(err1, err2, err3)
}

func newWorkers(lists [][]call) []worker {
	workers := make([]worker, len(lists))
	for i := range workers {
		workers[i] = worker{calls: lists[i], took: make([]time.Duration, len(lists[i]))}
	}
	return workers
}

func runAll(ctx context.Context, p posts, workers []worker) error {
	if len(workers) == 1 {
		return workers[0].run(ctx, p)
	}
	return together(len(workers), func(i int) error { return workers[i].run(ctx, p) })
}

// A worker does its calls and notes how long each took.
type worker struct {
	calls []call
	took  []time.Duration
	sum   uint64
}

func (w *worker) run(ctx context.Context, p posts) error {
	began := time.Now()
	last := time.Since(began)
	for i := range w.calls {
		sum, err := w.calls[i].do(ctx, p)
		if err != nil {
			return fmt.Errorf("%s %s of %s: %w", w.calls[i].op, w.calls[i].key.id, w.calls[i].key.author, err)
		}
		now := time.Since(began)
		w.took[i], last = now-last, now
		w.sum += sum
	}
	return nil
}

func summarize(workers []worker) sample {
	var all []time.Duration
	var s sample
	for i := range workers {
		all = append(all, workers[i].took...)
		s.Sum += workers[i].sum
	}
	slices.Sort(all)
	s.Calls = len(all)
	if len(all) > 0 {
		s.P50, s.P99 = micros(all[len(all)/2]), micros(all[len(all)*99/100])
	}
	return s
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

var errBusy = errors.New("the background work of the store does not end")

// settle waits until the process has nothing to do in the background, for so many
// windows of time at most.
func settle(ctx context.Context, windows int) error {
	const window, quiet = 20 * time.Millisecond, 500 * time.Microsecond
	for range windows {
		before, err := used()
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(window):
		}
		if after, err := used(); err != nil || after.since(before).cpu < quiet {
			return err
		}
	}
	return errBusy
}
