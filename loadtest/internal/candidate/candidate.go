// Package candidate has a model on a store. A model and a store come in; collections that are filled go
// out, and the answers and costs of calls.
package candidate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/oracle"
	"github.com/polystore/polystore/loadtest/internal/store"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// Answers reads a few records, to tell a store that is gone from one that fails now
// and then.
func (c *Candidate) Answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, limit.AnswerTime)
	defer cancel()
	_, err := c.isEmpty(ctx, 0)
	return err
}

// isEmpty reports whether a collection has no record.
func (c *Candidate) isEmpty(ctx context.Context, at int) (bool, error) {
	if c.nests[at] != nil {
		return true, nil // or its hosts are there
	}
	if f := c.forests[at]; f != nil {
		for _, err := range f.Trees(ctx) {
			return false, err
		}
		return true, nil
	}
	if s := c.shelves[at]; s != nil {
		for _, err := range s.All(ctx) {
			return false, err
		}
		return true, nil
	}
	for chunk, err := range c.repos[at].Walk(ctx, "") {
		if err != nil || len(chunk.Items) > 0 {
			return false, err
		}
	}
	return true, nil
}

// A Candidate is a model on a store: what is measured and compared.
type Candidate struct {
	Store *store.Store
	Model *workload.Model
	Names []string // of its collections in the store
	Scans []bool   // by query: it reads every record
	Label string   // for people: the model, and the store where there are several
	Lacks string   // why the store cannot have the model, which then is not measured

	Kept    store.Kept // what it is, for later runs
	Taken   bool       // an earlier run kept it, so nothing is loaded
	Loaded  time.Duration
	Records int64   // bytes; -1 when the store does not say
	Indexes int64   // bytes
	Probes  []probe // by query

	Seen *oracle.Oracle // what was written and answered; nil is not looked at

	names   [][]string                   // of the collections in the store, by collection
	repos   []*repo.Repo[map[string]any] // by collection, nil where there are trees or series, and where it is embedded
	views   []*repo.View[map[string]any] // by collection: its records without what is embedded in them; nil where nothing is
	forests []*forest                    // by collection, nil where there are none
	shelves []*shelf                     // by collection, nil where it is not kept as series
	nests   nests                        // by collection, nil where it is not embedded
	copied  copied
	joined  joined

	whole []bool   // by query: it reads every record of its own collection
	below [][]bool // by query, and by its Children: they read every record
}

// New returns a candidate that nothing is known of. Where there are
// several stores its label names its own.
func New(w *workload.Workload, s *store.Store, m *workload.Model, where string) *Candidate {
	return &Candidate{Store: s, Model: m, Label: m.Name + where, Records: -1, Probes: make([]probe, len(w.Queries)), copied: copied{model: m}}
}

