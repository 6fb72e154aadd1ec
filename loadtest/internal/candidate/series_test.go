package candidate

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/loadtest/internal/data"
	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/progress"
	"github.com/polystore/polystore/loadtest/internal/store"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/series"
)

// Names tell the values of which they were made.
func TestNamesOfSeries(t *testing.T) {
	for _, tt := range []struct {
		values []any
		kinds  string
		want   string
	}{
		{[]any{"roof"}, "string", "roof"},
		{[]any{"a/b %"}, "string", "a/b %"},
		{[]any{""}, "string", ""},
		{[]any{"a/b", int64(-7)}, "string int", "a%2Fb/-7"},
		{[]any{"a", "b/-7"}, "string string", "a/b%2F-7"},
		{[]any{"", ""}, "string string", "/"},
		{[]any{true, 1.5, []byte{0, 255}, time.UnixMilli(-1).UTC()}, "bool float bytes time", "true/1.5/AP8=/-1"},
	} {
		got := nameOf(tt.values)
		back, err := namedBy(got, strings.Fields(tt.kinds))
		if diff := cmp.Diff(tt.values, back); got != tt.want || err != nil || diff != "" {
			t.Errorf("%v has the name %q, want %q; back, %v: %s", tt.values, got, tt.want, err, diff)
		}
	}
	for _, bad := range []string{"", "a", "a/b/c", "a/x", "%zz/1"} {
		if got, err := namedBy(bad, []string{"string", "int"}); err == nil {
			t.Errorf("%q names %v, want an error", bad, got)
		}
	}
}

// keyed returns a record as text, and its key.
func keyed(rec map[string]any) (key, text string) {
	return value.Identity(rec, []string{"site", "device", "at"}), value.Canonical(rec)
}

// shelved returns a candidate of the model that keeps hours of the workload of series, and its records as text by their
// keys.
func shelved(t *testing.T) (c *Candidate, records map[string]string) {
	t.Helper()
	w := testload.Parsed(t, workload.Parse, testload.Series)
	tables, err := data.Survey(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), "memory:", "memory:", func(context.Context, string) (driver.Store, error) { return memory.New(nil), nil })
	if err != nil {
		t.Fatal(err)
	}
	c, records = New(w, s, w.Models[2], ""), map[string]string{}
	if err := c.Open(t.Context(), w, "load_x_"); err != nil {
		t.Fatal(err)
	}
	if err := c.Fill(t.Context(), w, tables, &progress.Log{Out: io.Discard}).Rest(); err != nil || c.Lacks != "" {
		t.Fatalf("%v, lacks %q", err, c.Lacks)
	}
	for rec, err := range data.Records(t.Context(), w, w.Collections[0], tables, func(data.Row) {}) {
		if err != nil {
			t.Fatal(err)
		}
		key, text := keyed(rec)
		records[key] = text
	}
	return c, records
}

// A record comes back from its series as it was.
func TestPointsComeBack(t *testing.T) {
	c, want := shelved(t)
	n := 0
	for rec, err := range c.All(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		key, got := keyed(rec)
		if got != want[key] {
			t.Fatalf("got %s, want %s", got, want[key])
		}
		n++
	}
	if n != len(want) {
		t.Errorf("%d points, want %d", n, len(want))
	}
}

// A series that has a point twice after the run is found, though no index and no record is wrong.
func TestSeriesAreVerified(t *testing.T) {
	c, _ := shelved(t)
	if err := c.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	other, err := series.Open[point](t.Context(), c.Store.Repo, series.Schema{Collection: c.Names[0], Span: time.Hour, Most: 4})
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range c.shelves[0].All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Append(t.Context(), e.Series, e.Point); err != nil {
			t.Fatal(err)
		}
		break
	}
	err = c.Verify(t.Context())
	if _, ok := errors.AsType[*failure.WrongAnswers](err); !ok || !strings.Contains(err.Error(), "in readings of hours has a point of ") {
		t.Errorf("%v, want that a point is there twice", err)
	}
}
