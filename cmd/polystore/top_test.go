package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/loadtest"
	"github.com/polystore/polystore/repo"
)

type uneven struct {
	Author string   `repo:"author"`
	ID     string   `repo:"id"`
	Tags   []string `repo:"tags"`
	Text   string   `repo:"text"`
}

func TestTop(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	backend, err := pebble.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	store := repo.NewStore(backend, nil)
	posts, err := repo.Open[uneven](t.Context(), store, repo.Schema{Collection: "posts", Partition: []string{"author"}, Sort: []string{"-id"}, Indexes: []repo.Index{
		{Partition: []string{"tags[]"}, Sort: []string{"author"}}, {Sort: []string{"text"}, Buckets: 4},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 30 {
		p := uneven{Author: "ann", ID: fmt.Sprint(n), Tags: []string{"go"}, Text: "t"}
		switch n % 10 {
		case 0:
			p.Author, p.Tags, p.Text = "bob\n", []string{"go", "nosql", "go"}, strings.Repeat("long", n*10)
		case 1:
			p.Tags = nil
		}
		if err := posts.Insert(t.Context(), &p); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	code, out, diag := do(t, "top", "pebble:"+dir, "posts", "--lines", "2")
	if code != 0 {
		t.Errorf("exit %d, %s", code, diag)
	}
	for _, line := range []string{
		"posts: 30 records, about ", ` %  "bob\n/20"`, "partitions by author: 2, in records:\n          27   90.0 %  ann\n           3   10.0 %  \"bob\\n\"\n",
		`rows; partitions by tags[]: 2, in rows:` + "\n          27   90.0 %  go\n           3   10.0 %  nosql\n",
		"30 rows; partitions by nothing: 1, each over 4 buckets, in rows:\n          30  100.0 %  (all)\n",
	} {
		if !strings.Contains(out, line) {
			t.Errorf("%q is not in\n%s", line, out)
		}
	}
	for _, args := range [][]string{{"top", "pebble:" + dir, "posts", "--lines", "0"}, {"top", "pebble:" + dir, "none"}, {"top", "pebble:" + dir + "x", "posts"}} {
		if code, out, diag := do(t, args...); code != loadtest.Usage || out != "" || diag == "" {
			t.Errorf("%q: exit %d, %q, %q", args, code, out, diag)
		}
	}
}

// Of more partitions than are counted at once the frequent ones stay, and what is lost is said.
func TestTopOfMany(t *testing.T) {
	c := newCounts()
	for n := range 3 * mostCounted {
		c.add(fmt.Sprint(n), 1)
		c.add("often", 1)
	}
	first := c.largest(1)[0]
	if first.name != "often" || first.n > 3*mostCounted || first.n < 3*mostCounted-c.lost || c.lost == 0 || !strings.Contains(c.many(), "too low by") {
		t.Errorf("%v, %s", first, c.many())
	}
}
