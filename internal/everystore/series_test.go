package everystore

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/series"
)

type reading struct {
	At    time.Time `repo:"at"`
	Value int64     `repo:"value"`
}

func (r reading) Time() time.Time { return r.At }

// Several programs append points of one span at once, late ones too: all are there, in order.
func TestSeries(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		const programs, each = 3, 15
		var all sync.WaitGroup
		for p := range programs {
			c := good(series.Open[reading](t.Context(), store, series.Schema{Collection: "readings", Span: 20 * time.Millisecond, Most: 10}))(t)
			all.Go(func() {
				for n := range each {
					ms := int64(programs*(each-n) + p)
					if err := c.Append(t.Context(), "s", reading{time.UnixMilli(ms).UTC(), ms}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		c := good(series.Open[reading](t.Context(), store, series.Schema{Collection: "readings", Span: 20 * time.Millisecond, Most: 10}))(t)
		list := good(repo.Collect(c.Range(t.Context(), "s", time.Time{}, time.Time{})))(t)
		for i, r := range list {
			if r.Value != int64(programs+i) {
				t.Fatalf("the points are %v", list)
			}
		}
		newest := good(c.Newest(t.Context(), "s", 2))(t)
		if len(list) != programs*each || fmt.Sprint(newest[0].Value, newest[1].Value) != "47 46" {
			t.Errorf("%d points, the newest are %v", len(list), newest)
		}
	})
}

// Of the points that several programs append at one time at once, one is added where points are Unique; and what is read
// backward is what is read forward.
func TestUniqueSeries(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		const programs, each = 3, 12
		schema := series.Schema{Collection: "unique", Span: 20 * time.Millisecond, Most: 4, Unique: true}
		var all sync.WaitGroup
		var added atomic.Int64
		for p := range programs {
			c := good(series.Open[reading](t.Context(), store, schema))(t)
			all.Go(func() {
				for n := range each {
					ms := int64((n + p) % each * 3)
					switch err := c.Append(t.Context(), "s", reading{time.UnixMilli(ms).UTC(), ms}); {
					case err == nil:
						added.Add(1)
					case !errors.Is(err, repo.ErrExists):
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		c := good(series.Open[reading](t.Context(), store, schema))(t)
		list := good(repo.Collect(c.Range(t.Context(), "s", time.Time{}, time.Time{})))(t)
		back := good(repo.Collect(c.Backward(t.Context(), "s", time.Time{}, time.Time{})))(t)
		slices.Reverse(back)
		if len(list) != each || added.Load() != each || !slices.Equal(list, back) {
			t.Errorf("%d were added, of %d times; the points are %v, and backward %v", added.Load(), each, list, back)
		}
	})
}
