package cassandra_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/toxic"
	"github.com/polystore/polystore/repo/driver"
)

// byCategory is a table of index rows in partitions of their own, as package repo makes it.
func byCategory() *driver.Table {
	str := func(name string) driver.Column { return driver.Column{Name: name, Kind: driver.String} }
	return &driver.Table{Name: "posts.by_category", Class: driver.Rows, Unconditional: true, Partition: []driver.Column{str("category")},
		Sort: []driver.Column{str("author"), str("id"), {Name: "_token", Kind: driver.Bytes}}, Fields: []driver.Column{str("_base")}}
}

// rowOf returns the op that puts a row for a post, under its token.
func rowOf(t *testing.T, table *driver.Table, category string, token driver.Token) driver.Op {
	t.Helper()
	key := keyOf(t, table, text(category), text("ann"), text("1"), driver.BytesValue(string(token[:])))
	return driver.Op{Do: driver.Put, Table: table, Row: driver.Row{Key: key, Fields: []driver.Value{text("base")}}}
}

func dropped(op driver.Op) driver.Op {
	return driver.Op{Do: driver.Delete, Table: op.Table, Row: driver.Row{Key: op.Row.Key}}
}

// Rows of a plain table are written without a condition, and are there for good when they
// are put again, and gone when they are dropped.
func TestPlainTables(t *testing.T) {
	t.Parallel()
	sc := newScribe(t)
	rows := byCategory()
	if err := sc.s.Define(t.Context(), []*driver.Table{rows}); err != nil {
		t.Fatal(err)
	}
	sc.r.take()
	token := driver.NewToken()
	op := rowOf(t, rows, sc.author, token)
	for _, want := range []string{`UPDATE "posts_X_by_category" SET `, `UPDATE "posts_X_by_category" USING TTL ? SET `, `UPDATE "posts_X_by_category" SET `} {
		backendtest.MustCommit(t, sc.s, []driver.Op{op})
		sent := sc.r.take()
		if len(sent) != 1 || !strings.HasPrefix(sent[0], want) || strings.Contains(sent[0], " IF ") {
			t.Errorf("%s of a plain table was sent as %q, want %s without a condition", op.Do, sent, want)
		}
		if there := sc.ts.there(t, sc.s, rows, op.Row.Key); there != (op.Do == driver.Put) {
			t.Errorf("after a %s the row is there: %v", op.Do, there)
		}
		sc.r.take()
		if op.Do == driver.Put {
			op = dropped(op)
		} else {
			op = rowOf(t, rows, sc.author, token)
		}
	}
	for name, ops := range map[string][]driver.Op{
		"two ops":     {rowOf(t, rows, sc.author, token), rowOf(t, rows, sc.author, driver.NewToken())},
		"a condition": {{Do: driver.Delete, Table: rows, If: driver.AtRev, Rev: token, Row: driver.Row{Key: op.Row.Key}}},
	} {
		if err := backendtest.Commit(t, sc.s, ops); !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("%s on a plain table: %v, want ErrInvalid", name, err)
		}
	}
	other := byCategory()
	other.Unconditional = false
	if err := sc.s.Define(t.Context(), []*driver.Table{other}); !errors.Is(err, driver.ErrSchema) {
		t.Errorf("a table that was plain, and is to be written with conditions: %v, want ErrSchema", err)
	}
	home := byCategory()
	home.Name, home.Partition, home.Home = "posts.by_home", sc.ts.posts.Partition, sc.ts.posts
	if err := sc.s.Define(t.Context(), []*driver.Table{home}); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("a plain table among records: %v, want ErrInvalid", err)
	}
}

// A put that comes late does not bring back what was dropped since; one that is sent
// after the drop does.
func TestLatePuts(t *testing.T) {
	t.Parallel()
	late := newSilent(t, 20*time.Second)
	rows := byCategory()
	s, _ := shared(t)
	for _, store := range []driver.Store{late.store, s} {
		if err := store.Define(t.Context(), []*driver.Table{rows}); err != nil {
			t.Fatal(err)
		}
	}
	backendtest.MustCommit(t, late.store, []driver.Op{rowOf(t, rows, late.author, driver.NewToken())}) // the statement is prepared
	arrival := 300 * time.Millisecond
	for _, drops := range []bool{false, true} { // the first tells how late a put is
		op := rowOf(t, rows, late.author, driver.NewToken())
		there := func() bool { return late.ts.there(t, s, rows, op.Row.Key) }
		late.proxy.Set(toxic.Fault{Kind: toxic.Hold, Way: toxic.Requests})
		ctx, cancel := context.WithTimeout(t.Context(), silence)
		_, err := late.store.Commit(ctx, driver.NewToken(), []driver.Op{op})
		cancel()
		if !errors.Is(err, driver.ErrUnknownOutcome) || there() {
			t.Fatalf("a put that is held: %v, want ErrUnknownOutcome", err)
		}
		if drops {
			backendtest.MustCommit(t, s, []driver.Op{dropped(op)})
		}
		healed := time.Now()
		late.proxy.Heal()
		for !there() && (!drops && time.Since(healed) < 30*time.Second || drops && time.Since(healed) < arrival) {
			time.Sleep(time.Millisecond)
		}
		if there() == drops {
			t.Errorf("dropped meanwhile: %v; after a late put the row is there: %v", drops, there())
		}
		arrival = max(arrival, 10*time.Since(healed))
		backendtest.MustCommit(t, s, []driver.Op{op})
		if !there() {
			t.Errorf("dropped: %v; a row that is put again is not there", drops)
		}
	}
}
