package repo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// An index that is built has no rows of expired records, and these keep no unique value
// from those that live.
func TestBuildWithoutTheExpired(t *testing.T) {
	c := &expiring{store: &tardy{Store: memory.New(nil)}}
	store := repo.NewStore(c.store, &repo.Options{Now: c.now})
	schema, seat := ticketSchema, "s"
	schema.Indexes = schema.Indexes[:1]
	r, err := repo.Open[ticket](t.Context(), store, schema)
	if err != nil {
		t.Fatal(err)
	}
	for id, lives := range map[string]time.Duration{"a": time.Hour, "b": 5 * time.Hour} {
		if err := r.Insert(t.Context(), &ticket{Show: "x", ID: id, Seat: &seat, Kind: "k", Ends: c.now().Add(lives)}); err != nil {
			t.Fatal(err)
		}
	}
	c.pass(2 * time.Hour)
	r = built[ticket](t, store, ticketSchema)
	if got, err := r.One(t.Context(), repo.Where("seat", seat)); err != nil || got.ID != "b" {
		t.Errorf("the seat is that of %q, %v; want b", got.ID, err)
	}
	reports, err := r.Verify(t.Context())
	for _, rep := range reports[1:] {
		if rep.Rows != 1 || rep.Records != 1 || !rep.Clean() {
			t.Errorf("%+v, want one row of one record", rep)
		}
	}
	if err != nil || len(reports) != len(ticketSchema.Indexes) {
		t.Errorf("%d reports, %v", len(reports), err)
	}
}

// A record that is written anew before each reading and expires before the answer is there
// cannot be told of. That ends, with an answer or with ErrConflict.
func TestRecordsThatLiveShorterThanACall(t *testing.T) {
	for call := range ticketCalls(t, openTickets(t, memory.New(nil), time.Now)) {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			c := newExpiring(t, &memory.Options{})
			asked := 0
			c.store.again = true
			c.store.before = func() {
				asked++
				c.put(t, 5*time.Millisecond)
			}
			c.store.after = func() { c.pass(10 * time.Millisecond) }
			ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), slowly{}, true), time.Minute)
			defer cancel()
			if _, err := ticketCalls(t, c.r)[call](ctx); err != nil && !errors.Is(err, repo.ErrConflict) {
				t.Error(err)
			}
			if asked > 200 {
				t.Errorf("the store was asked %d times", asked)
			}
		})
	}
}

// expiringOneByOne returns a store with tickets of which each lives a millisecond longer than the
// one before.
func expiringOneByOne(t *testing.T, n int) (c *expiring, keys []repo.Key) {
	t.Helper()
	c = newExpiring(t, &memory.Options{})
	for i := range n {
		id := fmt.Sprintf("%04d", i)
		keys = append(keys, repo.Key{"x", id})
		if err := c.other.Insert(t.Context(), &ticket{Show: "x", ID: id, Ends: c.now().Add(time.Duration(2+i) * time.Millisecond)}); err != nil {
			t.Fatal(err)
		}
	}
	return c, keys
}

// Where many records expire one after the other while they are read, the call does not
// begin again for each.
func TestManyThatExpireWhileTheyAreRead(t *testing.T) {
	c, keys := expiringOneByOne(t, 300)
	c.store.again = true
	asked := 0
	c.store.after = func() {
		c.pass(10 * time.Millisecond)
		asked++
	}
	_, found, err := c.r.GetMany(context.WithValue(t.Context(), slowly{}, true), keys)
	if err != nil || asked != 2 {
		t.Fatalf("%v, after %d questions; want no error after two", err, asked)
	}
	for i, there := range found {
		if want := i > 8; there != want {
			t.Errorf("record %d is there: %v, want %v", i, there, want)
		}
	}
}

// A loop that takes longer than the records live reads few of them twice.
func TestListThatExpiresUnderTheLoop(t *testing.T) {
	c, keys := expiringOneByOne(t, 1000)
	var cost repo.Event
	store := repo.NewStore(c.store, &repo.Options{Now: c.now, Tracer: ended(func(e repo.Event) { cost = e })})
	list, err := repo.Open[ticket](t.Context(), store, ticketSchema)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for rec, err := range list.Find(t.Context(), repo.Where("show", "x")) {
		if err != nil {
			t.Fatal(err)
		}
		if !c.now().Before(rec.Ends) {
			t.Fatalf("record %s is yielded %s after it expired", rec.ID, c.now().Sub(rec.Ends))
		}
		n++
		c.pass(2 * time.Millisecond)
	}
	if n == 0 || n > len(keys) || cost.Rows > 5*len(keys) {
		t.Errorf("%d of %d records are yielded, %d rows read by %d requests", n, len(keys), cost.Rows, cost.Requests)
	}
	t.Logf("%d of %d records, %d rows read by %d requests", n, len(keys), cost.Rows, cost.Requests)
}

// A vanishing store cannot read the row of a key any more, once it was walked over.
type vanishing struct {
	*tardy
	key driver.Key
}

func (s *vanishing) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	if slices.Contains(keys, s.key) {
		return fmt.Errorf("what lies there is none: %w", driver.ErrCorrupt)
	}
	return s.tardy.Get(ctx, t, keys, mask, rows)
}

// A record that expires under a walk, and cannot be read when that looks again, is named and
// keeps the walk from no other.
func TestWalkPastWhatExpiresUnreadable(t *testing.T) {
	c, _ := expiringOneByOne(t, 40)
	s := &vanishing{tardy: c.store, key: driver.Key{Partition: "x#", Sort: "0003#"}}
	r := openTickets(t, s, c.now)
	c.store.after = func() { c.pass(10 * time.Millisecond) }
	found, named := 0, 0
	for chunk, err := range r.Walk(context.WithValue(t.Context(), slowly{}, true), "") {
		if err != nil && (!errors.Is(err, repo.ErrCorrupt) || !strings.Contains(err.Error(), "x/0003") || strings.Contains(err.Error(), "x/0004")) {
			t.Fatal(err)
		}
		if found += len(chunk.Items); err != nil {
			named++
		}
	}
	if found != 31 || named != 1 {
		t.Errorf("%d records and %d errors, want 31 and 1", found, named)
	}
}
