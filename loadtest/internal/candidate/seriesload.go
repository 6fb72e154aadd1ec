package candidate

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/polystore/polystore/loadtest/internal/data"
	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
)

// Records come in any order, and an append writes its bucket whole. So many are gathered, and appended by their series.
const (
	gatheredPoints = 50_000
	gatheredBytes  = 32 << 20
	appendsAtOnce  = 16
)

// load appends records, and returns how many.
func (s *shelf) load(ctx context.Context, records iter.Seq2[map[string]any, error]) (done int, err error) {
	of, n, bytes := map[string][]point{}, 0, 0
	for rec, err := range records {
		if err != nil {
			return done, err
		}
		name, p := s.point(rec)
		of[name] = append(of[name], p)
		if n, bytes = n+1, bytes+weight(rec); n < gatheredPoints && bytes < gatheredBytes {
			continue
		}
		if err := s.appendAll(ctx, of); err != nil {
			return done, err
		}
		done += n
		of, n, bytes = map[string][]point{}, 0, 0
	}
	err = s.appendAll(ctx, of)
	if err == nil {
		done += n
	}
	return done, err
}

// weight returns about how many bytes a value has.
func weight(v any) (bytes int) {
	const each = 16
	switch v := v.(type) {
	case string:
		return each + len(v)
	case []byte:
		return each + len(v)
	case []any:
		for _, x := range v {
			bytes += weight(x)
		}
	case map[string]any:
		for name, x := range v {
			bytes += len(name) + weight(x)
		}
	}
	return each + bytes
}

// appendAll appends the points of several series, some at the same time.
func (s *shelf) appendAll(ctx context.Context, of map[string][]point) error {
	names := slices.Sorted(maps.Keys(of))
	errs := make([]error, len(names))
	var all sync.WaitGroup
	var next atomic.Int64
	var failed atomic.Bool
	for range min(appendsAtOnce, len(names)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(names) && !failed.Load(); i = int(next.Add(1)) - 1 {
				if errs[i] = s.Append(ctx, names[i], of[names[i]]...); errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	all.Wait()
	return cmp.Or(errs...)
}

// restore makes the series those that were loaded, where they have points with some keys that were not, or lack some.
func (s *shelf) restore(ctx context.Context, w *workload.Workload, tables []*generate.Table, wrong []repo.Key, missing map[string]uint64) error {
	changed := map[string]bool{}
	for _, key := range wrong {
		changed[nameOf(key[:len(key)-1])] = true
	}
	fields := s.of.Keys[s.in.KeyAt[s.of.At]]
	loaded := data.Records(ctx, w, s.of, tables, func(data.Row) {})
	for rec, err := range loaded {
		if err != nil {
			return err
		}
		if _, ok := missing[value.Identity(rec, fields)]; ok {
			name, _ := s.point(rec)
			changed[name] = true
		}
	}
	for name := range changed {
		if _, err := s.Delete(ctx, name, time.Time{}); err != nil {
			return err
		}
	}
	_, err := s.load(ctx, func(yield func(map[string]any, error) bool) {
		for rec, err := range loaded {
			if name, _ := s.point(rec); err == nil && !changed[name] {
				continue
			}
			if !yield(rec, err) {
				return
			}
		}
	})
	return err
}
