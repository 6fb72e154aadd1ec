package repo_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A faraway store takes a hundredth of a second for each call, and counts the commits of records
// that are under way.
type faraway struct {
	driver.Store
	under, most atomic.Int64
	fate        func(op *driver.Op) error
}

const farTrip = 10 * time.Millisecond

func (s *faraway) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	time.Sleep(farTrip)
	return s.Store.Get(ctx, t, keys, mask, rows)
}

func (s *faraway) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if ops[0].Table.Class == driver.Records {
		s.most.Store(max(s.most.Load(), s.under.Add(1)))
		defer s.under.Add(-1)
	}
	time.Sleep(farTrip)
	if s.fate != nil {
		if err := s.fate(&ops[0]); err != nil {
			return nil, err
		}
	}
	return s.Store.Commit(ctx, token, ops)
}

// openFar opens members on a far store whose commits change a scope.
func openFar(t *testing.T, scope driver.Scope, schema repo.Schema) (*repo.Repo[member], *faraway) {
	t.Helper()
	s := &faraway{Store: memory.New(&memory.Options{Scope: &scope, Uncertain: true})}
	store := repo.NewStore(s, nil)
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	r, err := repo.Open[member](t.Context(), store, schema)
	if err != nil {
		t.Fatal(err)
	}
	return r, s
}

// numbered yields n members, each as change makes it.
func numbered(n int, change func(i int, m *member)) iter.Seq2[member, error] {
	return func(yield func(member, error) bool) {
		for i := range n {
			m := member{ID: fmt.Sprintf("%03d", i), Team: "red", Score: int64(i)}
			if change != nil {
				change(i, &m)
			}
			if !yield(m, nil) {
				return
			}
		}
	}
}

