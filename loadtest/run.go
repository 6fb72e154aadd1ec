package loadtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/polystore/polystore/loadtest/internal/candidate"
	"github.com/polystore/polystore/loadtest/internal/compare"
	"github.com/polystore/polystore/loadtest/internal/data"
	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/fault"
	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/measure"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/oracle"
	"github.com/polystore/polystore/loadtest/internal/pace"
	"github.com/polystore/polystore/loadtest/internal/progress"
	"github.com/polystore/polystore/loadtest/internal/store"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/loadtest/report"
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

	// Max searches the highest rate of each candidate at which it does what is asked, after its rounds.
	Max bool

	// Faults are what goes wrong with each store, in a phase of its own after the rounds, as a list with commas:
	// cut@AT:FOR, freeze@AT:FOR and slow@AT:FOR:DELAY are of the network; kill@AT, kill@AT:FOR and pause@AT:FOR are of
	// those servers that Servers has. AT counts from the beginning of the phase. "" is no such phase.
	Faults string

	// Servers has the servers that faults may kill, by their URL in On.
	Servers map[string]Server

	// For is how long the phase with faults lasts; 0 is until some seconds after the last one.
	For time.Duration

	// Keep leaves the collections in the stores, as they were loaded: what the run wrote is undone, but for trees. Their
	// names are logged.
	Keep bool

	// Reuse takes collections that earlier runs kept, in place of loading the data, if they are as this run would load
	// them. They stay kept. Why others are loaded anew is logged.
	Reuse bool

	// Share is the part of the load that this process sends; nil is all of it.
	Share *Share

	// Kept lets Clean remove what runs kept, too.
	Kept bool

	// Observe is told of each operation that is measured, also while the machine warms up, the highest rate is searched
	// and something fails: some time after it was answered, and of one after the other. It must not keep what it gets.
	Observe func(*Observation)

	// Again is the command that repeats the run, for the report.
	Again string

	clock pace.Clock // nil is the machine's
}

// A run is one run of a workload under way.
type run struct {
	w          *workload.Workload
	opts       *Options
	progress   *progress.Log
	data       []*generate.Table
	known      *oracle.Known // of the data
	stores     []*store.Store
	candidates []*candidate.Candidate
	absent     []*candidate.Candidate // models that a store cannot have
	measured   []*measure.Measured    // by candidate
	steps      [][]report.StepResult  // by candidate
	faults     []fault.Fault
	lasts      time.Duration           // the phase with faults
	endured    []*report.EnduredResult // by candidate
	began      time.Time
	told       []report.Phase // how long it takes, as it was said beforehand
	phases     []report.Phase // how long it took

	fingerprint string // of the workload
	summed      string // of the data
	shared      sharing
	wrote       bool // candidates were written to
	measurement *measure.Measurement
	trace       *operation.Trace // nil if operations are drawn
	compared    int              // sampled calls
}

// Run measures a workload and returns what came out. Everything that it put into
// the stores is removed, also when the context ends, unless Keep is set or it was kept before. Faults
// in the file or its data are returned as Faults, and nothing was written then;
// different answers as *WrongAnswers. With a *StoreLost, and with answers that were found to be wrong after
// the rounds, there is a result, too, which has no verdict.
func Run(ctx context.Context, w *Workload, opts Options) (*Result, error) {
	if err := sound(ctx, opts.Open); err != nil {
		return nil, err
	}
	settled, err := w.settled()
	if err != nil {
		return nil, err
	}
	r := &run{w: settled, opts: &opts, began: time.Now(), fingerprint: w.is()}
	if settled.Trace != nil && (opts.Max || opts.Faults != "") {
		return nil, fmt.Errorf("the operations are those of a trace: there is no other rate to search, and no phase with faults: %w", driver.ErrInvalid)
	}
	r.shared = sharing{run: r, marks: map[*store.Store]store.Mark{}}
	if opts.Share != nil {
		if err := opts.Share.check(settled, &opts, r.began); err != nil {
			return nil, err
		}
	}
	if err := r.planFaults(); err != nil {
		return nil, err
	}
	if opts.Log != nil {
		r.progress = &progress.Log{Out: opts.Log, Terminal: opts.Terminal}
	}
	result, err := r.run(ctx)
	return result, errors.Join(err, r.close(err))
}

