package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/loadtest"
)

// A figure is what one way to send took.
type figure struct {
	name  string
	rate  float64       // operations a second
	cpu   time.Duration // of this process, for an operation
	lag   time.Duration // p99 of how late operations began; -1 is not known
	busy  float64       // part of all processors that this process and the server used
	state string
}

// workload reads whole records by their keys.
const workload = `workload: sending
rate: %d
rounds: %d
round: %s
collections:
  - collection: posts
    partition: [id]
    fields: {id: string, author: string, title: string, body: string, views: int, created: int}
    data:
      count: %d
      fields:
        id: {sequence: 1, pattern: "p%%08d"}
        author: {int: {min: 1, max: 1000}, pattern: "user:%%07d"}
        title: {sequence: 1, pattern: "post number %%d"}
        body: {text: {size: 220}}
        views: {int: {max: 1000}}
        created: {int: {min: 1700000000, max: 1800000000}}
queries:
  - {name: get, weight: 100, kind: get}
`

// measure measures the loops, the tool at each rate, and the loops again.
func measure(ctx context.Context, o *options, progress io.Writer) (list []figure, err error) {
	l, err := newLoops(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close(ctx)) }()
	if list, err = l.both(ctx, list); err != nil {
		return nil, err
	}
	for _, rate := range o.rates {
		fmt.Fprintf(progress, "polystore load at %d a second\n", rate)
		f, err := load(ctx, o, rate)
		if err != nil {
			return nil, err
		}
		list = append(list, *f)
	}
	return l.both(ctx, list)
}

// load runs the tool at a rate.
func load(ctx context.Context, o *options, rate int) (*figure, error) {
	dir, err := os.MkdirTemp("", "sending-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "sending.yaml")
	round := min(4*time.Second, time.Duration(most)*time.Second/time.Duration(rate))
	if err := os.WriteFile(file, fmt.Appendf(nil, workload, rate, o.rounds, round, o.records), 0o600); err != nil {
		return nil, err
	}
	w, err := loadtest.Load(file)
	if err != nil {
		return nil, err
	}
	r, err := loadtest.Run(ctx, w, loadtest.Options{Open: backends.OpenDriver, On: []string{o.url}})
	if err != nil {
		return nil, err
	}
	c := &r.Candidates[0]
	f := &figure{name: fmt.Sprintf("polystore load at %d", rate), lag: c.Lag.P99, state: c.State}
	var ops int
	var took, own, server time.Duration
	for _, one := range c.Rounds {
		ops, took, own, server = ops+one.Ops, took+one.Took, own+one.CPU, server+one.ServerCPU
	}
	f.rate, f.cpu = float64(ops)/took.Seconds(), own/time.Duration(ops)
	f.busy = (own + server).Seconds() / took.Seconds() / float64(runtime.NumCPU())
	return f, nil
}