func countMembers(t *testing.T, r *repo.Repo[member]) (n int) {
	t.Helper()
	for _, err := range r.Scan(t.Context(), repo.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// nativeMembers is memberSchema for a store that changes one record at a time.
var nativeMembers = repo.Schema{Collection: "members", Partition: []string{"id"}, Indexes: []repo.Index{
	{Partition: []string{"team"}, Sort: []string{"score"}, Kind: "native"},
	{Partition: []string{"mail"}, Unique: true, Kind: "native"},
}}

// Records of many partitions are inserted side by side where a commit has those of one only:
// 400 take less than a tenth of the time that they take one after the other.
func TestInsertAllAtOnce(t *testing.T) {
	for _, tt := range []struct {
		scope  driver.Scope
		schema repo.Schema
	}{{driver.ScopePartition, memberSchema}, {driver.ScopeRecord, nativeMembers}} {
		synctest.Test(t, func(t *testing.T) {
			r, s := openFar(t, tt.scope, tt.schema)
			began := time.Now()
			for i := range 10 {
				insertMember(t, r, member{ID: fmt.Sprint("one", i), Team: "red"})
			}
			alone := time.Since(began) / 10
			s.most.Store(0)
			began = time.Now()
			n, err := r.InsertAll(t.Context(), numbered(400, nil))
			if n != 400 || err != nil || countMembers(t, r) != 410 {
				t.Fatalf("%s: InsertAll = %d, %v; there are %d", tt.scope, n, err, countMembers(t, r))
			}
			if took := time.Since(began); took > 400*alone/10 {
				t.Errorf("%s: 400 records took %v, and one by itself %v", tt.scope, took, alone)
			}
			if most := s.most.Load(); most < 20 || most > 64 {
				t.Errorf("%s: %d commits were under way at once, want some dozens", tt.scope, most)
			}
		})
	}
}

// What fails is reported in order, though several are under way, and of two that want the same
// the first of the sequence gets it.
func TestInsertAllAtOnceReports(t *testing.T) {
	for _, tt := range []struct {
		scope  driver.Scope
		schema repo.Schema
	}{{driver.ScopePartition, memberSchema}, {driver.ScopeRecord, nativeMembers}} {
		synctest.Test(t, func(t *testing.T) {
			r, _ := openFar(t, tt.scope, tt.schema)
			insertMember(t, r, member{ID: "150", Team: "blue"})
			n, err := r.InsertAll(t.Context(), numbered(400, func(i int, m *member) {
				switch i {
				case 10, 30, 310:
					m.Mail = mail("a@x")
				case 20:
					m.Note = "\xff"
				case 200:
					m.ID = "007"
				}
			}))
			batch, ok := errors.AsType[*repo.BatchError](err)
			if !ok {
				t.Fatalf("%s: InsertAll = %d, %v; want a BatchError", tt.scope, n, err)
			}
			var got []string
			for _, f := range batch.Failed {
				got = append(got, fmt.Sprint(f.Index, errors.Is(f.Err, repo.ErrExists)))
			}
			if want := "20 false, 30 true, 150 true, 200 true, 310 true"; strings.Join(got, ", ") != want || n != 395 || batch.Done != 395 {
				t.Errorf("%s: %d inserted, failed %q; want 395 and %s", tt.scope, n, got, want)
			}
			if ids := membersOf(t, r, repo.Where("mail", "a@x")); ids != "010" {
				t.Errorf("%s: the value belongs to %q, want the first that came with it", tt.scope, ids)
			}
		})
	}
}

// A store that fails ends it, no matter how many are under way: no record is counted that is
// not there, none is there that is not counted, and each unknown outcome is told.
func TestInsertAllAtOnceEnds(t *testing.T) {
	for _, tt := range []struct {
		kind error
		told string
	}{
		{repo.ErrUnavailable, "record 40: "},
		{repo.ErrUnknownOutcome, "record 40: , record 41: , record 50: "},
	} {
		synctest.Test(t, func(t *testing.T) {
			r, s := openFar(t, driver.ScopePartition, memberSchema)
			bad := map[string]bool{"040#": true, "041#": true, "050#": true}
			var over atomic.Bool // what cleans up may still be under way then
			s.fate = func(op *driver.Op) error {
				if !over.Load() && op.Table.Class == driver.Records && bad[op.Row.Key.Partition] {
					return fmt.Errorf("the test says so: %w", tt.kind)
				}
				return nil
			}
			n, err := r.InsertAll(t.Context(), numbered(400, nil))
			over.Store(true)
			if !errors.Is(err, tt.kind) || n == 0 || n > 300 || n != countMembers(t, r) {
				t.Fatalf("InsertAll = %d, %v; there are %d", n, err, countMembers(t, r))
			}
			for _, told := range strings.Split(tt.told, ", ") {
				if !strings.Contains(err.Error(), told) {
					t.Errorf("the error does not say %q: %v", told, err)
				}
			}
			if e, ok := errors.AsType[*repo.Error](err); !ok || e.Retryable || (e.Outcome != nil) != (tt.kind == repo.ErrUnknownOutcome) {
				t.Errorf("the error is %#v", e)
			}
		})
	}
}

// Large records are not gathered by the hundreds.
func TestInsertAllGathersSoMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := openFar(t, driver.ScopePartition, memberSchema)
		var taken, first atomic.Int64
		s.fate = func(*driver.Op) error {
			first.CompareAndSwap(0, taken.Load())
			return nil
		}
		n, err := r.InsertAll(t.Context(), numbered(100, func(_ int, m *member) {
			m.Note = strings.Repeat("x", 1<<18)
			taken.Add(1)
		}))
		if n != 100 || err != nil || first.Load() > 33 {
			t.Errorf("InsertAll = %d, %v; %d records of 256 KiB were taken before the first commit", n, err, first.Load())
		}
	})
}

// Records that no commit can have do not go on for ever: the end of the context ends them, and the report
// keeps some.
func TestInsertAllOfBadRecordsEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, _ := openFar(t, driver.ScopeStore, memberSchema)
	seen := 0
	n, err := r.InsertAll(ctx, func(yield func(member, error) bool) {
		for seen = 0; yield(member{ID: "\xff"}, nil); seen++ {
			if seen == 5000 {
				cancel()
			}
			if seen == 10_000 {
				return
			}
		}
	})
	batch, ok := errors.AsType[*repo.BatchError](err)
	if n != 0 || !errors.Is(err, repo.ErrTimeout) || !ok || len(batch.Failed) != 100 || seen >= 10_000 {
		t.Errorf("InsertAll = %d, %v after %d records; want ErrTimeout and a BatchError", n, err, seen)
	}
}
