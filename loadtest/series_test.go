package loadtest

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/repo/driver"
)

// A collection as series has the answers of records, and reads fewer rows.
func TestSeries(t *testing.T) {
	s := newWatched()
	result, err := Run(t.Context(), mustParse(t, testload.Series), options(s))
	if err != nil {
		t.Fatal(err)
	}
	s.check(t)
	checkReport(t, result)
	if len(result.Candidates) != 4 || len(result.NotThere) != 0 || result.Compared < 800 {
		t.Fatalf("%d candidates, %d not there, %d calls compared", len(result.Candidates), len(result.NotThere), result.Compared)
	}
	rows := map[string]float64{}
	for _, c := range result.Candidates {
		for _, q := range c.Queries {
			if q.Name == "half a day" {
				rows[c.Name] = q.RowsEach
			}
			if taken := q.Name == "taken"; q.SampledCalls == 0 || (q.SampledNoEffect > 0) != taken && q.Name != "behind one" && q.Name != "pages on" && q.Name != "a day backward" {
				t.Errorf("%s: %s: %d of %d sampled calls did nothing", c.Name, q.Name, q.SampledNoEffect, q.SampledCalls)
			}
		}
		if c.Failures > 0 || c.RecordBytes <= 0 || c.IndexBytes != 0 {
			t.Errorf("%s: %d failures (%s), %d bytes of records, %d of indexes", c.Name, c.Failures, c.Failure, c.RecordBytes, c.IndexBytes)
		}
	}
	if rows["days"] > 2 || rows["records"] < 4 || rows["hours"] > 13 {
		t.Errorf("rows read for half a day: %v", rows)
	}
}

// A muddled store changes the points of the buckets that ranges of the second candidate yield.
type muddled struct {
	*watched
	spoil func(points []driver.Value) []driver.Value
}

