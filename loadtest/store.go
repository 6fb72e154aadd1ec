package loadtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A store is one of those that are compared, opened.
type store struct {
	at     int    // among the stores of the run
	url    string // without secrets
	driver driver.Store
	repo   *repo.Store
	facts  driver.Facts
	tagged string // the collection that says whose the others are; "" if there is none

	meter driver.Meter // nil where no server tells its processor time

	trips, requests, rows atomic.Int64 // of all operations so far
}

// sound says which argument of Run or Clean is nil.
func sound(ctx context.Context, open func(context.Context, string) (driver.Store, error)) error {
	switch {
	case ctx == nil:
		return fmt.Errorf("the context is nil; want context.Background() at the least: %w", driver.ErrInvalid)
	case open == nil:
		return fmt.Errorf("Options.Open is nil; want backends.OpenDriver, or a function like it: %w", driver.ErrInvalid)
	}
	return nil
}

// openStore opens the store of a URL.
func openStore(ctx context.Context, url, shown string, open func(context.Context, string) (driver.Store, error)) (*store, error) {
	d, err := open(ctx, url)
	if err != nil {
		return nil, err
	}
	if r := reflect.ValueOf(d); d == nil || r.Kind() == reflect.Pointer && r.IsNil() {
		return nil, fmt.Errorf("open %s: there is neither a store nor an error: %w", shown, driver.ErrInvalid)
	}
	s := &store{url: shown, driver: d, facts: d.Facts()}
	s.repo = repo.NewStore(d, &repo.Options{Observe: s.observe})
	if err := s.learnMeter(ctx); err != nil {
		return nil, errors.Join(err, s.repo.Close())
	}
	return s, nil
}

// inProcess reports whether the store works inside this process, so that it
// shares the processor with the clock.
func (s *store) inProcess() bool { return s.facts.OneProcess }

// A candidate is a model on a store: what is measured and compared.
type candidate struct {
	store *store
	model *model
	names []string // of its collections in the store, by collection
	repos []*repo.Repo[map[string]any]
	scans []bool // by query: it reads every record
	label string // for people: the model, and the store where there are several
	lacks string // why the store cannot have the model, which then is not measured

	loaded  time.Duration
	records int64   // bytes; -1 when the store does not say
	indexes int64   // bytes
	probes  []probe // by query
}

// newCandidate returns a candidate that nothing is known of. Where there are
// several stores its label names its own.
func newCandidate(w *Workload, s *store, m *model, where string) *candidate {
	return &candidate{store: s, model: m, label: m.name + where, records: -1, probes: make([]probe, len(w.queries))}
}

// missing returns why the store cannot have the model, or "".
func (c *candidate) missing() string {
	var reasons []string
	for _, s := range c.model.schemas {
		for _, err := range causes(repo.Check[map[string]any](c.store.facts, s)) {
			reasons = append(reasons, s.Collection+": "+strings.TrimSuffix(err.Error(), ": "+repo.ErrSchema.Error()))
		}
	}
	switch len(reasons) {
	case 0:
		return ""
	case 1:
		return reasons[0]
	}
	return fmt.Sprintf("%s; and %s more", reasons[0], format.Count(len(reasons)-1))
}

// open makes the candidate's collections under names that begin with prefix. One
// that has records already is somebody else's and refused. It is not interrupted
// midway, so that drop knows all that was made.
func (c *candidate) open(ctx context.Context, w *Workload, prefix string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	for i, s := range c.model.schemas {
		s.Collection = prefix + w.collections[i].schema.Collection
		r, err := repo.Open[map[string]any](ctx, c.store.repo, s)
		if err != nil {
			return err
		}
		for chunk, err := range r.Walk(ctx, "") {
			if err != nil {
				return err
			}
			if len(chunk.Items) > 0 {
				return fmt.Errorf("collection %s has records already; run again, which takes another name", s.Collection)
			}
		}
		c.names = append(c.names, s.Collection)
		c.repos = append(c.repos, r)
	}
	return nil
}

// weigh asks the store what the candidate's records and indexes occupy.
func (c *candidate) weigh(ctx context.Context) error {
	if !c.store.facts.Sizes.Has {
		return nil
	}
	c.records = 0
	for _, r := range c.repos {
		sizes, err := r.Sizes(ctx)
		if err != nil {
			return err
		}
		c.records += sizes.Records
		c.indexes += sizes.Total() - sizes.Records
	}
	return nil
}

// plan finds out which queries the model answers by an index, and reports those
// that it cannot answer unless it means to scan.
func (c *candidate) plan(w *Workload, sample func(at int) call) Faults {
	var faults Faults
	c.scans = make([]bool, len(w.queries))
	for i, q := range w.queries {
		k := sample(i)
		if k.key != nil || k.record != nil {
			continue
		}
		_, err := c.repos[q.collection.at].Explain(k.find)
		switch {
		case err == nil:
		case c.model.scan && errors.Is(err, repo.ErrNoIndex):
			c.scans[i] = true
		default:
			faults = append(faults, Fault{File: w.File, Line: q.place.line, Column: q.place.column,
				Text: fmt.Sprintf("query %s in model %s: %v", q.name, c.model.name, reason(err))})
		}
	}
	return faults
}

// orderCall is how the library spells an order.
var orderCall = regexp.MustCompile(`Order\(([^)]*)\)`)

// reason returns what the library says is wrong, with the remedy of a workload
// file instead of that of a program.
func reason(err error) string {
	var e *repo.Error
	if errors.As(err, &e) {
		err = e.Err
	}
	text := strings.TrimSuffix(err.Error(), ": "+repo.ErrInvalid.Error())
	text = orderCall.ReplaceAllString(text, "order: [$1]")
	return strings.NewReplacer(
		"Partition:", "partition:", "Sort:", "sort:", "Unique:", "unique:", "Buckets:", "buckets:",
		"use Walk, or Scan", "add conditions, or let the model scan (scan: true)",
		"or use Scan", "or let the model scan (scan: true)").Replace(text)
}

// drop removes collections at once: on most stores each takes some seconds, in which other
// programs are told. It returns those that are left, and why the first of them is.
func (s *store) drop(ctx context.Context, names []string) (left []string, err error) {
	errs := make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { errs[i] = repo.DropCollection(ctx, s.repo, name) })
	}
	all.Wait()
	for i, e := range errs {
		if e != nil {
			left = append(left, names[i])
			err = cmp.Or(err, e)
		}
	}
	return left, err
}
