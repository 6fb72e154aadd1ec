package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/loadtest"
	"github.com/polystore/polystore/repo"
)

// TestIndex adds indexes to records that are there, and drops one.
func TestIndex(t *testing.T) {
	for name, url := range map[string]string{
		"pebble": "pebble:" + filepath.Join(t.TempDir(), "db"),
		"redis":  testserver.Start(t, testserver.Redis).URL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fillPosts(t, url, 30)
			steps := []struct {
				args string
				code int
				out  string // part of what is printed
			}{
				{"status URL posts", 0, "the collection has no index\n"},
				{"add URL posts --partition text --sort=-id", 0, " is ready\n"},
				{"add URL posts by_id --sort id --buckets 4", 0, "posts: index by_id is ready\n"},
				{"add URL posts by_id --sort id --buckets 4", 0, "posts: index by_id is ready\n"}, // as one that was interrupted
				{"add URL posts by_id --sort text --buckets 4", loadtest.Usage, "give the new one another name"},
				{"status URL posts", 0, "by_id: ready; --sort=id --buckets=4"},
				{"add URL posts clash --partition text --unique", loadtest.Usage, "already exists"},
				{"status URL posts", 0, "clash: could not be built: "},
				{"drop URL posts by_id", 0, "posts: dropped by_id\n"},
				{"drop URL posts by_id", loadtest.Usage, "by_id"},
				{"status URL none", loadtest.Usage, "no such collection"},
				{"add URL posts", loadtest.Usage, "index: want status URL COLLECTION, add"},
				{"build URL posts", loadtest.Usage, "index: want status URL COLLECTION, add"},
			}
			for _, s := range steps {
				args := append([]string{"index"}, strings.Fields(strings.ReplaceAll(s.args, "URL", url))...)
				code, out, diag := do(t, args...)
				if code != s.code || !strings.Contains(out+diag, s.out) {
					t.Fatalf("%s: exit %d, want %d with %q:\n%s%s", s.args, code, s.code, s.out, out, diag)
				}
			}
		})
	}
}

// fillPosts makes a collection of n posts of one text.
func fillPosts(t *testing.T, url string, n int) {
	t.Helper()
	store, err := backends.Open(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	posts, err := repo.Open[uneven](t.Context(), store, repo.Schema{Collection: "posts", Partition: []string{"author"}, Sort: []string{"-id"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := posts.Insert(t.Context(), &uneven{Author: "ann", ID: fmt.Sprint(i), Text: "t"}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestIndexProgress(t *testing.T) {
	now := time.Unix(0, 0)
	var p indexProgress
	for _, s := range []struct {
		after         int // seconds
		filled, total int
		want          string
	}{
		{0, 0, 0, ""},
		{5, 1000, 0, ", 1000 records read"},
		{10, 2000, 5000, ", 2000 of 5000 records read, about 15 s left"},
		{15, 5100, 5000, ", 5100 records read"},
	} {
		p.total = s.total
		if got := p.after(s.filled, now.Add(time.Duration(s.after)*time.Second)); got != s.want {
			t.Errorf("after %d s and %d records: %q, want %q", s.after, s.filled, got, s.want)
		}
	}
}
