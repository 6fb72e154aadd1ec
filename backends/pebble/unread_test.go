package pebble_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	pebbledb "github.com/cockroachdb/pebble/v2"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// Rows that cannot be read, for their values or for their keys, are named and do not end a
// walk, not even where they fill chunks.
func TestWalkPastUnreadableRows(t *testing.T) {
	const good, bad = 50, 2*frame.ChunkRows + 10
	dir, tables := t.TempDir(), noteTables()
	s := mustOpen(t, dir, nil, tables)
	for id := range good {
		mustCommit(t, s, insertNote(tables, id, "good"))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	spoil(t, dir, len(tables), bad)
	s = mustOpen(t, dir, nil, tables)
	var keys []driver.Key
	unread := 0
	for chunk, err := range s.Walk(t.Context(), tables[0], "") {
		var list driver.Unread
		if err != nil && (!errors.As(err, &list) || !errors.Is(err, driver.ErrCorrupt)) {
			t.Fatal(err)
		}
		unread += len(list)
		for i := range chunk.Rows {
			keys = append(keys, chunk.Rows[i].Key)
		}
	}
	want := make([]driver.Key, good)
	for id := range want {
		want[id] = noteKey(id)
	}
	slices.SortFunc(keys, func(a, b driver.Key) int { return strings.Compare(a.Sort, b.Sort) })
	if !slices.Equal(keys, want) || unread != bad+2 {
		t.Errorf("a walk yields %d records and names %d rows, want %d and %d", len(keys), unread, good, bad+2)
	}
}

// spoil puts rows with keys that are none into each table, one of them empty and large, and
// one without a value.
func spoil(t *testing.T, dir string, tables, keys int) {
	t.Helper()
	db, err := pebbledb.Open(dir, &pebbledb.Options{Logger: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	it, err := db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	part, seen := []byte(noteKey(1).Partition), 0
	for it.First(); it.Valid(); it.Next() {
		key := bytes.Clone(it.Key())
		at := bytes.Index(key, part)
		if at < 0 || !bytes.HasSuffix(key, []byte(noteKey(1).Sort)) {
			continue // of the catalog, or another row
		}
		for i := range keys {
			err = errors.Join(err, db.Set(fmt.Appendf(key[:at:at], "p%d", i), []byte("x"), pebbledb.NoSync))
		}
		last := db.Set(append(key[:at:at], "p1#zz#"...), []byte{0xff}, pebbledb.NoSync)
		first := db.Set(key[:at:at], make([]byte, 2<<20), pebbledb.Sync) // more than a chunk has
		if err = errors.Join(err, first, last); err != nil {
			t.Fatal(err)
		}
		seen++
	}
	if seen != tables {
		t.Fatalf("the store has notes in %d tables, want %d", seen, tables)
	}
}
