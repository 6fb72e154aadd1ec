package repo_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A tardy store takes its time once, over the next call with a context of slowly or one
// after it: before it does it, or before it answers.
type tardy struct {
	driver.Store
	mu     sync.Mutex
	skip   int  // calls, before that
	again  bool // it always does
	before func()
	after  func()
}

type slowly struct{}

func (s *tardy) take(ctx context.Context, hook *func()) {
	s.mu.Lock()
	do := *hook
	if ctx.Value(slowly{}) == nil {
		do = nil
	}
	if do != nil {
		if s.skip--; s.skip >= 0 {
			do = nil
		} else if !s.again {
			*hook = nil
		}
	}
	s.mu.Unlock()
	if do != nil {
		do()
	}
}

func (s *tardy) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	s.take(ctx, &s.before)
	err := s.Store.Get(ctx, t, keys, mask, rows)
	s.take(ctx, &s.after)
	return err
}

func (s *tardy) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	s.take(ctx, &s.before)
	refusal, err := s.Store.Commit(ctx, token, ops)
	s.take(ctx, &s.after)
	return refusal, err
}

func (s *tardy) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		s.take(ctx, &s.before)
		var rows []driver.Row
		for row, err := range s.Store.Range(ctx, span) {
			if err != nil {
				yield(nil, err)
				return
			}
			rows = append(rows, *row)
			rows[len(rows)-1].Fields = slices.Clone(row.Fields)
		}
		s.take(ctx, &s.after)
		for i := range rows {
			if !yield(&rows[i], nil) {
				return
			}
		}
	}
}

func (s *tardy) Walk(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
	return func(yield func(driver.Chunk, error) bool) {
		s.take(ctx, &s.before)
		for chunk, err := range s.Store.Walk(ctx, t, mark) {
			s.take(ctx, &s.after)
			if !yield(chunk, err) {
				return
			}
		}
	}
}

type ticket struct {
	Show string    `repo:"show"`
	ID   string    `repo:"id"`
	Seat *string   `repo:"seat"`
	Kind string    `repo:"kind"`
	Ends time.Time `repo:",expires"`
}

type ticketKind struct {
	ID   string `repo:"id"`
	Kind string `repo:"kind"`
}

var ticketSchema = repo.Schema{Collection: "tickets", Partition: []string{"show"}, Sort: []string{"id"}, Indexes: []repo.Index{
	{Name: "by_kind", Partition: []string{"kind"}, Sort: []string{"id"}},
	{Name: "near", Partition: []string{"show"}, Sort: []string{"kind"}, Covers: []string{"kind"}},
	{Name: "by_seat", Partition: []string{"seat"}, Unique: true},
}}

type ticketCall func(context.Context) (there bool, err error)

// ticketCalls are calls that say whether there is the ticket x/a, with the seat s.
func ticketCalls(t *testing.T, r *repo.Repo[ticket]) map[string]ticketCall {
	t.Helper()
	all := ticketReads(r)
	maps.Copy(all, ticketLists(t, r))
	maps.Copy(all, ticketWrites(r))
	return all
}

func unless(absent, err error) (bool, error) {
	if errors.Is(err, absent) {
		return false, nil
	}
	return err == nil, err
}

func ticketReads(r *repo.Repo[ticket]) map[string]ticketCall {
	key := repo.Key{"x", "a"}
	return map[string]ticketCall{
		"get": func(ctx context.Context) (bool, error) {
			_, err := r.Get(ctx, key)
			return unless(repo.ErrNotFound, err)
		},
		"exists": func(ctx context.Context) (bool, error) { return r.Exists(ctx, key) },
		"get many": func(ctx context.Context) (bool, error) {
			_, ok, err := r.GetMany(ctx, []repo.Key{{"x", "b"}, key})
			return err == nil && ok[1], err
		},
		"one": func(ctx context.Context) (bool, error) {
			_, err := r.One(ctx, repo.Where("seat", "s"))
			return unless(repo.ErrNotFound, err)
		},
		"walk": func(ctx context.Context) (there bool, err error) {
			for chunk, err := range r.Walk(ctx, "") {
				if err != nil {
					return false, err
				}
				there = there || len(chunk.Items) > 0
			}
			return there, nil
		},
	}
}

