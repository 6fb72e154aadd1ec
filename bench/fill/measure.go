package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"sync"
	"time"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/bench/internal/tool"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A subject is a store that is measured.
type subject struct {
	*options
	url      string
	name     string
	driver   *watched
	store    *repo.Store
	writers  *writers
	indexed  *repo.Repo[post]
	progress io.Writer
	report   report
}

const dropTime = 5 * time.Minute

// unbounded is a rate that no store reaches.
const unbounded = 1_000_000_000

// measure measures one store, and removes what it put there.
func measure(ctx context.Context, url string, o *options, progress io.Writer) (r *report, err error) {
	d, err := backends.OpenDriver(ctx, url)
	if err != nil {
		return nil, err
	}
	name := "fill_" + strings.ToLower(rand.Text()[:8])
	w := &watched{Store: d, table: name}
	s := &subject{options: o, url: url, name: name, driver: w, store: repo.NewStore(w, nil), progress: progress}
	s.report = report{store: d.Facts().Name, loaded: o.records, rate: "the default rate"}
	if o.rate > 0 {
		s.report.rate = fmt.Sprintf("at most %d", o.rate)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTime)
		defer cancel()
		err = errors.Join(err, repo.DropCollection(ctx, s.store, name), s.store.Close())
	}()
	for _, step := range []func(context.Context) error{s.load, s.before, s.fillBeside, s.fill, s.fillByHand, s.count, s.after} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", s.report.store, err)
		}
	}
	return &s.report, nil
}

func (s *subject) say(format string, args ...any) {
	fmt.Fprintf(s.progress, s.report.store+": "+format+"\n", args...)
}

func (s *subject) load(ctx context.Context) error {
	all, err := repo.Open[post](ctx, s.store, schemaOf(s.name, false, ""))
	if err != nil {
		return err
	}
	s.writers = &writers{posts: all, loaded: s.records, rate: s.writes}
	began := time.Now()
	_, err = all.InsertAll(ctx, posts(s.records))
	if s.report.loading = float64(s.records) / time.Since(began).Seconds(); err == nil {
		s.say("%d records, %.0f a second", s.records, s.report.loading)
	}
	return err
}

func never() bool { return false }

func (s *subject) before(ctx context.Context) (err error) {
	if s.report.before, err = s.writers.write(ctx, s.lasts, never); err == nil {
		s.report.again, err = s.writers.write(ctx, s.lasts, never)
	}
	return err
}

func (s *subject) after(ctx context.Context) (err error) {
	s.report.after, err = s.writers.write(ctx, s.lasts, never)
	return err
}

// add adds the index, and waits until queries may use it.
func (s *subject) add(ctx context.Context, option repo.OpenOption) (*repo.Repo[post], error) {
	s.driver.note(func(f *seen) { *f = seen{} })
	all, err := repo.Open[post](ctx, s.store, schemaOf(s.name, true, s.kind), option)
	if err == nil {
		err = all.Ready(ctx, byAuthor)
	}
	return all, err
}

// fillBeside measures writes while the index is filled, and removes it.
func (s *subject) fillBeside(ctx context.Context) error {
	option := repo.WithBuild()
	if s.rate > 0 {
		option = repo.WithBuildRate(s.rate)
	}
	var adding sync.WaitGroup
	ended := make(chan error, 1)
	adding.Go(func() {
		_, err := s.add(ctx, option)
		ended <- err
	})
	var failed error
	over := func() bool {
		select {
		case failed = <-ended:
			ended <- failed
			return true
		default:
			return false
		}
	}
	for s.driver.filling().began.IsZero() && !over() {
		time.Sleep(time.Millisecond)
	}
	times, err := s.writers.write(ctx, s.lasts, over)
	if over() {
		err = errors.Join(err, failed)
	}
	s.report.meanwhile, s.report.beside = times, s.driver.filling()
	if s.report.beside.ended.IsZero() {
		s.report.beside.ended = time.Now()
	}
	s.say("beside writes %d were filled in %.1f s", s.report.beside.records, s.report.beside.seconds())
	if err == nil {
		err = repo.DropIndex(ctx, s.store, s.name, byAuthor) // of one that is being filled the filling ends
	}
	adding.Wait()
	return err
}

// fill measures a filling while nobody writes.
func (s *subject) fill(ctx context.Context) error {
	end, err := s.profiled()
	if err != nil {
		return err
	}
	w, began, own, server := watchMemory(), time.Now(), tool.CPU(), s.serverCPU(ctx)
	s.indexed, err = s.add(ctx, repo.WithBuildRate(unbounded))
	s.report.whole, s.report.took, s.report.full, s.report.load = time.Since(began).Seconds(), w.end(), s.driver.filling(), loadavg()
	s.report.cpu, s.report.server = tool.CPU()-own, s.serverCPU(ctx)-server
	s.say("filled in %.1f s, from Open to Ready in %.1f s", s.report.full.seconds(), s.report.whole)
	return errors.Join(err, end())
}

// serverCPU returns the processor time that the store's server has used so far, 0 if there is none or it is unknown.
func (s *subject) serverCPU(ctx context.Context) time.Duration {
	meter, ok := s.driver.Store.(driver.Meter)
	if !ok {
		return 0
	}
	used, err := meter.CPU(ctx)
	if err != nil {
		return 0
	}
	return used
}

// profiled begins the profile of a filling.
func (s *subject) profiled() (end func() error, err error) {
	if s.profile == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(filepath.Join(s.profile, s.report.store+".cpu.pprof"))
	if err != nil {
		return nil, err
	}
	end = func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}
	return end, pprof.StartCPUProfile(f)
}

// count counts the records, and those that the index finds.
func (s *subject) count(ctx context.Context) error {
	for chunk, err := range s.indexed.Walk(ctx, "") {
		if err != nil {
			return err
		}
		s.report.records += len(chunk.Items)
	}
	found, err := s.found(ctx)
	s.report.found = found
	if err == nil && found != s.report.records {
		err = fmt.Errorf("the index finds %d of %d records", found, s.report.records)
	}
	return err
}

// countAtOnce is how many authors are counted at the same time.
const countAtOnce = 16

// found counts the records of each author by the index.
func (s *subject) found(ctx context.Context) (int, error) {
	authors := (s.records+int(s.writers.inserted.Load()))/postsOfAuthor + 1
	var all sync.WaitGroup
	counts, errs := [countAtOnce]int{}, [countAtOnce]error{}
	for worker := range countAtOnce {
		all.Go(func() {
			for at := worker; at < authors && errs[worker] == nil; at += countAtOnce {
				var n int
				n, errs[worker] = s.indexed.Count(ctx, repo.Where("author", authorOf(at*postsOfAuthor)))
				counts[worker] += n
			}
		})
	}
	all.Wait()
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum, errors.Join(errs[:]...)
}
