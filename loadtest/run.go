package loadtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/repo/driver"
)

// Options say where a workload is run.
type Options struct {
	// Open opens the store of a URL. Run closes it.
	Open func(ctx context.Context, url string) (driver.Store, error)

	// On are the URLs of the stores, at least one.
	On []string

	// Log takes what goes on; nil is nowhere. Terminal says that it is one.
	Log      io.Writer
	Terminal bool

	// Keep leaves the collections in the stores. Their names are logged.
	Keep bool

	// Again is the command that repeats the run, for the report.
	Again string

	clock clock // nil is the machine's
}

// A run is one run of a workload under way.
type run struct {
	w          *Workload
	opts       *Options
	progress   *progress
	data       []*table
	stores     []*store
	candidates []*candidate
	absent     []*candidate // models that a store cannot have
	measured   []*measured  // by candidate
	began      time.Time
	compared   int // sampled calls
}

// Run measures a workload and returns what came out. Everything that it put into
// the stores is removed, also when the context ends, unless Keep is set. Faults
// in the file or its data are returned as Faults, and nothing was written then;
// different answers as *WrongAnswers. With a *StoreLost there is a result, too, which
// has no verdict.
func Run(ctx context.Context, w *Workload, opts Options) (*Result, error) {
	if err := sound(ctx, opts.Open); err != nil {
		return nil, err
	}
	if w == nil {
		return nil, fmt.Errorf("the workload is nil; read one by Load: %w", driver.ErrInvalid)
	}
	if err := w.checkSize(); err != nil {
		return nil, err
	}
	r := &run{w: w, opts: &opts, began: time.Now()}
	if opts.Log != nil {
		r.progress = &progress{w: opts.Log, terminal: opts.Terminal}
	}
	result, err := r.run(ctx)
	return result, errors.Join(err, r.close())
}

func (r *run) run(ctx context.Context) (*Result, error) {
	data, err := survey(ctx, r.w, r.progress)
	if err != nil {
		return nil, err
	}
	r.data = data
	s, err := newStream(r.w, data)
	if err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context, *stream) error{r.open, r.fill, r.compare, r.measure, r.verify} {
		err := step(ctx, s)
		if lost := (*StoreLost)(nil); errors.As(err, &lost) {
			return r.result(lost), err
		}
		if err != nil {
			return nil, err
		}
	}
	return r.result(nil), nil
}

// open opens the stores and makes the candidates' collections.
func (r *run) open(ctx context.Context, s *stream) error {
	for _, url := range r.opts.On {
		st, err := openStore(ctx, url, Redact(url), r.opts.Open)
		if err != nil {
			return err
		}
		st.at = len(r.stores)
		r.stores = append(r.stores, st)
		r.tellLeftovers(ctx, st)
	}
	if len(r.stores) == 0 {
		return errors.New("there is no store to measure on")
	}
	var faults Faults
	name := namespace()
	for _, st := range r.stores {
		if err := st.tag(ctx, name, r.began); err != nil {
			return err
		}
		for _, mo := range r.w.models {
			c := newCandidate(r.w, st, mo, r.where(st))
			if c.lacks = c.missing(); c.lacks != "" {
				r.progress.say("not there: %s: %s", c.label, c.lacks)
				r.absent = append(r.absent, c)
				continue
			}
			r.candidates = append(r.candidates, c)
			if err := c.open(ctx, r.w, candidateSpace(name, len(r.candidates))); err != nil {
				return fmt.Errorf("model %s on %s: %w", mo.name, st.facts.Name, err)
			}
			faults = append(faults, c.plan(r.w, func(at int) call { return s.only(at, 1, 0)[0] })...)
		}
	}
	if len(r.candidates) == 0 {
		return fmt.Errorf("no store has any of the models; %s: %s", r.absent[0].label, r.absent[0].lacks)
	}
	return faults.asError()
}

// where returns " on pebble" when there are several stores, or the URL when they
// are of one kind, with a number when one URL is there several times.
func (r *run) where(s *store) string {
	if len(r.stores) < 2 {
		return ""
	}
	where, same, number := s.facts.Name, 0, 0
	for _, o := range r.stores {
		if o != s && o.facts.Name == s.facts.Name {
			where = s.url
		}
		if o.url == s.url {
			same++
		}
		if o == s {
			number = same
		}
	}
	if same > 1 {
		return fmt.Sprintf(" on %s (%d)", where, number)
	}
	return " on " + where
}

func (r *run) fill(ctx context.Context, _ *stream) error {
	for _, c := range r.candidates {
		took, err := c.fill(ctx, r.w, r.data, r.progress)
		if err != nil {
			return err
		}
		c.loaded = took
		if err := c.weigh(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) compare(ctx context.Context, s *stream) error {
	cp := &comparison{w: r.w, stream: s, candidates: r.candidates, progress: r.progress}
	err := cp.run(ctx)
	r.compared = cp.calls
	return err
}

func (r *run) measure(ctx context.Context, s *stream) error {
	r.progress.say("measure %s: %s a second, %d rounds of %v each, about %v", format.Plural(len(r.candidates), "candidate"),
		format.Count(r.w.Rate), r.w.Rounds, r.w.Round, (time.Duration(len(r.candidates)) * (r.w.Round*time.Duration(r.w.Rounds) + r.w.Round/2)).Round(time.Second))
	m := newMeasurement(r.w, s, r.candidates, r.progress, r.opts.clock)
	r.measured = m.of
	return m.run(ctx)
}

// verify looks at the indexes of all candidates at once: most of it is waiting for stores.
func (r *run) verify(ctx context.Context, _ *stream) error {
	r.progress.say("verify the indexes of %s against their records", format.Plural(len(r.candidates), "candidate"))
	errs := make([]error, len(r.candidates))
	var all sync.WaitGroup
	for i, c := range r.candidates {
		all.Go(func() {
			errs[i] = c.store.lostIn(ctx, "when the indexes of "+c.label+" were verified", c.verify(ctx))
		})
	}
	all.Wait()
	return cmp.Or(errs...)
}