func ticketLists(t *testing.T, r *repo.Repo[ticket]) map[string]ticketCall {
	t.Helper()
	kinds, err := repo.ViewOf[ticketKind](r)
	if err != nil {
		t.Fatal(err)
	}
	all, near, far := repo.Where("show", "x"), repo.Where("show", "x").Order("kind"), repo.Where("kind", "k")
	find := func(q repo.Query) ticketCall {
		return func(ctx context.Context) (bool, error) { return anyOf(r.Find(ctx, q)) }
	}
	count := func(q repo.Query) ticketCall {
		return func(ctx context.Context) (bool, error) {
			n, err := r.Count(ctx, q)
			return n > 0, err
		}
	}
	return map[string]ticketCall{
		"find":                    find(all),
		"backwards, with a limit": find(repo.Where("show", "x").Order("-id").Limit(1)),
		"by an index":             find(far),
		"by an index near":        find(near),
		"what an index covers":    func(ctx context.Context) (bool, error) { return anyOf(kinds.Find(ctx, near)) },
		"count":                   count(all),
		"count by an index":       count(near),
		"keys":                    func(ctx context.Context) (bool, error) { return anyOf(r.Keys(ctx, far)) },
		"scan":                    func(ctx context.Context) (bool, error) { return anyOf(r.Scan(ctx, far)) },
		"page": func(ctx context.Context) (bool, error) {
			p, err := r.Page(ctx, near, "")
			return len(p.Items) > 0, err
		},
	}
}

func anyOf[T any](seq iter.Seq2[T, error]) (bool, error) {
	list, err := repo.Collect(seq)
	return len(list) > 0, err
}

func ticketWrites(r *repo.Repo[ticket]) map[string]ticketCall {
	seat := "s"
	insert := func(rec ticket) ticketCall {
		return func(ctx context.Context) (bool, error) {
			free, err := unless(repo.ErrExists, r.Insert(ctx, &rec))
			return !free, err
		}
	}
	return map[string]ticketCall{
		"update": func(ctx context.Context) (bool, error) {
			_, err := r.Update(ctx, repo.Key{"x", "a"}, func(*ticket) error { return nil })
			return unless(repo.ErrNotFound, err)
		},
		"replace": func(ctx context.Context) (bool, error) {
			return unless(repo.ErrNotFound, r.Replace(ctx, &ticket{Show: "x", ID: "a", Kind: "new"}))
		},
		"insert":                       insert(ticket{Show: "x", ID: "a", Kind: "new"}),
		"insert another with its seat": insert(ticket{Show: "x", ID: "b", Kind: "new", Seat: &seat}),
	}
}

// A call may last as long as a record, and longer. A record that was written when it had
// expired is not there at any time, and one that another writer lets live on always is.
func TestExpiryDuringACall(t *testing.T) {
	record, partition := driver.ScopeRecord, driver.ScopePartition
	for name, opts := range map[string]memory.Options{
		"in one commit": {}, "in another partition": {Scope: &partition, Uncertain: true}, "native": {Scope: &record, Native: true},
	} {
		for call := range ticketCalls(t, openTickets(t, memory.New(nil), time.Now)) {
			for _, tt := range expiryTests {
				for skip := range tt.calls {
					t.Run(fmt.Sprintf("%s/%s/%s, call %d", name, call, tt.name, skip), func(t *testing.T) {
						c := newExpiring(t, &opts)
						tt.arrange(t, c)
						c.store.skip = skip
						c.want(t, call, tt.there)
						if asked := c.store.before == nil && c.store.after == nil; skip == 0 && !asked {
							t.Error("the store was not asked")
						}
					})
				}
			}
		}
	}
}

var expiryTests = []struct {
	name    string
	calls   int // in how many of its first calls the store may be slow
	arrange func(t *testing.T, c *expiring)
	there   bool
}{
	{"written when it had expired", 4, func(t *testing.T, c *expiring) {
		c.store.before = func() {
			c.pass(2 * time.Hour)
			c.put(t, -time.Hour)
		}
	}, false},
	{"expired, and written anew", 1, func(t *testing.T, c *expiring) {
		c.put(t, time.Hour)
		c.store.before = func() {
			c.pass(2 * time.Hour)
			c.put(t, -time.Hour)
		}
	}, false},
	{"expired before it was read", 1, func(t *testing.T, c *expiring) {
		c.put(t, time.Hour)
		c.store.before = func() { c.pass(2 * time.Hour) }
	}, false},
	{"renewed after it was read", 4, func(t *testing.T, c *expiring) {
		c.put(t, time.Hour)
		c.store.after = func() {
			c.put(t, 5*time.Hour)
			c.pass(2 * time.Hour)
		}
	}, true},
	{"renewed before it was read", 4, func(t *testing.T, c *expiring) {
		c.put(t, time.Hour)
		c.store.before = func() {
			c.put(t, 5*time.Hour)
			c.pass(2 * time.Hour)
		}
	}, true},
}