func (r *run) run(ctx context.Context) (*Result, error) {
	var err error
	if r.data, err = data.Survey(ctx, r.w, r.progress); err != nil {
		return nil, err
	}
	r.known = oracle.Know(r.w, r.data)
	s, err := operation.NewStream(r.w, r.data)
	if err != nil {
		return nil, err
	}
	if r.w.Trace != nil {
		if r.trace, err = s.Trace(ctx); err != nil {
			return nil, err
		}
		defer r.trace.Close()
		r.progress.Say("trace: %s", r.trace)
	}
	for _, task := range r.tasks() {
		err := task.do(ctx, s)
		r.note(task.name)
		if lost := (*failure.StoreLost)(nil); errors.As(err, &lost) {
			return r.result(lost), err
		}
		if wrong := (*failure.WrongAnswers)(nil); errors.As(err, &wrong) && r.measured != nil {
			return r.result(wrong), err
		}
		if err != nil {
			return nil, err
		}
	}
	return r.result(nil), nil
}

// A task is a part of a run. Tasks of one name are one phase.
type task struct {
	name string
	do   func(context.Context, *operation.Stream) error
}

// tasks returns what there is to do. What the first share does for all, others leave out.
func (r *run) tasks() []task {
	if r.shared.joins() {
		return []task{{"load", r.open}, {"measure", r.measure}}
	}
	return []task{{"load", r.open}, {"load", r.fill}, {"compare", r.compare}, {"measure", r.shared.announce}, {"measure", r.measure}, {"search", r.climb}, {"verify", r.verifyRecords},
		{"faults", r.endure}, {"verify", r.shared.gather}, {"verify", r.verify}}
}

// note notes how long a phase took, which ends now.
func (r *run) note(name string) {
	p := report.Phase{Name: name, Took: time.Since(r.began)}
	for _, before := range r.phases {
		if before.Name != name {
			p.Took -= before.Took
		}
	}
	for _, told := range r.told {
		if told.Name == name {
			p.Told = told.Took
		}
	}
	r.phases = append(slices.DeleteFunc(r.phases, func(x report.Phase) bool { return x.Name == name }), p)
}

// open opens the stores and makes the candidates' collections.
func (r *run) open(ctx context.Context, s *operation.Stream) error {
	for _, url := range r.opts.On {
		st, err := store.Open(ctx, url, store.Redact(url), r.opts.Open)
		if err != nil {
			return err
		}
		st.At = len(r.stores)
		r.stores = append(r.stores, st)
		if err := r.shared.shareable(st); err != nil {
			return err
		}
		r.tellLeftovers(ctx, st)
	}
	if len(r.stores) == 0 {
		return errors.New("there is no store to measure on")
	}
	var faults failure.Faults
	name := store.Namespace()
	for _, st := range r.stores {
		if err := r.shared.claim(ctx, st, name); err != nil {
			return err
		}
		for _, mo := range r.w.Models {
			c := candidate.New(r.w, st, mo, r.where(st))
			if r.shared.follows() {
				c.Seen = oracle.New(r.known)
			}
			if c.Lacks = c.Missing(r.w); c.Lacks != "" {
				r.leaveOut(c)
				continue
			}
			r.candidates = append(r.candidates, c)
			if err := r.prepare(ctx, c, name, len(r.candidates)); err != nil {
				return fmt.Errorf("model %s on %s: %w", mo.Name, st.Facts.Name, err)
			}
			if c.Lacks != "" { // as the first share found out
				r.leaveOut(c)
				r.candidates = r.candidates[:len(r.candidates)-1]
				continue
			}
			faults = append(faults, c.Plan(r.w, func(at int) operation.Call { return s.Only(at, 1, 0)[0] })...)
		}
	}
	return cmp.Or(r.someLeft(), failure.AsError(faults))
}

// prepare takes the collections of a candidate that an earlier run kept, or makes new ones.
func (r *run) prepare(ctx context.Context, c *candidate.Candidate, name string, number int) error {
	if err := r.describe(ctx, c); err != nil {
		return err
	}
	if r.shared.joins() {
		return r.shared.attach(ctx, c)
	}
	if err := r.reuse(ctx, c); err != nil || c.Taken {
		return err
	}
	c.Kept.Run, c.Kept.Space = name, store.CandidateSpace(name, number)
	return c.Open(ctx, r.w, c.Kept.Space)
}