func (s *muddled) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	if !strings.Contains(span.Table.Name, "02_readings") {
		return s.watched.Range(ctx, span)
	}
	return func(yield func(*driver.Row, error) bool) {
		for row, err := range s.watched.Range(ctx, span) {
			if err == nil {
				other := copied(row)
				row = &other
				for i, v := range row.Fields {
					if v.Kind() == driver.List {
						row.Fields[i] = driver.ListValue(s.spoil(slices.Clone(v.List())))
					}
				}
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// Whatever is wrong with the points of a bucket is found when answers are compared.
func TestWrongAnswersOfSeriesAreFound(t *testing.T) {
	from := strings.Index(testload.Series, "queries:")
	for _, tt := range []struct {
		name  string
		kind  string
		spoil func([]driver.Value) []driver.Value
		want  string
	}{
		{"a point is missing", "find, order: [at]", func(list []driver.Value) []driver.Value { return list[1:] }, "; only the first has "},
		{"a point is there twice", "count", func(list []driver.Value) []driver.Value { return append(list, list[0]) }, "one finds "},
		{"a value is another", "find, order: [-at], limit: 3", func(list []driver.Value) []driver.Value {
			for n := range list {
				flat := slices.Clone(list[n].List())
				for i := range flat {
					if flat[i].Kind() == driver.Float {
						flat[i] = driver.FloatValue(7)
					}
				}
				list[n] = driver.MapValue(flat)
			}
			return list
		}, "they differ in records "},
		{"nothing is wrong", "find, order: [at]", func(list []driver.Value) []driver.Value { return list }, ""},
	} {
		s := &muddled{watched: newWatched(), spoil: tt.spoil}
		text := testload.Series[:from] + "queries:\n  - {name: asked, weight: 100, where: {site: $, device: $}, kind: " + tt.kind + "}\n" +
			"models:\n  - {name: right}\n  - {name: wrong, collections: {readings: {series: {span: 24h}}}}\n"
		_, err := Run(t.Context(), mustParse(t, text), options(s))
		_, wrong := errors.AsType[*failure.WrongAnswers](err)
		if wrong != (tt.want != "") || wrong && (!strings.Contains(err.Error(), "right and wrong: ") || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

// A point that was acknowledged during the rounds and is lost is found after them, where there is one model, and nothing to
// compare it with. The control is the same workload on a store that loses nothing.
func TestLostPoints(t *testing.T) {
	from := strings.Index(testload.Series, "queries:")
	text := testload.Series[:from] + "queries:\n  - {name: one, weight: 50, kind: get}\n  - {name: new, weight: 50, kind: insert}\n" +
		"models:\n  - {name: days, collections: {readings: {series: {span: 24h}}}}\n"
	for _, loses := range []bool{true, false} {
		s := &forgetting{watched: newWatched()}
		if loses {
			s.left.Store(2)
		}
		opts := options(s)
		opts.Terminal, opts.Log = true, writerFunc(func(p []byte) (int, error) {
			if strings.Contains(string(p), "round 1 of ") {
				s.on.Store(true)
			}
			return len(p), nil
		})
		_, err := Run(t.Context(), mustParse(t, text), opts)
		_, wrong := errors.AsType[*failure.WrongAnswers](err)
		if wrong != loses || wrong && !strings.Contains(err.Error(), "is missing; it was acknowledged") || !loses && err != nil {
			t.Errorf("loses %v: %v", loses, err)
		}
		s.check(t)
	}
}

// A forgetting store acknowledges one commit of buckets during the rounds that it does not do.
type forgetting struct {
	*watched
	on   atomic.Bool
	left atomic.Int64 // commits until that one
}

func (s *forgetting) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	buckets := slices.ContainsFunc(ops, func(op driver.Op) bool { return strings.HasSuffix(op.Table.Name, "readings") })
	if s.on.Load() && buckets && s.left.Add(-1) == 0 {
		return nil, nil
	}
	return s.watched.Commit(ctx, token, ops)
}

// What series are kept is put back as it was loaded, so that later runs take it; other buckets are another layout.
func TestKeptSeries(t *testing.T) {
	s := lasting{newWatched()}
	text := testload.Series[:strings.Index(testload.Series, "queries:")] + "queries:\n  - {name: one, weight: 50, kind: get}\n  - {name: new, weight: 50, kind: insert}\n" +
		"models:\n  - {name: hours, collections: {readings: {series: {span: 1h, most: 4}}}}\n"
	holds(t, keeping(t, s, text, keep), []string{"load readings into hours", "kept hours: load_"}, []string{"not for --reuse"})
	for range 2 {
		holds(t, keeping(t, s, text, reuse), []string{"reuse hours, loaded on "}, []string{"load readings", "not for --reuse"})
	}
	for _, other := range []string{"span: 2h, most: 4", "span: 1h, most: 5"} {
		holds(t, keeping(t, s, strings.Replace(text, "span: 1h, most: 4", other, 1), reuse), []string{"the model keeps its collections in another way now", "load readings"}, nil)
	}
	log := keeping(t, s, strings.Replace(text, "series: {span: 1h, most: 4}", "sort: [-at]", 1), reuse)
	holds(t, log, []string{"the model keeps its collections in another way now"}, nil)
}

// Buckets that are too large for a record are not there, with the remedy, and the other models are measured.
func TestSeriesOfLargePoints(t *testing.T) {
	text := strings.Replace(testload.Series[:strings.Index(testload.Series, "queries:")], "{words: {min: 1, max: 3}, missing: 0.5}", "{text: {size: 110000}}", 1) +
		"queries:\n  - {name: one, weight: 100, kind: get}\nmodels:\n  - {name: hours, collections: {readings: {series: {span: 1h}}}}\n" +
		"  - {name: all, collections: {readings: {series: {span: 1000h, most: 50}}}}\n"
	result, err := Run(t.Context(), mustParse(t, text), options(newWatched()))
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Candidates) != 1 || len(result.NotThere) != 1 || result.NotThere[0].Reason != "readings: a bucket of 50 points is too large for a record; let it have fewer: most: 25" {
		t.Errorf("%d candidates, not there %+v", len(result.Candidates), result.NotThere)
	}
}

// What is known of series before anything is loaded is of their buckets, and that they answer all queries.
func TestCheckedSeries(t *testing.T) {
	file := filepath.Join(t.TempDir(), "series.yaml")
	if err := os.WriteFile(file, []byte(testload.Series), 0o600); err != nil {
		t.Fatal(err)
	}
	var keys []string
	layouts, err := Layouts(file)
	for _, l := range layouts {
		keys = append(keys, strings.Join(l.Schemas[0].Partition, " "))
	}
	if want := []string{"site device", "site device", "series", "series"}; err != nil || !slices.Equal(keys, want) {
		t.Errorf("%v, %v, want %v", keys, err, want)
	}
	s := newWatched()
	list, err := Check(t.Context(), file, options(s).Open, []driver.Facts{s.Facts()})
	if err != nil || len(list) > 0 {
		t.Errorf("%v, %v; want that all is well", list, err)
	}
}
