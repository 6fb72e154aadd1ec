// Package candidate has a model on a store. A model and a store come in; collections that are filled go
// out, and the answers and costs of calls.
package candidate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/store"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
)

// Answers reads a few records, to tell a store that is gone from one that fails now
// and then.
func (c *Candidate) Answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, limit.AnswerTime)
	defer cancel()
	for _, err := range c.Repos[0].Walk(ctx, "") {
		return err
	}
	return nil
}

// A Candidate is a model on a store: what is measured and compared.
type Candidate struct {
	Store *store.Store
	Model *workload.Model
	Names []string // of its collections in the store, by collection
	Repos []*repo.Repo[map[string]any]
	Scans []bool // by query: it reads every record
	Label string // for people: the model, and the store where there are several
	Lacks string // why the store cannot have the model, which then is not measured

	Loaded  time.Duration
	Records int64   // bytes; -1 when the store does not say
	Indexes int64   // bytes
	Probes  []probe // by query
}

// New returns a candidate that nothing is known of. Where there are
// several stores its label names its own.
func New(w *workload.Workload, s *store.Store, m *workload.Model, where string) *Candidate {
	return &Candidate{Store: s, Model: m, Label: m.Name + where, Records: -1, Probes: make([]probe, len(w.Queries))}
}

// Missing returns why the store cannot have the model, or "".
func (c *Candidate) Missing() string {
	var reasons []string
	for _, s := range c.Model.Schemas {
		for _, err := range failure.Causes(repo.Check[map[string]any](c.Store.Facts, s)) {
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

// Open makes the candidate's collections under names that begin with prefix. One
// that has records already is somebody else's and refused. It is not interrupted
// midway, so that drop knows all that was made.
func (c *Candidate) Open(ctx context.Context, w *workload.Workload, prefix string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	for i, s := range c.Model.Schemas {
		s.Collection = prefix + w.Collections[i].Schema.Collection
		if s.With != "" {
			s.With = prefix + s.With
		}
		r, err := repo.Open[map[string]any](ctx, c.Store.Repo, s)
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
		c.Names = append(c.Names, s.Collection)
		c.Repos = append(c.Repos, r)
	}
	return nil
}

// Weigh asks the store what the candidate's records and indexes occupy.
func (c *Candidate) Weigh(ctx context.Context) error {
	if !c.Store.Facts.Sizes.Has {
		return nil
	}
	c.Records = 0
	for _, r := range c.Repos {
		sizes, err := r.Sizes(ctx)
		if err != nil {
			return err
		}
		c.Records += sizes.Records
		c.Indexes += sizes.Total() - sizes.Records
	}
	return nil
}

// Plan finds out which queries the model answers by an index, and reports those
// that it cannot answer unless it means to scan.
func (c *Candidate) Plan(w *workload.Workload, sample func(at int) operation.Call) failure.Faults {
	var faults failure.Faults
	c.Scans = make([]bool, len(w.Queries))
	for i, q := range w.Queries {
		k := sample(i)
		if k.Key != nil || k.Record != nil {
			continue
		}
		_, err := c.Repos[q.Collection.At].Explain(k.Find)
		switch {
		case err == nil:
		case c.Model.Scan && errors.Is(err, repo.ErrNoIndex):
			c.Scans[i] = true
		default:
			faults = append(faults, failure.Fault{File: w.File, Line: q.Place.Line, Column: q.Place.Column,
				Text: fmt.Sprintf("query %s in model %s: %v", q.Name, c.Model.Name, reason(err))})
		}
	}
	return faults
}
