package pebble_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/repo/driver"
)

// queue makes a partition of n notes, of which it deletes some at the front of their order, and
// returns the span of the first 20.
func queue(t testing.TB, s *pebble.Store, tables []*driver.Table, n, deleted int) driver.Span {
	t.Helper()
	for from := 0; from < n; from += 1000 {
		var puts, gone []driver.Op
		for i := from; i < from+1000; i++ {
			key := driver.Key{Partition: "queue#", Sort: fmt.Sprintf("%08d#", i)}
			puts = append(puts, driver.Op{Do: driver.Put, Table: tables[0], If: driver.Absent, Row: driver.Row{Key: key, Fields: []driver.Value{driver.StringValue("text")}}})
			if i < deleted {
				gone = append(gone, driver.Op{Do: driver.Delete, Table: tables[0], Row: driver.Row{Key: key}})
			}
		}
		mustCommit(t, s, puts)
		if len(gone) > 0 {
			mustCommit(t, s, gone)
		}
	}
	return driver.Span{Table: tables[0], Key: driver.Key{Partition: "queue#"}, Limit: 20}
}

func sortsOf(t testing.TB, s driver.Store, span driver.Span) (sorts []string) {
	t.Helper()
	for row, err := range s.Range(context.Background(), span) {
		if err != nil {
			t.Fatal(err)
		}
		sorts = append(sorts, row.Key.Sort)
	}
	return sorts
}

func passed(t testing.TB, s *pebble.Store, span driver.Span) int {
	t.Helper()
	n, err := s.Passed(span)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Who reads behind much that was deleted does so once: what a scan, or a count, has passed is
// compacted, in either direction.
func TestDeletedIsCompacted(t *testing.T) {
	t.Parallel()
	const n, deleted = 12_000, 10_000
	for name, read := range map[string]func(*testing.T, *pebble.Store, driver.Span) []string{
		"forwards": func(t *testing.T, s *pebble.Store, span driver.Span) []string { return sortsOf(t, s, span) },
		"backwards": func(t *testing.T, s *pebble.Store, span driver.Span) []string {
			span.To, span.Reverse = fmt.Sprintf("%08d#", deleted+20), true
			span.Limit = 0
			sorts := sortsOf(t, s, span)
			slices.Reverse(sorts)
			return sorts
		},
		"count": func(t *testing.T, s *pebble.Store, span driver.Span) []string {
			if count, err := s.Count(t.Context(), span); count != 20 || err != nil {
				t.Errorf("count = %d, %v", count, err)
			}
			return sortsOf(t, s, span)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tables := noteTables()
			s := mustOpen(t, "", &pebble.Options{InMemory: true}, tables)
			span := queue(t, s, tables, n, deleted)
			if before := passed(t, s, span); before < deleted || s.Tidied() {
				t.Fatalf("the first rows lie behind %d entries, tidied %v: nothing was deleted that could be compacted", before, s.Tidied())
			}
			want := read(t, s, span)
			if len(want) != 20 || want[0] != fmt.Sprintf("%08d#", deleted) {
				t.Fatalf("the first rows are %q", want)
			}
			for began := time.Now(); passed(t, s, span) > 200; time.Sleep(10 * time.Millisecond) {
				if time.Since(began) > time.Minute {
					t.Fatalf("after a minute the first rows lie behind %d entries", passed(t, s, span))
				}
			}
			if got := read(t, s, span); !slices.Equal(got, want) {
				t.Errorf("after the compaction the first rows are %q, want %q", got, want)
			}
		})
	}
}

// A span in which rows are left, or in which little was deleted, is left alone.
func TestLittleIsNotCompacted(t *testing.T) {
	t.Parallel()
	tables := noteTables()
	s := mustOpen(t, "", &pebble.Options{InMemory: true}, tables)
	span := queue(t, s, tables, 12_000, 1000)
	sortsOf(t, s, span)
	span.Limit = 0
	sortsOf(t, s, span)
	if s.Tidied() {
		t.Error("a compaction began for 1,000 deleted rows before 11,000 others")
	}
}

// Close ends a compaction, and none begins after it.
func TestCloseEndsCompaction(t *testing.T) {
	t.Parallel()
	for range 10 {
		tables := noteTables()
		s := mustOpen(t, "", &pebble.Options{InMemory: true}, tables)
		sortsOf(t, s, queue(t, s, tables, 5000, 4000))
		if !s.Tidied() {
			t.Fatal("no compaction began")
		}
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

// BenchmarkOldestAfterDeletes reads the 20 oldest rows behind 50,000 that were deleted: as they
// were deleted, and when a read has had them compacted.
func BenchmarkOldestAfterDeletes(b *testing.B) {
	for _, tidied := range []bool{false, true} {
		b.Run(fmt.Sprintf("compacted=%v", tidied), func(b *testing.B) {
			tables := noteTables()
			s := mustOpen(b, b.TempDir(), &pebble.Options{NoSync: true}, tables)
			span := queue(b, s, tables, 60_000, 50_000)
			if !tidied {
				s.LeaveUntidied()
			}
			sortsOf(b, s, span)
			for tidied && passed(b, s, span) > 200 {
				time.Sleep(time.Millisecond)
			}
			b.ReportAllocs()
			for b.Loop() {
				if sorts := sortsOf(b, s, span); len(sorts) != 20 {
					b.Fatalf("%d rows", len(sorts))
				}
			}
		})
	}
}
