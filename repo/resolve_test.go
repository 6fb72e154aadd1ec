package repo_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// history commits writes of the record a, each so long ago, by the store's own means. The last
// one is a delete if dead is set.
func history(t *testing.T, store *keeper, dead bool, ago ...time.Duration) {
	t.Helper()
	for i, d := range ago {
		op := driver.Op{Do: driver.Put, Table: store.table(t, "things"), Row: driver.Row{Key: driver.Key{Partition: "a#"}}}
		if dead && i == len(ago)-1 {
			op.Row.Dead, op.Row.Expires = true, time.Now().Add(15*time.Minute-d).UnixMilli()
		}
		if _, err := store.Commit(t.Context(), tokenAt(time.Now().Add(-d)), []driver.Op{op}); err != nil {
			t.Fatal(err)
		}
	}
}

// table returns a table that the keeper was told of.
func (k *keeper) table(t *testing.T, name string) *driver.Table {
	t.Helper()
	for _, table := range k.tables {
		if table.Name == name {
			return table
		}
	}
	t.Fatalf("no table %s", name)
	return nil
}

// lostInsert returns the outcome of an insert of the record a that was sent unread so long ago.
func lostInsert(t *testing.T, ago time.Duration) *repo.Outcome {
	t.Helper()
	var o repo.Outcome
	text := fmt.Sprintf(`{"collection":"things","partition":"a#","token":"%s","based":true}`, tokenAt(time.Now().Add(-ago)))
	if err := o.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return &o
}

// An insert onto a tombstone was not done if the delete is older than it by more than clocks
// differ, though the ring is full. Nothing else settles an insert whose ring is full.
func TestResolveInsertOnTombstone(t *testing.T) {
	const m, s = time.Minute, time.Second
	for _, tt := range []struct {
		what   string
		dead   bool
		writes []time.Duration // how long ago, the last one last
		insert time.Duration
		want   repo.Verdict
	}{
		{"deleted long before", true, []time.Duration{9 * m, 8 * m, 7 * m, 6 * m}, 3 * m, repo.NotCommitted},
		{"deleted a little over a minute before", true, []time.Duration{9 * m, 8 * m, 7 * m, 2*m + 2*s}, 1 * m, repo.NotCommitted},
		{"deleted less than a minute before", true, []time.Duration{9 * m, 8 * m, 7 * m, 2*m - 2*s}, 1 * m, repo.Unknown},
		{"deleted after it", true, []time.Duration{9 * m, 8 * m, 7 * m, 1 * m}, 3 * m, repo.Unknown},
		{"by a clock that is far ahead", true, []time.Duration{9 * m, 8 * m, 7 * m, 6 * m}, -2 * m, repo.Unknown},
		{"there, and older", false, []time.Duration{9 * m, 8 * m, 7 * m, 6 * m}, 3 * m, repo.Unknown},
		{"deleted and made again, and older", false, []time.Duration{29 * m, 28 * m, 27 * m, 26 * m, 6 * m}, 3 * m, repo.Unknown},
		{"an old insert, deleted before", true, []time.Duration{49 * m, 48 * m, 47 * m, 46 * m}, 40 * m, repo.NotCommitted},
		{"of few writes", true, []time.Duration{6 * m, 5 * m}, 5 * s, repo.NotCommitted},
	} {
		store := &keeper{Store: memory.New(&memory.Options{Uncertain: true})}
		things, err := repo.Open[thing](t.Context(), repo.NewStore(store, nil), thingSchema())
		if err != nil {
			t.Fatal(err)
		}
		history(t, store, tt.dead, tt.writes...)
		o := lostInsert(t, tt.insert)
		for range 2 {
			if v, err := things.Resolve(t.Context(), o); v != tt.want || err != nil {
				t.Errorf("%s: %s, %v; want %s", tt.what, v, err, tt.want)
			}
		}
		if tt.want == repo.NotCommitted {
			cannotCome(t, store, tt.what)
		}
	}
}

// cannotCome sees that an insert that was sent just now, and that the transport keeps for fourteen
// minutes, is not done: the tombstone that was there is still there then.
func cannotCome(t *testing.T, store *keeper, what string) {
	t.Helper()
	later := repo.NewStore(store, &repo.Options{Now: func() time.Time { return time.Now().Add(14 * time.Minute) }})
	things, err := repo.Open[thing](t.Context(), later, thingSchema())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := things.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	op := driver.Op{Do: driver.Put, If: driver.Absent, Table: store.table(t, "things"), Row: driver.Row{Key: driver.Key{Partition: "a#"}}}
	if refusal, err := store.Commit(t.Context(), driver.NewToken(), []driver.Op{op}); refusal == nil || err != nil {
		t.Errorf("%s: the insert was said not to be done, and is when it comes late: %v", what, err)
	}
}
