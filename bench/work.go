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

// A subject is what a candidate has opened: posts or trees.
type subject interface{ close() error }

// A call is one operation, with all that it needs made beforehand.
type call interface {
	// do does the call and returns a number made of the answer.
	do(ctx context.Context, s subject) (sum uint64, err error)

	String() string
}

// A world knows what a candidate holds, and makes calls that fit.
type world interface {
	// calls returns n calls of an operation, spread over workers so that what they leave is the same in any order.
	calls(op string, n, workers int, r *rand.Rand) [][]call

	// digest returns a hash of all that a candidate answers.
	digest(ctx context.Context, c *candidate, s subject) (string, error)

	// size is how many records there are.
	size() int
}

// A work is what the candidates of a setting do.
type work struct {
	operations []string
	touch      string // one that writes a little

	open  func(c *candidate, at place) (subject, error)
	check func(ctx context.Context, c *candidate, s subject, e effort, seed uint64) error
	fill  func(ctx context.Context, s subject, records int) error
	begin func(records int) world
}

// onPosts is the work on posts.
var onPosts = work{
	operations: operations,
	touch:      opUpdate,
	open:       func(c *candidate, at place) (subject, error) { return c.open(at, c.covering) },
	check: func(ctx context.Context, c *candidate, s subject, e effort, seed uint64) error {
		return check(ctx, s.(posts), c.local, e, seed)
	},
	fill:  func(ctx context.Context, s subject, records int) error { return fill(ctx, s.(posts), records) },
	begin: func(records int) world { return newWorld(records) },
}

// mixture is how many of a hundred operations of a mix are of a kind.
var mixture = []struct {
	op    string
	share int
}{{opGet, 50}, {opNewest, 20}, {opUpdate, 12}, {opInsert, 8}, {opMove, 5}, {opDelete, 5}}

// A postCall is a call on posts.
type postCall struct {
	op     string
	key    key // of the newest of an author the author alone
	post   *post
	change func(*post) error
}

// A postWorld knows which posts a candidate holds.
type postWorld struct {
	records int   // it began with
	live    []int // numbers of the posts that are there
	next    int   // number of the next new one
}

func newWorld(records int) *postWorld {
	w := &postWorld{records: records, next: records}
	for i := range records {
		w.live = append(w.live, i)
	}
	return w
}

func (w *postWorld) size() int { return len(w.live) }

func (w *postWorld) digest(ctx context.Context, c *candidate, s subject) (string, error) {
	return digest(ctx, s.(posts), c.local, w)
}

// calls gives one worker all calls on the same post.
func (w *postWorld) calls(op string, n, workers int, r *rand.Rand) [][]call {
	lists := make([][]call, workers)
	for range n {
		kind := op
		if op == opMix {
			kind = mixed(r)
		}
		c, worker := w.call(kind, r)
		lists[worker%workers] = append(lists[worker%workers], &c)
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
func (w *postWorld) call(op string, r *rand.Rand) (postCall, int) {
	switch op {
	case opInsert:
		p := newPost(w.next, w.records)
		w.live = append(w.live, w.next)
		w.next++
		return postCall{op: op, key: p.key(), post: &p}, w.next - 1
	case opNewest:
		i := r.IntN(authors(w.records))
		return postCall{op: op, key: key{author: authorName(i)}}, i
	}
	at := r.IntN(len(w.live))
	i := w.live[at]
	c := postCall{op: op, key: keyOf(i, w.records)}
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

func (c *postCall) String() string { return c.op + " " + c.key.id + " of " + c.key.author }

func (c *postCall) do(ctx context.Context, s subject) (sum uint64, err error) {
	p := s.(posts)
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
func measure(ctx context.Context, s subject, lists [][]call) (sample, error) {
	workers := newWorkers(lists)
	var start, end runtime.MemStats
	runtime.ReadMemStats(&start)
	then, err1 := used()
	began := time.Now()
	err2 := runAll(ctx, s, workers)
	took := time.Since(began)
	now, err3 := used()
	runtime.ReadMemStats(&end)
	got := summarize(workers)
	n := float64(got.Calls)
	spent := now.since(then)
	got.CPU = micros(spent.cpu) / n
	got.Switches = float64(spent.switches) / n
	got.Writes = float64(spent.writes) / n
	got.Allocs = float64(end.Mallocs-start.Mallocs) / n
	got.Bytes = float64(end.TotalAlloc-start.TotalAlloc) / n
	got.Took = took.Seconds()
	return got, errors.Join(err1, err2, err3)
}

func newWorkers(lists [][]call) []worker {
	workers := make([]worker, len(lists))
	for i := range workers {
		workers[i] = worker{calls: lists[i], took: make([]time.Duration, len(lists[i]))}
	}
	return workers
}

func runAll(ctx context.Context, s subject, workers []worker) error {
	if len(workers) == 1 {
		return workers[0].run(ctx, s)
	}
	return together(len(workers), func(i int) error { return workers[i].run(ctx, s) })
}

// A worker does its calls and notes how long each took.
type worker struct {
	calls []call
	took  []time.Duration
	sum   uint64
}

func (w *worker) run(ctx context.Context, s subject) error {
	began := time.Now()
	last := time.Since(began)
	for i := range w.calls {
		sum, err := w.calls[i].do(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", w.calls[i], err)
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
