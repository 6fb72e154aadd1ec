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
	"time"
)

// childVariable marks the process of a candidate.
const childVariable = "POLYSTORE_BENCH_CHILD"

// A config is what the process of a candidate is started with.
type config struct {
	Candidate string
	Dir       string
	URL       string // of Redis, or ""
	Setting   setting
	Records   int
	Seed      uint64 // of the round
	Profile   string // a directory, or ""
	Quick     bool
}

// A request asks the process of a candidate for one step, and a reply answers.
// The first request has the config; the others name an operation to measure, or
// none for the digest.
type request struct {
	Config *config
	Op     string
	Calls  int
}

type reply struct {
	Error  string
	Sample sample
	Sum    uint64
	Digest string
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
	posts posts
	world *world
	block int // how many times something was measured
}

func (c *child) close() {
	if c.posts != nil {
		_ = c.posts.close()
		c.posts = nil
	}
}

func (c *child) answer(ctx context.Context, r request, more []candidate) (reply, error) {
	switch {
	case r.Config != nil:
		c.config = *r.Config
		return reply{}, c.start(ctx, slices.Concat(c.Setting.candidates(), more))
	case c.posts == nil:
		return reply{}, errors.New("the first request has no config")
	case r.Op == "":
		d, err := digest(ctx, c.posts, c.world)
		return reply{Digest: d}, err
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
	open := func(dir string, sync bool) (posts, error) {
		return list[i].open(place{filepath.Join(c.Dir, dir), sync, c.URL}, list[i].covering)
	}
	p, err := open("check", c.Setting.Sync)
	if err != nil {
		return err
	}
	if err := errors.Join(check(ctx, p, c.Seed), p.close()); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	if p, err = open("data", false); err != nil {
		return err
	}
	if err := errors.Join(fill(ctx, p, c.Records), p.close()); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	if c.posts, err = open("data", c.Setting.Sync); err != nil { // what was written is in sorted tables now
		return err
	}
	c.world = newWorld(c.Records)
	return errors.Join(c.touch(ctx), c.settle(ctx))
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
	w := worker{calls: c.world.calls(opUpdate, 100, 1, rand.New(rand.NewPCG(c.Seed, 0)))[0]}
	w.took = make([]time.Duration, len(w.calls))
	return w.run(ctx, c.posts)
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

// measure does n calls.
func (c *child) measure(ctx context.Context, op string, n int) (sample, error) {
	c.block++
	r := rand.New(rand.NewPCG(c.Seed, uint64(c.block)))
	lists := c.world.calls(op, n, c.Setting.Workers, r)
	if err := c.settle(ctx); err != nil {
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
	s, err1 := measure(ctx, c.posts, lists)
	after, err2 := c.server(ctx)
	s.Server = micros(after-server) / float64(n)
	s.CPU += s.Server
	return s, errors.Join(err1, err2, stop())
}

// server returns the processor time that the server of the posts has used, if
// there is one.
func (c *child) server(ctx context.Context) (time.Duration, error) {
	if c.URL == "" {
		return 0, nil
	}
	return serverCPU(ctx, c.URL)
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
