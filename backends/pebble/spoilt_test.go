package pebble_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	pebbledb "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/repo/driver"
)

// Keys and values that are damaged, in files that are whole, panic no reader, and no error
// tells what is private.
func TestSpoilt(t *testing.T) {
	t.Parallel()
	var disk vfs.FS
	open := func(t *testing.T) driver.Store {
		s, err := pebble.Open("/data", &pebble.Options{FS: disk})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	sp := backendtest.Spoilt{Kind: "table", Rounds: 4, Turns: 15,
		Store: func(t *testing.T) driver.Store {
			disk = vfs.NewMem()
			return open(t)
		},
		Spoil: func(t *testing.T, rng *rand.Rand, s driver.Store, _ string) driver.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			spoilSome(t, rng, disk)
			return open(t)
		}}
	sp.Check(t)
}

// spoilSome changes some keys and values of what repositories write.
func spoilSome(t *testing.T, rng *rand.Rand, disk vfs.FS) {
	t.Helper()
	db, err := pebbledb.Open("/data", &pebbledb.Options{FS: disk, FormatMajorVersion: pebbledb.FormatTableFormatV6, Logger: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	it, err := db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	var keys, values [][]byte
	for it.SeekGE([]byte{1}); it.Valid(); it.Next() { // 0 is what a store is opened by
		keys, values = append(keys, slices.Clone(it.Key())), append(values, slices.Clone(it.Value()))
	}
	it.Close()
	for range 1 + rng.IntN(3) {
		at := rng.IntN(len(keys))
		key, value := keys[at], values[at]
		if rng.IntN(4) == 0 {
			if err := db.Delete(key, nil); err != nil {
				t.Fatal(err)
			}
			cut := min(len(key), 2) // the table
			key = append(key[:cut:cut], backendtest.Garbled(rng, string(key[cut:]))...)
		} else {
			value = []byte(backendtest.Garbled(rng, string(value)))
		}
		if err := db.Set(key, value, nil); err != nil {
			t.Fatal(err)
		}
	}
}
