package cassandra_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/polystore/polystore/backends/cassandra"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// What is left of a gathering that a server gave up is read by a range of each table, each row once: after a row that
// a page ended with, in each of the tables, and after none.
func TestGatherApart(t *testing.T) {
	t.Parallel()
	s, ts := open(t, at(testserver.Shared(t, testserver.Cassandra).URL, unique()))
	lone := &driver.Table{Name: "about", Partition: ts.posts.Partition, Home: ts.posts, Fields: ts.posts.Fields[:1]}
	twin := &driver.Table{Name: "drafts", Partition: ts.posts.Partition, Sort: ts.posts.Sort, Home: ts.posts, Fields: ts.posts.Fields[:1]}
	for _, table := range []*driver.Table{lone, twin} {
		if err := s.Define(t.Context(), []*driver.Table{table}); err != nil {
			t.Fatal(err)
		}
	}
	ops := []driver.Op{{Do: driver.Put, Table: lone, Row: driver.Row{Key: keyOf(t, lone, text("ann"))}}}
	want := []string{"0"}
	for i := range 4 {
		id := fmt.Sprint("P", i)
		key := keyOf(t, twin, text("ann"), text(id))
		ops = append(append(ops, ts.insert(t, "ann", id)...), driver.Op{Do: driver.Put, Table: twin, Row: driver.Row{Key: key}})
		want = append(want, "1"+key.Sort, "2"+key.Sort)
	}
	if refusal, err := s.Commit(t.Context(), driver.NewToken(), ops); refusal != nil || err != nil {
		t.Fatal(refusal, err)
	}
	slices.Sort(want)
	tables := []*driver.Table{lone, twin, ts.posts}
	for first := 1; first < 12; first++ {
		var got []string
		err := cassandra.GatherApart(t.Context(), s, tables, ts.key(t, "ann", "").Partition, first, func(i int, row *driver.Row) bool {
			got = append(got, fmt.Sprint(i, row.Key.Sort))
			return true
		})
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("after %d rows: %q, %v, want %q", first, got, err, want)
		}
	}
	if err := s.Gather(t.Context(), []*driver.Table{ts.posts, ts.byAt}, "ann#", nil); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("gather from an index: %v, want ErrInvalid", err)
	}
}

// An aggregate with its children is one request if they lie together, and one for each collection if not.
func TestReadPartitionByOneRequest(t *testing.T) {
	t.Parallel()
	s, err := cassandra.Open(t.Context(), at(testserver.Shared(t, testserver.Cassandra).URL, unique()))
	if err != nil {
		t.Fatal(err)
	}
	var told repo.Event
	store := repo.NewStore(s, &repo.Options{Tracer: repo.Tracer{
		Begin: func(ctx context.Context, _ repo.Event) (context.Context, func(repo.Event)) {
			return ctx, func(e repo.Event) { told = e }
		},
	}})
	t.Cleanup(func() { store.Close() })
	type order struct {
		ID string `repo:"id"`
	}
	type line struct {
		ID string `repo:"id"`
		N  int64  `repo:"n"`
	}
	openLines := func(name, with string) *repo.Repo[line] {
		r, err := repo.Open[line](t.Context(), store, repo.Schema{Collection: name, With: with, Partition: []string{"id"}, Sort: []string{"n"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Insert(t.Context(), &line{"a", 1}); err != nil {
			t.Fatal(err)
		}
		return r
	}
	orders, err := repo.Open[order](t.Context(), store, repo.Schema{Collection: "orders", Partition: []string{"id"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := orders.Insert(t.Context(), &order{"a"}); err != nil {
		t.Fatal(err)
	}
	for requests, lines := range map[int]*repo.Repo[line]{1: openLines("lines", "orders"), 2: openLines("others", "")} {
		var of []order
		var list []line
		if err := store.ReadPartition(t.Context(), repo.Key{"a"}, orders.Into(&of), lines.Into(&list)); err != nil || len(of) != 1 || len(list) != 1 {
			t.Errorf("%v, %v, %v", of, list, err)
		}
		if told.Op != "read partition" || told.Depth != 1 || told.Requests != requests || told.Records != 2 {
			t.Errorf("%s took %d requests, %d deep, for %d records, want %d at once for 2", told.Op, told.Requests, told.Depth, told.Records, requests)
		}
	}
}
