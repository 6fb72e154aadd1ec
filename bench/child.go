package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// childVariable marks the process of a candidate.
const childVariable = "POLYSTORE_BENCH_CHILD"

// A config is what the process of a candidate is started with.
type config struct {
	Candidate string
	Dir       string
	URL       string // of the server, or ""
	Setting   setting
	Records   int
	Seed      uint64 // of the round
	Profile   string // a directory, or ""
	Quick     bool
}

// A request asks the process of a candidate for one step, and a reply answers.
// The first request has the config; the others name what to do, with which operation.
type request struct {
	Config *config
	Do     string
	Op     string
	Calls  int
}

// What requests ask for.
const (
	measureRequest = "measure"
	countRequest   = "count requests"
	digestRequest  = "digest"
	sizeRequest    = "size"
)

type reply struct {
	Error  string
	Sample sample
	Sum    uint64
	Digest string
	Size   float64 // bytes of a record
}

// serve is the process of one of the candidates, or of one of more. It ends when in does.
func serve(in io.Reader, out io.Writer, more []candidate) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	requests := make(chan request)
	go func() {
		defer cancel() // whoever asked is gone, whatever is under way
		defer close(requests)
		for dec := json.NewDecoder(in); ; {
			var r request
			if dec.Decode(&r) != nil {
				return
			}
			requests <- r
		}
	}()
	var c child
	defer c.close()
	enc := json.NewEncoder(out)
	for r := range requests {
		answer, err := c.answer(ctx, r, more)
		if err != nil {
			answer.Error = err.Error()
		}
		if err := enc.Encode(answer); err != nil {
			return err
		}
	}
	return nil
}

// A child is the state of the process of a candidate.
type child struct {
	config
	subject subject
	world   world
	block   int // how many times something was measured

	candidate candidate
	counted   subject      // the same, with requests counted; nil where nobody counts
	requests  atomic.Int64 // of counted
}

func (c *child) close() {
	for _, s := range []subject{c.subject, c.counted} {
		if s != nil {
			_ = s.close()
		}
	}
	c.subject, c.counted = nil, nil
}

func (c *child) answer(ctx context.Context, r request, more []candidate) (reply, error) {
	switch {
	case r.Config != nil:
		c.config = *r.Config
		return reply{}, c.start(ctx, slices.Concat(c.Setting.candidates(), more))
	case c.subject == nil:
		return reply{}, errors.New("the first request has no config")
	}
	switch r.Do {
	case digestRequest:
		d, err := c.world.digest(ctx, &c.candidate, c.subject)
		return reply{Digest: d}, err
	case sizeRequest:
		return c.size(ctx)
	case countRequest:
		s, err := c.count(ctx, r.Op, r.Calls)
		return reply{Sample: s, Sum: s.Sum}, err
	}
	s, err := c.measure(ctx, r.Op, r.Calls)
	return reply{Sample: s, Sum: s.Sum}, err
}

// start checks the candidate on an empty store and then fills another one.
func (c *child) start(ctx context.Context, list []candidate) error {
	i := slices.IndexFunc(list, func(o candidate) bool { return o.name == c.Candidate })
	if i < 0 {
		return fmt.Errorf("no candidate %q", c.Candidate)
	}
	if c.Profile != "" {
		runtime.MemProfileRate = 4 << 10
	}
	c.candidate = list[i]
	work := c.Setting.work()
	open := func(dir string, sync bool) (subject, error) {
		return work.open(&c.candidate, place{dir: filepath.Join(c.Dir, dir), sync: sync, url: c.URL})
	}
	s, err := open("check", c.Setting.Sync)
	if err != nil {
		return err
	}
	if err := errors.Join(work.check(ctx, &c.candidate, s, effortOn(c.Setting.Store), c.Seed), s.close()); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	if s, err = open("data", false); err != nil {
		return err
	}
	if err := errors.Join(work.fill(ctx, s, c.Records), s.close()); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	if c.subject, err = open("data", c.Setting.Sync); err != nil { // what was written is in sorted tables now
		return err
	}
	c.world = work.begin(c.Records)
	if c.counts() {
		at := c.place()
		at.requests = &c.requests
		if c.counted, err = work.open(&c.candidate, at); err != nil {
			return err
		}
	}
	return errors.Join(c.touch(ctx), c.settle(ctx))
}

