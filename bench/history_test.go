package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/history"
)

// BenchmarkHistory puts records with and without a history, by turns, and says how much dearer the one is.
func BenchmarkHistory(b *testing.B) {
	for name, open := range map[string]func(dir string) (driver.Store, error){
		"memory": func(string) (driver.Store, error) { return memory.New(nil), nil },
		"nosync": func(dir string) (driver.Store, error) { return pebble.Open(dir, &pebble.Options{NoSync: true}) },
		"fsync":  func(dir string) (driver.Store, error) { return pebble.Open(dir, nil) },
	} {
		b.Run(name, func(b *testing.B) {
			backend, err := open(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			store := repo.NewStore(backend, nil)
			defer store.Close()
			plain, err := repo.Open[post](b.Context(), store, repo.Schema{Collection: "plain", Partition: []string{"author"}, Sort: []string{"id"}})
			if err != nil {
				b.Fatal(err)
			}
			h, err := history.Open[post](b.Context(), store, repo.Schema{Collection: "kept", Partition: []string{"author"}, Sort: []string{"id"}},
				history.Keep{Revisions: 10})
			if err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			var without, with time.Duration
			for i := range b.N {
				p := post{Author: fmt.Sprint("author", i%100), ID: fmt.Sprint(i / 100 % 10)}
				q, began := p, time.Now()
				err := plain.Put(b.Context(), &p)
				between := time.Now()
				if err == nil {
					err = h.Put(b.Context(), &q)
				}
				without, with = without+between.Sub(began), with+time.Since(between)
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(without.Nanoseconds())/float64(b.N), "plain-ns/op")
			b.ReportMetric(float64(with)/float64(without), "ratio")
		})
	}
}
