//go:build unix

package versions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/repo"
)

// orderVariable, when set, makes this test binary a program that does what its text says.
const orderVariable = "POLYSTORE_TEST_VERSIONS"

// A login is a record of all versions.
type login struct {
	ID   string `repo:"id"`
	User string `repo:"user"`
	Seen int64  `repo:"seen"`
}

// A version of a program declares indexes, and asks them.
type version int

const (
	older  version = iota // none
	newer                 // one by user
	newest                // another one by user, a unique one, and one that the store keeps, where it can
)

const (
	byUser = "by_user" // the last seen first
	bySeen = "by_seen" // the first seen first, with the whole records
	once   = "once"    // unique
	kept   = "kept"    // by the store
)

func schemaOf(collection string, v version, keeps bool) repo.Schema {
	s := repo.Schema{Collection: collection, Partition: []string{"id"}, Fields: map[string]string{"user": "string", "seen": "int"}}
	switch v {
	case newer:
		s.Indexes = []repo.Index{{Name: byUser, Partition: []string{"user"}, Sort: []string{"-seen"}, Kind: "table"}}
	case newest:
		s.Indexes = []repo.Index{
			{Name: bySeen, Partition: []string{"user"}, Sort: []string{"seen"}, Covers: []string{"*"}, Kind: "table"},
			{Name: once, Partition: []string{"user", "id"}, Unique: true, Kind: "table"},
		}
		if keeps {
			s.Indexes = append(s.Indexes, repo.Index{Name: kept, Partition: []string{"seen"}, Sort: []string{"user"}, Kind: "native"})
		}
	}
	return s
}

// indexesOf returns the names of the indexes of a version.
func indexesOf(v version, keeps bool) (names []string) {
	for _, x := range schemaOf("", v, keeps).Indexes {
		names = append(names, x.Name)
	}
	return names
}

const (
	writers = 4  // of a program
	own     = 12 // records of a writer
	users   = 5

	fillRate = 200 // records that a filler reads in a second
)

// An order is what a program does.
type order struct {
	URL, Collection, Name string

	Version version
	Keeps   bool // the store can keep indexes
	Fills   bool // it fills indexes, and writes nothing
	Settled bool // it inserts its records at once, and then only changes them
	Pause   time.Duration
}

func TestMain(m *testing.M) {
	if text := os.Getenv(orderVariable); text != "" {
		var o order
		err := json.Unmarshal([]byte(text), &o)
		if err == nil {
			err = o.obey()
		}
		if err != nil {
			fmt.Println("fault:", err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// obey writes until standard input ends, and says what is wrong, and how much was done.
func (o *order) obey() error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		defer stop()
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	store, err := backends.Open(ctx, o.URL, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	var opts []repo.OpenOption
	switch {
	case o.Fills:
		opts = append(opts, repo.WithBuildRate(fillRate))
	case o.Version != older:
		opts = append(opts, repo.WithBuild())
	}
	r, err := repo.Open[login](ctx, store, schemaOf(o.Collection, o.Version, o.Keeps), opts...)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	if o.Fills {
		fmt.Println("begun")
		<-ctx.Done()
		fmt.Println("done: it filled")
		return nil
	}
	var all sync.WaitGroup
	var done tally
	for n := range writers {
		w := &writer{order: o, r: r, prefix: fmt.Sprintf("%s.%d.", o.Name, n), is: map[string]login{}, unsure: map[string]bool{}, done: &done, rnd: rand.New(rand.NewPCG(uint64(n), uint64(len(o.Name))))}
		all.Go(func() {
			if err := w.write(ctx); err != nil && ctx.Err() == nil {
				fmt.Printf("fault: %s%s\n", w.prefix, err)
			}
		})
	}
	fmt.Println("begun")
	all.Wait()
	fmt.Printf("done: %d writes, %d answers by the index, %d without an outcome\n", done.writes.Load(), done.answers.Load(), done.unknown.Load())
	return nil
}
