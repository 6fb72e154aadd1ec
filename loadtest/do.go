package loadtest

import (
	"context"
	"errors"
	"iter"
	"maps"

	"github.com/polystore/polystore/repo"
)

// An outcome is how an operation ended.
type outcome uint8

const (
	done   outcome = iota
	absent         // there is no such record
	taken          // the key or a unique value is taken
	empty          // nothing was found
	still          // the record has what was set already, so that no row of an index moved
	failed
	unfinished // cut off at the end of its round
)

func (o outcome) String() string {
	return [...]string{"done", "not found", "already exists", "found nothing", "moved nothing", "failed", "unfinished"}[o]
}

func outcomeOf(ctx context.Context, err error) outcome {
	switch {
	case err == nil:
		return done
	case ctx.Err() != nil:
		return unfinished
	case errors.Is(err, repo.ErrNotFound):
		return absent
	case errors.Is(err, repo.ErrExists):
		return taken
	}
	return failed
}

// effect returns how an operation ended, if it did nothing: it found no record, or moved none.
func (k *call) effect(a answer, o outcome) outcome {
	switch {
	case o == done && k.still:
		return still
	case o == done && a.n == 0 && !k.q.writes():
		return empty
	}
	return o
}

// nothing reports whether an operation that ended so did nothing.
func (o outcome) nothing() bool { return o == absent || o == taken || o == empty || o == still }

// An answer is what an operation found: the number of records, and the records
// themselves where they are kept.
type answer struct {
	n       int
	records []map[string]any
}

// A gatherer takes the records of an answer.
type gatherer struct {
	answer
	keep bool
}

func (g *gatherer) all(seq iter.Seq2[map[string]any, error]) error {
	for rec, err := range seq {
		if err != nil {
			return err
		}
		g.one(rec)
	}
	return nil
}

func (g *gatherer) one(rec map[string]any) {
	g.n++
	if g.keep {
		g.records = append(g.records, rec)
	}
}

// do sends an operation to a candidate. Keep asks for the records found.
func (c *candidate) do(ctx context.Context, k *call, keep bool) (answer, error) {
	r := c.repos[k.q.collection.at]
	g := gatherer{keep: keep}
	var err error
	switch k.q.kind {
	case "insert":
		rec := maps.Clone(k.record) // the library adds the version
		err = r.Insert(ctx, &rec)
	case "update", "move":
		_, err = r.Patch(ctx, k.key, k.edits...)
	case "delete":
		err = r.Delete(ctx, k.key, repo.IfExists()) // else nobody would know that it did nothing
	case "get":
		var rec map[string]any
		if rec, err = r.Get(ctx, k.key); err == nil {
			g.one(rec)
		}
	case "exists":
		var there bool
		if there, err = r.Exists(ctx, k.key); there {
			g.n = 1
		}
	default:
		err = c.search(ctx, r, k, &g)
	}
	return g.answer, err
}

// search does the queries that find records by their fields.
func (c *candidate) search(ctx context.Context, r *repo.Repo[map[string]any], k *call, g *gatherer) error {
	if c.scans[k.at] {
		return c.scan(ctx, r, k, g)
	}
	switch k.q.kind {
	case "find":
		return g.all(r.Find(ctx, k.find))
	case "one":
		rec, err := r.One(ctx, k.find)
		if err == nil {
			g.one(rec)
		}
		return err
	case "count":
		n, err := r.Count(ctx, k.find)
		g.n = n
		return err
	}
	cursor := ""
	for range k.q.pages {
		page, err := r.Page(ctx, k.find, cursor)
		if err != nil {
			return err
		}
		for _, rec := range page.Items {
			g.one(rec)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	return nil
}

// scan answers a query by reading every record. A page behind the first one is
// found by skipping those before, for want of an order to go on in.
func (c *candidate) scan(ctx context.Context, r *repo.Repo[map[string]any], k *call, g *gatherer) error {
	switch k.q.kind {
	case "one":
		if err := g.all(r.Scan(ctx, k.find.Limit(2))); err != nil {
			return err
		}
		if g.n == 0 {
			return repo.ErrNotFound
		}
	case "page":
		for i := range k.q.pages {
			g.n, g.records = 0, nil
			if err := g.all(r.Scan(ctx, k.find.Limit(k.q.limit*(i+1)))); err != nil {
				return err
			}
			if g.n < k.q.limit*(i+1) {
				break
			}
		}
	default:
		return g.all(r.Scan(ctx, k.find))
	}
	return nil
}