// place is where the records are.
func (c *child) place() place {
	return place{dir: filepath.Join(c.Dir, "data"), sync: c.Setting.Sync, url: c.URL}
}

// counts reports whether the candidates of the store count their requests.
func (c *child) counts() bool { return serverOf(c.Setting.Store).size != nil }

// count does n calls, one after another, and counts the requests that they make.
func (c *child) count(ctx context.Context, op string, n int) (s sample, err error) {
	if c.counted == nil {
		return s, nil
	}
	c.block++
	w := worker{calls: c.world.calls(op, n, 1, rand.New(rand.NewPCG(c.Seed, uint64(c.block))))[0]}
	w.took = make([]time.Duration, len(w.calls))
	before := c.requests.Load()
	err = w.run(ctx, c.counted)
	return sample{Calls: n, Requests: float64(c.requests.Load()-before) / float64(n), Sum: w.sum}, err
}

// size returns how many bytes a record takes with its rows in indexes.
func (c *child) size(ctx context.Context) (reply, error) {
	of := serverOf(c.Setting.Store).size
	if of == nil {
		return reply{}, nil
	}
	n, err := of(ctx, c.place())
	return reply{Size: float64(n) / float64(c.world.size())}, err
}

// settle waits for the background work to end. Quick figures mean little anyway.
func (c *child) settle(ctx context.Context) error {
	if c.Quick {
		if err := settle(ctx, 1); !errors.Is(err, errBusy) {
			return err
		}
		return nil
	}
	return settle(ctx, 200)
}

// touch writes a little, because a read looks at recent writes first, and it is
// not usual that there are none.
func (c *child) touch(ctx context.Context) error {
	op := c.Setting.work().touch
	if op == "" {
		return nil
	}
	w := worker{calls: c.world.calls(op, 100, 1, rand.New(rand.NewPCG(c.Seed, 0)))[0]}
	w.took = make([]time.Duration, len(w.calls))
	return w.run(ctx, c.subject)
}

func fill(ctx context.Context, p posts, records int) error {
	for i := range records {
		post := newPost(i, records)
		if err := p.insert(ctx, &post); err != nil {
			return err
		}
	}
	return nil
}

// measure does n calls. Before them it does some that are not measured, so that what was
// idle is warm: processor caches, connections, and memory that is kept between calls.
func (c *child) measure(ctx context.Context, op string, n int) (sample, error) {
	c.block++
	r := rand.New(rand.NewPCG(c.Seed, uint64(c.block)))
	before := c.world.calls(op, n/3, c.Setting.Workers, r)
	lists := c.world.calls(op, n, c.Setting.Workers, r)
	if err := c.settle(ctx); err != nil {
		return sample{}, err
	}
	runtime.GC()
	if err := runAll(ctx, c.subject, newWorkers(before)); err != nil {
		return sample{}, err
	}
	stop, err := c.profile(op)
	if err != nil {
		return sample{}, err
	}
	server, err := c.server(ctx)
	if err != nil {
		return sample{}, errors.Join(err, stop())
	}
	s, err1 := measure(ctx, c.subject, lists)
	after, err2 := c.server(ctx)
	s.Server = micros(after-server) / float64(n)
	s.CPU += s.Server
	return s, errors.Join(err1, err2, stop())
}

// server returns the processor time that the server of the posts has used, if
// there is one.
func (c *child) server(ctx context.Context) (time.Duration, error) {
	return serverOf(c.Setting.Store).cpu(ctx, c.URL)
}

// profile begins the profiles of some calls, and stop writes them: one of the CPU,
// and one of the allocations before and after.
func (c *child) profile(op string) (stop func() error, err error) {
	if c.Profile == "" {
		return func() error { return nil }, nil
	}
	name := strings.NewReplacer(" ", "-", ",", "").Replace(fmt.Sprintf("%s.%s.%s.%d.%d", c.Setting.Name, c.Candidate, op, c.Seed, c.block))
	path := filepath.Join(c.Profile, name)
	if err := writeAllocs(path + ".allocs-before"); err != nil {
		return nil, err
	}
	f, err := os.Create(path + ".cpu")
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return errors.Join(f.Close(), writeAllocs(path+".allocs"))
	}, nil
}

func writeAllocs(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	runtime.GC() // the profile is of the last collection
	return errors.Join(pprof.Lookup("allocs").WriteTo(f, 0), f.Close())
}