// Missing returns why the store cannot have the model, or "".
func (c *Candidate) Missing(w *workload.Workload) string {
	var reasons []string
	for i, s := range c.Model.Schemas {
		if in := c.Model.Series[i]; in != nil {
			s = in.Buckets(s.Collection)
		}
		err := repo.Check[map[string]any](c.Store.Facts, s)
		if f := c.Model.Forests[i]; f != nil {
			err = tree.Check[tree.Inspected](c.Store.Facts, *f)
		}
		for _, err := range failure.Causes(err) {
			reasons = append(reasons, s.Collection+": "+strings.TrimSuffix(reason(err), ": "+repo.ErrSchema.Error()))
		}
	}
	if text := c.tearsApart(w); text != "" {
		reasons = append(reasons, text)
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
	for i, of := range w.Collections {
		names, err := c.openOne(ctx, of, prefix)
		if err != nil {
			return err
		}
		switch empty, err := c.isEmpty(ctx, i); {
		case err != nil:
			return err
		case !empty:
			return fmt.Errorf("collection %s has records already; run again, which takes another name", names[0])
		}
		c.Names, c.names = append(c.Names, names...), append(c.names, names)
	}
	return connect(c, w)
}

// connect lets the collections that are open have what depends on several of them.
func connect(c *Candidate, w *workload.Workload) (err error) {
	if c.joined, err = openJoins(w, c.repos); err != nil {
		return err
	}
	return c.copied.declare(w, c.Seen, c.Store.Facts)
}

// Take takes the collections that an earlier run kept.
func (c *Candidate) Take(ctx context.Context, w *workload.Workload, k store.Kept) error {
	c.Names, c.names = nil, nil
	c.forget()
	for _, of := range w.Collections {
		names, err := c.openOne(ctx, of, k.Space)
		if err != nil {
			return err
		}
		c.Names, c.names = append(c.Names, names...), append(c.names, names)
	}
	if err := connect(c, w); err != nil {
		return err
	}
	c.Kept, c.Taken, c.Loaded = k, true, k.Took
	return nil
}

// forget forgets the collections that are open.
func (c *Candidate) forget() {
	c.repos, c.views, c.forests, c.shelves, c.nests, c.copied = nil, nil, nil, nil, nil, copied{model: c.Model}
}

// openOne makes a collection, and returns the names that it takes in the store.
func (c *Candidate) openOne(ctx context.Context, of *workload.Collection, prefix string) (names []string, err error) {
	var f *forest
	var sh *shelf
	var r *repo.Repo[map[string]any]
	var v *repo.View[map[string]any]
	var n *nest
	names = []string{prefix + of.Schema.Collection}
	c.copied.sources, c.copied.targets = append(c.copied.sources, nil), append(c.copied.targets, nil)
	schema, host := c.Model.Forests[of.At], c.Model.Hosts[of.At]
	switch {
	case host != nil:
		names = nil
		n, err = openNest(c.Model, of, c.repos[host.At])
	case schema != nil:
		trees := *schema
		trees.Collection = names[0]
		names = append(names, names[0]+workload.GuardsSuffix)
		f, err = openForest(ctx, c.Store.Repo, of, trees)
	case c.Model.Series[of.At] != nil:
		sh, err = openShelf(ctx, c.Store.Repo, of, c.Model, names[0])
	default:
		s := c.Model.Schemas[of.At]
		if s.Collection = names[0]; s.With != "" {
			s.With = prefix + s.With
		}
		r, names, err = c.copied.open(ctx, c.Store.Repo, of, s)
		if err == nil && slices.Contains(c.Model.Hosts, of) {
			v, err = repo.FieldsOf(r, of.Declared()...)
		}
	}
	c.repos, c.views, c.forests = append(c.repos, r), append(c.views, v), append(c.forests, f)
	c.shelves, c.nests = append(c.shelves, sh), append(c.nests, n)
	return names, err
}

// Weigh asks the store what the candidate's records and indexes occupy.
func (c *Candidate) Weigh(ctx context.Context) error {
	if !c.Store.Facts.Sizes.Has {
		return nil
	}
	c.Records = 0
	for _, name := range c.Names {
		sizes, err := sizesOf(ctx, c.Store.Repo, name)
		if err != nil {
			return err
		}
		c.Records += sizes.Records
		c.Indexes += sizes.Total() - sizes.Records
	}
	return nil
}

// sizesOf returns what a collection occupies, as the store knows it.
func sizesOf(ctx context.Context, store *repo.Store, name string) (repo.Sizes, error) {
	r, err := stored(ctx, store, name)
	if err != nil {
		return repo.Sizes{}, err
	}
	return r.Sizes(ctx)
}

// stored opens a collection as the store knows it.
func stored(ctx context.Context, store *repo.Store, name string) (*repo.Repo[map[string]any], error) {
	schema, err := repo.SchemaOf(ctx, store, name)
	if err != nil {
		return nil, err
	}
	return repo.Open[map[string]any](ctx, store, schema, repo.WithoutDefine())
}
