package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	pebbledb "github.com/cockroachdb/pebble/v2"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/repo"
)

// A described is a package of Debian with the words of its description.
type described struct {
	Name        string   `repo:"name"`
	Description string   `repo:"description"`
	Words       []string `repo:"words"`
}

// describedOf returns the packages of a file.
func describedOf(b *testing.B, path string) (list []described) {
	b.Helper()
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		b.Fatal(err)
	}
	for lines := bufio.NewScanner(zip); lines.Scan(); {
		var p described
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			b.Fatal(err)
		}
		words := strings.FieldsFunc(strings.ToLower(p.Description), func(r rune) bool { return strings.ContainsRune(" ,.;:()/\"'", r) })
		slices.Sort(words)
		p.Words = slices.Compact(words)
		list = append(list, p)
	}
	if len(list) < 10_000 {
		b.Fatalf("%d packages", len(list))
	}
	return list
}

// BenchmarkRanked finds the 20 packages with most of three words, by the library and by hand, by turns, and says how
// much dearer the one is.
func BenchmarkRanked(b *testing.B) {
	list := describedOf(b, "../examples/debian/packages.jsonl.gz")
	backend, err := pebble.Open(b.TempDir(), &pebble.Options{NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	store := repo.NewStore(backend, nil)
	defer store.Close()
	packages, err := repo.Open[described](b.Context(), store, repo.Schema{Collection: "packages", Partition: []string{"name"},
		Indexes: []repo.Index{{Partition: []string{"words[]"}}}})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := packages.InsertAll(b.Context(), each(list)); err != nil {
		b.Fatal(err)
	}
	db, err := pebbledb.Open(b.TempDir(), floorOptions())
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	fillWords(b, db, list)
	words := []string{"python", "library", "data"}
	q := repo.All().AnyOf("words[]", words[0], words[1], words[2]).Limit(20)
	b.ReportAllocs()
	b.ResetTimer()
	var ours, theirs time.Duration
	for range b.N {
		began := time.Now()
		found, err := repo.Best(b.Context(), packages, q)
		between := time.Now()
		byHand := rankedByHand(b, db, words, 20)
		ours, theirs = ours+between.Sub(began), theirs+time.Since(between)
		if err != nil || len(found) != 20 || fmt.Sprint(found) != fmt.Sprint(byHand) {
			b.Fatalf("found %v, %v; by hand %v", found, err, byHand)
		}
	}
	b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N), "best-ns/op")
	b.ReportMetric(float64(theirs.Nanoseconds())/float64(b.N), "byhand-ns/op")
	b.ReportMetric(float64(ours)/float64(theirs), "ratio")
}

func each[T any](list []T) func(yield func(T, error) bool) {
	return func(yield func(T, error) bool) {
		for _, one := range list {
			if !yield(one, nil) {
				return
			}
		}
	}
}

// fillWords writes packages under "r" and their name, and their words as "w", the word, 0 and the name.
func fillWords(b *testing.B, db *pebbledb.DB, list []described) {
	b.Helper()
	batch := db.NewBatch()
	for _, p := range list {
		batch.Set([]byte("r"+p.Name), []byte(p.Description+"\x00"+strings.Join(p.Words, "\x00")), nil)
		for _, word := range p.Words {
			batch.Set([]byte("w"+word+"\x00"+p.Name), nil, nil)
		}
	}
	if err := batch.Commit(pebbledb.NoSync); err != nil {
		b.Fatal(err)
	}
}

// A hit is the name of a package, and how many words it has.
type hit struct {
	name  string
	count int
}

// rankedByHand merges the rows of some words, keeps the best, and reads these.
func rankedByHand(b *testing.B, db *pebbledb.DB, words []string, most int) (found []repo.Ranked[described]) {
	var rows []*pebbledb.Iterator
	heads := make([]int, len(words))
	for i, word := range words {
		it, err := db.NewIter(&pebbledb.IterOptions{LowerBound: []byte("w" + word + "\x00"), UpperBound: []byte("w" + word + "\x01")})
		if err != nil {
			b.Fatal(err)
		}
		defer it.Close()
		heads[i], rows = len(word)+2, append(rows, it)
		it.First()
	}
	better := func(a, b hit) int { return cmp.Or(b.count-a.count, cmp.Compare(a.name, b.name)) }
	var best []hit
	for {
		var first []byte
		for i, it := range rows {
			if it.Valid() && (first == nil || bytes.Compare(it.Key()[heads[i]:], first) < 0) {
				first = it.Key()[heads[i]:]
			}
		}
		if first == nil {
			break
		}
		one, has := hit{}, [8]bool{}
		for i, it := range rows {
			if has[i] = it.Valid() && bytes.Equal(it.Key()[heads[i]:], first); has[i] {
				one.count++
			}
		}
		if len(best) < most || one.count > best[most-1].count {
			one.name = string(first)
			at, _ := slices.BinarySearchFunc(best, one, better)
			best = slices.Insert(best, at, one)
			best = best[:min(most, len(best))]
		}
		for i, it := range rows {
			if has[i] {
				it.Next()
			}
		}
	}
	for _, one := range best {
		value, closer, err := db.Get([]byte("r" + one.name))
		if err != nil {
			b.Fatal(err)
		}
		parts := strings.Split(string(value), "\x00")
		closer.Close()
		found = append(found, repo.Ranked[described]{Record: described{one.name, parts[0], parts[1:]}, Count: one.count})
	}
	return found
}
