package repo_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A forgetful store keeps native indexes in which some records are not, and lists them or not.
type forgetful struct {
	driver.Store
	lists bool
	mu    sync.Mutex
	lacks map[string]bool // by partition
	read  func()          // before the entries of an index are read
}

func (s *forgetful) hides(key driver.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lacks[key.Partition]
}

func (s *forgetful) Walk(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
	if !t.Native {
		return s.Store.Walk(ctx, t, mark)
	}
	return func(yield func(driver.Chunk, error) bool) {
		if !s.lists {
			yield(driver.Chunk{}, driver.ErrUnsupported)
			return
		}
		if s.read != nil {
			s.read()
		}
		for chunk, err := range s.Store.Walk(ctx, t, mark) {
			var rows []driver.Row
			for _, row := range chunk.Rows {
				if !s.hides(row.Key) {
					rows = append(rows, row)
				}
			}
			chunk.Rows = rows
			if !yield(chunk, err) {
				return
			}
		}
	}
}

func (s *forgetful) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	if !span.Table.Native {
		return s.Store.Range(ctx, span)
	}
	return func(yield func(*driver.Row, error) bool) {
		if s.read != nil && !s.lists {
			s.read()
		}
		for row, err := range s.Store.Range(ctx, span) {
			if (err != nil || !s.hides(row.Key)) && !yield(row, err) {
				return
			}
		}
	}
}

// songs opens 1000 songs with native indexes on a forgetful store.
func (s *forgetful) songs(t *testing.T, observe func(repo.Event)) *repo.Repo[song] {
	t.Helper()
	s.Store, s.lacks = memory.New(nil), map[string]bool{}
	r, err := repo.Open[song](t.Context(), repo.NewStore(s, &repo.Options{Tracer: ended(observe)}), songSchema("native",
		repo.Index{Name: "by_year", Partition: []string{"genre"}, Sort: []string{"-year"}},
		repo.Index{Name: "by_tag", Partition: []string{"tags[]"}, Sort: []string{"year"}},
		repo.Index{Name: "by_genre", Partition: []string{"genre"}, Sort: []string{"tags[]", "year"}},
		repo.Index{Name: "by_code", Partition: []string{"code"}, Unique: true}))
	if err != nil {
		t.Fatal(err)
	}
	n, err := r.InsertAll(t.Context(), func(yield func(song, error) bool) {
		for i := range 1000 {
			code := fmt.Sprint("c", i)
			m := song{ID: fmt.Sprintf("%04d", i), Genre: fmt.Sprint("g", i%5), Year: int64(i % 70), Tags: []string{fmt.Sprint("t", i%9), "all"}, Code: &code}
			if i%10 == 0 {
				m.Code = nil
			}
			if !yield(m, nil) {
				return
			}
		}
	})
	if n != 1000 || err != nil {
		t.Fatal(n, err)
	}
	return r
}

func reported(t *testing.T, r *repo.Repo[song]) string {
	t.Helper()
	reports, err := r.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, rep := range reports {
		text = append(text, fmt.Sprintf("%s %d/%d-%d", rep.Index, rep.Records, rep.Rows, rep.Missing))
	}
	return strings.Join(text, " ")
}

// Native indexes are compared with their records as a whole, whether the store lists them or
// is asked for each place, and what they lack is counted.
func TestVerifyNative(t *testing.T) {
	for _, lists := range []bool{true, false} {
		requests := 0
		s := &forgetful{lists: lists}
		r := s.songs(t, func(e repo.Event) {
			if e.Op == "verify" {
				requests = e.Requests
			}
		})
		if got, want := reported(t, r), "by_year 1000/1000-0 by_tag 1000/2000-0 by_genre 1000/2000-0 by_code 1000/900-0"; got != want {
			t.Errorf("lists %v: %s, want %s", lists, got, want)
		}
		most := 50
		if !lists {
			most = 1100 // a place for each code
		}
		if requests > most {
			t.Errorf("lists %v: it took %d requests", lists, requests)
		}
		s.lacks["0007#"], s.lacks["0500#"] = true, true
		if got, want := reported(t, r), "by_year 1000/998-2 by_tag 1000/1996-4 by_genre 1000/1996-4 by_code 1000/899-1"; got != want {
			t.Errorf("lists %v, without two records: %s, want %s", lists, got, want)
		}
	}
}

// What others write meanwhile is not missing.
func TestVerifyNativeAmongWriters(t *testing.T) {
	for _, lists := range []bool{true, false} {
		s := &forgetful{lists: lists}
		r := s.songs(t, nil)
		n := 0
		s.read = func() {
			for range 20 {
				n++
				key := repo.Key{fmt.Sprintf("%04d", n*7%1000)}
				if _, err := r.Update(t.Context(), key, func(m *song) error { m.Genre, m.Tags = fmt.Sprint("h", n), []string{fmt.Sprint("u", n)}; return nil }); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := reported(t, r); strings.Count(got, "-0") != 4 || n < 40 {
			t.Errorf("lists %v, %d writes: %s, want that none is missing", lists, n, got)
		}
	}
}
