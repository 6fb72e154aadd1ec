package redis_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo/driver"
)

// Where the catalog was removed under a program that goes on writing, another one that
// meets its fields says so, until the first starts again.
func TestCatalogThatWasRemoved(t *testing.T) {
	t.Parallel()
	server, s, ts := own(t)
	do(t, raw(t, server.Addr), "FLUSHALL")
	mustCommit(t, s, ts.insert(t, "ann", "1"))
	other, _ := open(t, server.URL+"")
	do(t, raw(t, server.Addr), "DEL", "_table:posts")
	narrow := *ts.posts
	narrow.Fields = ts.posts.Fields[:1]
	if err := other.Define(t.Context(), []*driver.Table{&narrow}); err != nil {
		t.Fatal(err)
	}
	read := func() error {
		return other.Get(t.Context(), &narrow, []driver.Key{keyOf(t, &narrow, "ann", "1")}, nil, make([]driver.Row, 1))
	}
	if err := read(); !errors.Is(err, driver.ErrCorrupt) || !strings.Contains(err.Error(), "_table:posts was removed") {
		t.Errorf("a field whose description was removed: %v, want ErrCorrupt that says so", err)
	}
	again, _ := open(t, server.URL)
	if err := read(); err != nil {
		t.Errorf("after the program started again: %v", err)
	}
	if n := ts.views(t, s, "ann", "1"); n != 1 {
		t.Errorf("%d views, want 1", n)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// A hash of another program in the place of a record is named.
func TestHashOfAnotherProgram(t *testing.T) {
	t.Parallel()
	server, s, ts := own(t)
	admin := raw(t, server.Addr)
	do(t, admin, "HSET", "posts:{ann#}1#", "theirs", "x")
	for what, ops := range map[string][]driver.Op{
		"insert": ts.insert(t, "ann", "1"),
		"put":    {{Do: driver.Put, Table: ts.posts, Row: driver.Row{Key: keyOf(t, ts.posts, "ann", "1")}}},
	} {
		_, err := s.Commit(t.Context(), driver.NewToken(), ops)
		if !errors.Is(err, driver.ErrCorrupt) || !strings.Contains(err.Error(), `"posts:{ann#}1#" has no _rev`) {
			t.Errorf("%s: %v, want ErrCorrupt that names the key", what, err)
		}
	}
	if n := do(t, admin, "HGET", "posts:{ann#}1#", "theirs"); n != "x" {
		t.Errorf("their field is %v", n)
	}
}
