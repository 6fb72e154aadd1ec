package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repotest"
)

// A visits is a counter.
type visits struct {
	Page string `repo:"page"`
	N    int64  `repo:"n"`
}

const countedPages = 100

// openVisits opens counters of 100 pages, which are there, and a count of requests.
func openVisits(b *testing.B, open func(*repo.Options) *repo.Store) (*repo.Repo[visits], *atomic.Int64) {
	b.Helper()
	var requests atomic.Int64
	store := open(&repo.Options{Tracer: repo.Tracer{Begin: func(ctx context.Context, _ repo.Event) (context.Context, func(repo.Event)) {
		return ctx, func(e repo.Event) { requests.Add(int64(e.Requests)) }
	}}})
	r, err := repo.Open[visits](b.Context(), store, repo.Schema{Collection: "visits", Partition: []string{"page"}})
	for i := range countedPages {
		if err == nil {
			err = r.Insert(b.Context(), &visits{Page: fmt.Sprint("page", i)})
		}
	}
	if err != nil {
		b.Fatal(err)
	}
	return r, &requests
}

// measureCounts counts by some ways, by turns, and says what each took of each count.
func measureCounts(b *testing.B, r *repo.Repo[visits], requests *atomic.Int64, ways map[string]func(page string) error) {
	ways["patch"] = func(page string) error {
		_, err := r.Patch(b.Context(), repo.Key{page}, repo.Add("n", 1))
		return err
	}
	ways["blind"] = func(page string) error {
		_, err := r.PatchBlind(b.Context(), repo.Key{page}, repo.Add("n", 1))
		return err
	}
	took, sent := map[string]time.Duration{}, map[string]int64{}
	b.ResetTimer()
	for i := range b.N {
		for name, way := range ways {
			before, began := requests.Load(), time.Now()
			if err := way(fmt.Sprint("page", i%countedPages)); err != nil {
				b.Fatal(err)
			}
			took[name] += time.Since(began)
			sent[name] += requests.Load() - before
		}
	}
	for name := range ways {
		b.ReportMetric(float64(took[name].Nanoseconds())/float64(b.N), name+"-ns/op")
	}
	for _, name := range []string{"patch", "blind"} {
		b.ReportMetric(float64(sent[name])/float64(b.N), name+"-requests")
	}
}

// BenchmarkCounter counts on Pebble, and on Redis beside INCR and HINCRBY by hand.
func BenchmarkCounter(b *testing.B) {
	b.Run("pebble", func(b *testing.B) {
		url := "pebble:" + b.TempDir() + "?sync=false"
		r, requests := openVisits(b, func(opts *repo.Options) *repo.Store {
			store, err := backends.Open(b.Context(), url, opts)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { store.Close() })
			return store
		})
		measureCounts(b, r, requests, map[string]func(string) error{})
	})
	b.Run("redis", func(b *testing.B) {
		url := testserver.Shared(b, testserver.Redis).URL
		r, requests := openVisits(b, func(opts *repo.Options) *repo.Store {
			return repo.NewStore(repotest.Isolated(b, url, backends.OpenDriver, nil), opts)
		})
		opts, err := goredis.ParseURL(url)
		if err != nil {
			b.Fatal(err)
		}
		client := goredis.NewClient(opts)
		defer client.Close()
		prefix := fmt.Sprint("visits:", time.Now().UnixNano(), ":")
		measureCounts(b, r, requests, map[string]func(string) error{
			"incr":    func(page string) error { return client.Incr(b.Context(), prefix+page).Err() },
			"hincrby": func(page string) error { return client.HIncrBy(b.Context(), prefix+"all", page, 1).Err() },
		})
	})
}