// An expiring is a store that takes its time, and another writer on it.
type expiring struct {
	store *tardy
	ms    atomic.Int64 // the time
	r     *repo.Repo[ticket]
	other *repo.Repo[ticket]
}

func openTickets(t *testing.T, s driver.Store, now func() time.Time) *repo.Repo[ticket] {
	t.Helper()
	store := repo.NewStore(s, &repo.Options{Now: now})
	r, err := repo.Open[ticket](t.Context(), store, ticketSchema)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newExpiring(t *testing.T, opts *memory.Options) *expiring {
	t.Helper()
	c := &expiring{store: &tardy{Store: memory.New(opts)}}
	c.pass(1_000_000 * time.Second)
	c.r, c.other = openTickets(t, c.store, c.now), openTickets(t, c.store.Store, c.now)
	return c
}

func (c *expiring) now() time.Time { return time.UnixMilli(c.ms.Load()) }

func (c *expiring) pass(d time.Duration) { c.ms.Add(d.Milliseconds()) }

// put writes the ticket, which expires after a time from now.
func (c *expiring) put(t *testing.T, after time.Duration) {
	t.Helper()
	seat := "s"
	if err := c.other.Put(t.Context(), &ticket{Show: "x", ID: "a", Kind: "k", Seat: &seat, Ends: c.now().Add(after)}); err != nil {
		t.Fatal(err)
	}
}

func (c *expiring) want(t *testing.T, call string, want bool) {
	t.Helper()
	if there, err := ticketCalls(t, c.r)[call](context.WithValue(t.Context(), slowly{}, true)); err != nil || there != want {
		t.Errorf("the record is there: %v, %v; want %v", there, err, want)
	}
}

// Records that have expired take no place among those of queries that are asked together, whatever these differ in.
func TestFindManyAmongExpired(t *testing.T) {
	r, err := repo.Open[ticket](t.Context(), newStore(t, nil), ticketSchema)
	if err != nil {
		t.Fatal(err)
	}
	soon, late := time.Now().Add(50*time.Millisecond), time.Now().Add(time.Hour)
	for i := range 40 {
		ends := soon
		if i%4 == 0 {
			ends = late
		}
		for _, show := range []string{"x", "y"} {
			if err := r.Insert(t.Context(), &ticket{Show: show, ID: fmt.Sprintf("%02d", i), Kind: "k", Ends: ends}); err != nil {
				t.Fatal(err)
			}
		}
	}
	time.Sleep(time.Until(soon.Add(time.Millisecond)))
	x, y := repo.Where("show", "x"), repo.Where("show", "y")
	for from := range 2 { // queries alike and not alike come first by turns
		queries := []repo.Query{
			x.AtLeast("id", "01").AtMost("id", "20").Order("id").Limit(3), x.AtLeast("id", "30").AtMost("id", "31").Order("id").Limit(3),
			x.AtLeast("id", "22").AtMost("id", "99").Order("id").Limit(3), y.Order("-id").Limit(2), y.Order("id"),
		}
		want := []string{"04 08 12 ", "", "24 28 32 ", "36 32 ", "00 04 08 12 16 20 24 28 32 36 "}
		queries, want = append(queries[3*from:], queries[:3*from]...), append(want[3*from:], want[:3*from]...)
		lists, err := r.FindMany(t.Context(), queries)
		for i, list := range lists {
			got := ""
			for _, one := range list {
				got += one.ID + " "
			}
			if got != want[i] {
				t.Errorf("%v finds %q, want %q", queries[i], got, want[i])
			}
		}
		if err != nil || len(lists) != len(queries) {
			t.Errorf("%d lists, %v", len(lists), err)
		}
	}
}
