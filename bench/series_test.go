package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/series"
)

// A reading is a point of a series.
type reading struct {
	At    time.Time `repo:"at"`
	Value float64   `repo:"value"`
}

func (r reading) Time() time.Time { return r.At }

// A readings is the bucket that one keeps by hand.
type readings struct {
	Series string    `repo:"series"`
	Start  time.Time `repo:"start"`
	Points []reading `repo:"points"`
}

// BenchmarkSeriesAppend appends points to series and, by turns, to buckets by one patch each, both of 200 points when
// they are full, and says how much dearer the one is.
func BenchmarkSeriesAppend(b *testing.B) {
	const full = 200
	store, err := backends.Open(b.Context(), "pebble:"+b.TempDir()+"?sync=false", nil)
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	ours, err := series.Open[reading](b.Context(), store, series.Schema{Collection: "ours", Span: full * time.Second})
	if err != nil {
		b.Fatal(err)
	}
	byHand, err := repo.Open[readings](b.Context(), store, repo.Schema{Collection: "by_hand", Partition: []string{"series"}, Sort: []string{"-start"}})
	if err != nil {
		b.Fatal(err)
	}
	var with, without time.Duration
	b.ResetTimer()
	for i := range b.N {
		at := func(second int) time.Time { return time.Unix(1_800_000_000+int64(second), 0).UTC() }
		name, p, start := fmt.Sprint("sensor", i%20), reading{at(i / 20), float64(i)}, at(i/20/full*full)
		began := time.Now()
		err := ours.Append(b.Context(), name, p)
		between := time.Now()
		if err == nil && p.At.Equal(start) {
			err = byHand.Insert(b.Context(), &readings{name, start, []reading{p}})
		} else if err == nil {
			_, err = byHand.Patch(b.Context(), repo.Key{name, start}, repo.Push("points", 0, p))
		}
		with, without = with+between.Sub(began), without+time.Since(between)
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(without.Nanoseconds())/float64(b.N), "patch-ns/op")
	b.ReportMetric(float64(with)/float64(without), "ratio")
}