// leaveOut notes a model that a store cannot have.
func (r *run) leaveOut(c *candidate.Candidate) {
	r.progress.Say("not there: %s: %s", c.Label, c.Lacks)
	r.absent = append(r.absent, c)
}

// someLeft says that there is nothing to measure.
func (r *run) someLeft() error {
	if len(r.candidates) == 0 {
		return fmt.Errorf("no store has any of the models; %s: %s", r.absent[0].Label, r.absent[0].Lacks)
	}
	return nil
}

// tellLeftovers names what other runs left in a store. What cannot be found out is no reason
// not to measure.
func (r *run) tellLeftovers(ctx context.Context, s *store.Store) {
	if r.shared.joins() {
		return // the first share has told it, and is at work itself
	}
	list, err := s.Leftovers(ctx)
	for _, l := range list {
		if why := l.UnderWay(time.Now()); why != "" {
			r.progress.Say("note: %s is on %s, too (%s); two at a time disturb each other", &l, s.URL, why)
		} else {
			r.progress.Say("note: %s has %s of %s, which was killed; polystore load --clean %s removes them", s.URL, format.Plural(len(l.Names), "collection"), &l, s.URL)
		}
	}
	if err != nil && ctx.Err() == nil {
		r.progress.Say("note: what earlier runs left on %s cannot be told: %v", s.URL, err)
	}
}

// where returns " on pebble" when there are several stores, or the URL when they
// are of one kind, with a number when one URL is there several times.
func (r *run) where(s *store.Store) string {
	if len(r.stores) < 2 {
		return ""
	}
	where, same, number := s.Facts.Name, 0, 0
	for _, o := range r.stores {
		if o != s && o.Facts.Name == s.Facts.Name {
			where = s.URL
		}
		if o.URL == s.URL {
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

func (r *run) compare(ctx context.Context, s *operation.Stream) error {
	cp := &compare.Comparison{W: r.w, Stream: s, Candidates: r.candidates, Progress: r.progress, BeforeWrites: r.beforeWrites}
	err := cp.Run(ctx)
	r.compared = cp.Calls
	return err
}

func (r *run) measure(ctx context.Context, s *operation.Stream) error {
	r.progress.Say("measure %s: %s a second, %d rounds of %v each", format.Plural(len(r.candidates), "candidate"), format.Count(r.w.Rate), r.w.Rounds, r.w.Round)
	r.measurement = measure.New(r.w, s, r.candidates, r.progress, r.opts.clock)
	r.measurement.Observe = r.opts.observer(r.w)
	r.measurement.Trace = r.trace
	r.measured = r.measurement.Of
	r.measurement.Divide(r.shared.part())
	r.shared.sampled(r.measurement, s)
	return r.measurement.Run(ctx)
}

// verifyRecords looks at the records of all candidates before something fails, when writes may be lost that a class of
// durability excuses.
func (r *run) verifyRecords(ctx context.Context, _ *operation.Stream) error {
	if r.shared.part() != nil {
		return nil // what other shares have written is not known here
	}
	r.progress.Say("verify the records of %s against what was written", format.Plural(len(r.candidates), "candidate"))
	return r.ofAll(ctx, "when the records of %s were verified", func(c *candidate.Candidate) error { return c.VerifyRecords(ctx, r.w) })
}

// verify looks at the indexes of all candidates.
func (r *run) verify(ctx context.Context, _ *operation.Stream) error {
	r.progress.Say("verify the indexes of %s against their records", format.Plural(len(r.candidates), "candidate"))
	return r.ofAll(ctx, "when the indexes of %s were verified", func(c *candidate.Candidate) error { return c.Verify(ctx) })
}

// ofAll does something for all candidates at once: most of it is waiting for stores. When says with the name of a
// candidate when its store was lost.
func (r *run) ofAll(ctx context.Context, when string, do func(*candidate.Candidate) error) error {
	errs := make([]error, len(r.candidates))
	var all sync.WaitGroup
	for i, c := range r.candidates {
		all.Go(func() { errs[i] = c.Store.LostIn(ctx, fmt.Sprintf(when, c.Label), do(c)) })
	}
	all.Wait()
	return cmp.Or(errs...)
}
