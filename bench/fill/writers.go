package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/polystore/polystore/repo"
)

// longest is the longest time that is told from longer ones.
const longest = time.Minute

// A writers is who writes to the posts, at a steady rate.
type writers struct {
	posts    *repo.Repo[post]
	loaded   int
	rate     int // writes a second
	inserted atomic.Int64

	mu    sync.Mutex
	times *hdrhistogram.Histogram
	err   error // the first
}

// A spell is how long writes took, from when each should have begun to its end.
type spell struct {
	writes   int64
	p50, p99 time.Duration
	longest  time.Duration
	loadavg  string
}

// write lets writes begin at the rate for a time, or until it is over, and waits for them. A third each are inserts,
// updates that read the record, and patches.
func (w *writers) write(ctx context.Context, lasts time.Duration, over func() bool) (spell, error) {
	w.times = hdrhistogram.New(1000, int64(longest), 3)
	var under sync.WaitGroup
	began := time.Now()
	for i := 0; ; i++ {
		due := time.Duration(i) * time.Second / time.Duration(w.rate)
		if due >= lasts || over() || ctx.Err() != nil || w.failed() != nil {
			break
		}
		at := began.Add(due)
		time.Sleep(time.Until(at))
		under.Go(func() {
			err := w.one(ctx, i)
			w.note(time.Since(at), err)
		})
	}
	under.Wait()
	h := w.times
	ms := func(percent float64) time.Duration { return time.Duration(h.ValueAtQuantile(percent)) }
	return spell{h.TotalCount(), ms(50), ms(99), time.Duration(h.Max()), loadavg()}, w.err
}

func (w *writers) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *writers) note(took time.Duration, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("a write: %w", err)
	}
	_ = w.times.RecordValue(int64(min(took, longest)))
}

// one does write number i.
func (w *writers) one(ctx context.Context, i int) error {
	key := repo.Key{postID(rand.IntN(w.loaded))}
	switch i % 3 {
	case 0:
		p := newPost(w.loaded + int(w.inserted.Add(1)) - 1)
		return w.posts.Insert(ctx, &p)
	case 1:
		_, err := w.posts.Update(ctx, key, func(p *post) error { p.Title += "."; return nil })
		return err
	}
	_, err := w.posts.Patch(ctx, key, repo.Add("views", 1))
	return err
}
