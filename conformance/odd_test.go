package conformance

import (
	"context"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// odder leaves absent fields at the end of rows out, and gives every row a hint: an odd
// store, but one that keeps the contract.
func odder(b *broken) {
	shorten := func(r *driver.Row) {
		for n := len(r.Fields); n > 0 && r.Fields[n-1].IsNone(); n-- {
			r.Fields = r.Fields[:n-1]
		}
	}
	b.got = func(_ *driver.Table, _ []driver.Key, _ []int, rows []driver.Row) {
		for i := range rows {
			shorten(&rows[i])
			rows[i].Hint = uint64(i) + 7
		}
	}
	b.row = func(_ *driver.Span, _ int, r *driver.Row) bool { shorten(r); return true }
	b.chunk = func(_ *driver.Table, _ int, c *driver.Chunk) bool {
		for i := range c.Rows {
			shorten(&c.Rows[i])
		}
		return true
	}
	b.answer = func(_ driver.Token, _ []driver.Op, refusal *driver.Refusal, err error) (*driver.Refusal, error) {
		if refusal != nil {
			shorten(&refusal.Row)
		}
		return refusal, err
	}
}

// An odd store that keeps the contract passes.
func TestOddStore(t *testing.T) {
	opened := 0
	report, err := Check(t.Context(), func(context.Context) (driver.Store, error) {
		opened++
		b := newBroken(driver.ScopeStore)
		odder(b)
		return b, nil
	}, Options{Ops: 4000, Histories: 24})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range report.Groups {
		for _, f := range g.Failed {
			t.Errorf("%s\n%s\nwant %s\ngot %s", f.Rule, f.Sentence, f.Want, f.Got)
		}
	}
	if report.Passed < 250 || opened < 5 {
		t.Errorf("%s, opened %d times; want most rules, and those that close the store", report.Summary(), opened)
	}
}

// A record that loses the field by which it is looked for, after its index row was
// read, is not found, also on a store that leaves absent fields at the end out.
func TestFieldLostBetweenReads(t *testing.T) {
	type tagged struct {
		ID   string   `repo:"id"`
		Tags []string `repo:"tags"`
	}
	b := &broken{Store: memory.New(nil)}
	odder(b)
	store := repo.NewStore(b, nil)
	r, err := repo.Open[tagged](t.Context(), store, repo.Schema{Collection: "tagged", Partition: []string{"id"}, Indexes: []repo.Index{{Partition: []string{"tags[]"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Insert(t.Context(), &tagged{ID: "a", Tags: []string{"x"}}); err != nil {
		t.Fatal(err)
	}
	shorten := b.row
	b.row = func(s *driver.Span, n int, row *driver.Row) bool {
		b.row = shorten
		if _, err := r.Patch(t.Context(), repo.Key{"a"}, repo.Unset("tags")); err != nil {
			t.Error(err)
		}
		return shorten(s, n, row)
	}
	err = finding.Caught(func() error {
		found, err := repo.Collect(r.Find(t.Context(), repo.Where("tags[]", "x")))
		if err == nil && len(found) != 0 {
			t.Errorf("Find = %v, want no record", found)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
