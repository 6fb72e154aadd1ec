package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/loadtest"
	"github.com/polystore/polystore/repo/driver"
)

// Check names the queries that a model answers by reading every record, or not at all, with what helps. With the index
// it says nothing of them.
func TestCheckQueries(t *testing.T) {
	const index = "      - {partition: [category], sort: [id]}\n"
	none := strings.Replace(small, "    indexes:\n"+index, "", 1)
	const lacks = "no index answers category = ? in order of id; add {partition: [\"category\"], sort: [\"id\"]}"
	for _, tt := range []struct {
		text string
		code int
		want []string // lines of the output, in order
	}{
		{small, loadtest.Met, []string{"every store can do all of it, and no query looks at every record"}},
		{none, loadtest.Missed, []string{"model as declared, query of a category: is refused: " + lacks + ", or let the model scan (scan: true)"}},
		{small + "models: [{name: a}, {name: b, indexes: [], scan: true}]\n", loadtest.Met,
			[]string{"model b, query of a category: looks at every record of posts (20): " + lacks}},
		{strings.Replace(small, "order: [id]}", "limit: 3}", 1) + "models: [{name: b, indexes: [], scan: true}]\n", loadtest.Met,
			[]string{"model b, query of a category: looks at records of posts until it has what it wants, which may be every record of posts (20): no index answers category = ?; add"}},
		{strings.Replace(small, "category: $}", "category: $, author: $}", 1), loadtest.Missed, []string{"model as declared, query of a category: is refused: no index answers"}},
		{strings.Replace(small, "category: {choice: [IT, Daily]}", "category: {missing: 0.9999999, choice: [IT]}", 1), loadtest.Met,
			[]string{"model as declared, query of a category: is not planned: none of the first 1,000 records has what it draws"}},
	} {
		file := write(t, "small.yaml", tt.text)
		for _, args := range [][]string{{"check", file}, {"check", "memory:", file}} {
			code, out, diag := do(t, args...)
			lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(out), "\n"), func(line string) bool { return strings.HasPrefix(line, "posts: ") || strings.HasSuffix(line, ":") })
			want := tt.want
			if len(args) == 3 && strings.HasPrefix(want[0], "every store") {
				want = nil
			}
			if code != tt.code || !slices.EqualFunc(lines, want, strings.HasPrefix) || (code == loadtest.Met) != (diag == "") {
				t.Errorf("%s: exit %d, %q, %q; want %d, %q", args[1], code, out, diag, tt.code, want)
			}
		}
	}
}

// Without a URL check says in a line each which stores cannot have a model. That is a fault where none can.
func TestCheckStores(t *testing.T) {
	text := "collection: posts\npartition: [author]\nfields: {author: string, age: int}\nindexes: [{partition: [author], sort: [age], kind: native}]\n"
	code, out, diag := do(t, "check", write(t, "native.yaml", text))
	for _, line := range []string{"pebble cannot have it: posts: index by_author_age: kind native: ", "redis cannot have it: ", "cassandra cannot have it: "} {
		if code != loadtest.Met || !strings.Contains("\n"+out, "\n"+line) || strings.Count(out, "\n") != 3 {
			t.Errorf("exit %d, %q, %q; want a line with %q", code, out, diag, line)
		}
	}
	text = strings.Replace(small, "queries:\n", "queries:\n  - {name: two, weight: 0, kind: group, set: {category: $}}\n", 1) +
		"models: [{name: a}, {name: b, partition: [id], sort: [author]}]\n"
	code, out, diag = do(t, "check", write(t, "group.yaml", text))
	if want := "model b: cassandra cannot have it: query two changes records of several partitions in one commit, which cassandra cannot do\n"; code != loadtest.Met || out != want {
		t.Errorf("exit %d, %q, %q; want %q", code, out, diag, want)
	}
}

// sameFacts says how a store differs from what check takes for usual, as far as that decides what it can have.
func sameFacts(ctx context.Context, urls ...string) error {
	for i, url := range urls {
		s, err := backends.OpenDriver(ctx, url)
		if err != nil {
			return err
		}
		is, want := decides(s.Facts()), decides(usual()[i])
		if err := s.Close(); err != nil || is != want {
			return cmp.Or(err, fmt.Errorf("%s is %s, and check takes it for %s", loadtest.Redact(url), is, want))
		}
	}
	return nil
}

// decides returns what of the facts decides which models a store can have.
func decides(f driver.Facts) string {
	order, local := slices.Sorted(slices.Values(f.NativeOrder)), slices.Sorted(slices.Values(f.NativeLocal))
	return fmt.Sprintf("%s %v %t %t %t %t %t %d %d", f.Name, f.Scope, f.OneProcess, f.Uncertain, f.Remote.Has, f.Native.Has, f.PrefersNative, order, local)
}
