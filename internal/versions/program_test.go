//go:build unix

package versions_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/repo"
)

// orderVariable, when set, makes this test binary a program that does what its text says.
const orderVariable = "POLYSTORE_TEST_VERSIONS"

// A login is a record of both versions. The newer one has an index by User.
type login struct {
	ID   string `repo:"id"`
	User string `repo:"user"`
	Seen int64  `repo:"seen"`
}

func schemaOf(collection string, newer bool) repo.Schema {
	s := repo.Schema{Collection: collection, Partition: []string{"id"}, Fields: map[string]string{"user": "string", "seen": "int"}}
	if newer {
		s.Indexes = []repo.Index{{Name: indexName, Partition: []string{"user"}, Sort: []string{"-seen"}}}
	}
	return s
}

const (
	indexName = "by_user"
	writers   = 4  // of a program
	own       = 12 // records of a writer
	users     = 5
)

// An order is what a program does.
type order struct {
	URL, Collection, Name string

	Newer   bool // it declares the index, and asks it
	Fills   bool // it fills the index, and writes nothing
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
	if o.Newer {
		opts = append(opts, repo.WithBuild())
	}
	r, err := repo.Open[login](ctx, store, schemaOf(o.Collection, o.Newer), opts...)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	if o.Fills {
		<-ctx.Done()
		return nil
	}
	var all sync.WaitGroup
	var done tally
	for n := range writers {
		w := &writer{order: o, r: r, prefix: fmt.Sprintf("%s.%d.", o.Name, n), is: map[string]string{}, unsure: map[string]bool{}, done: &done, rnd: rand.New(rand.NewPCG(uint64(n), uint64(len(o.Name))))}
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

// A tally is what the writers of a program have done.
type tally struct{ writes, answers, unknown atomic.Int64 }

// A writer writes records that nobody else does.
type writer struct {
	*order
	r      *repo.Repo[login]
	prefix string
	is     map[string]string // the users of the records that are there
	unsure map[string]bool   // records of whose last write nobody told the outcome
	done   *tally
	rnd    *rand.Rand
}

func (w *writer) write(ctx context.Context) error {
	if w.Settled {
		for i := range own {
			if err := w.put(ctx, &login{fmt.Sprint(w.prefix, i), "u0", 0}); err != nil {
				return err
			}
		}
	}
	for n := int64(1); ctx.Err() == nil; n++ {
		if err := w.change(ctx, n); err != nil {
			return err
		}
		if n%4 == 0 {
			if err := w.look(ctx); err != nil {
				return err
			}
		}
		time.Sleep(w.Pause)
	}
	return nil
}

// change makes one change of one record.
func (w *writer) change(ctx context.Context, n int64) (err error) {
	l := &login{fmt.Sprint(w.prefix, w.rnd.IntN(own)), fmt.Sprint("u", w.rnd.IntN(users)), n}
	_, there := w.is[l.ID]
	switch kind := w.rnd.IntN(3); {
	case there && kind == 0 && !w.Settled:
		err = w.r.Delete(ctx, repo.Key{l.ID})
		return w.judge(l.ID, "", err)
	case there && kind == 1:
		_, err = w.r.Update(ctx, repo.Key{l.ID}, func(o *login) error { o.User = l.User; return nil })
		return w.judge(l.ID, l.User, err)
	case there && kind == 2:
		_, err = w.r.Patch(ctx, repo.Key{l.ID}, repo.Set("user", l.User), repo.Set("seen", l.Seen))
		return w.judge(l.ID, l.User, err)
	}
	return w.put(ctx, l)
}

func (w *writer) put(ctx context.Context, l *login) error {
	return w.judge(l.ID, l.User, w.r.Put(ctx, l))
}

// judge notes what became of a write. One that was not done left all as it was.
func (w *writer) judge(id, user string, err error) error {
	w.done.writes.Add(1)
	var e *repo.Error
	switch {
	case errors.Is(err, repo.ErrUnknownOutcome):
		w.done.unknown.Add(1)
		w.unsure[id] = true
		return nil
	case w.unsure[id] && errors.Is(err, repo.ErrNotFound):
		return nil
	case errors.As(err, &e) && e.Retryable, errors.Is(err, repo.ErrUnavailable), errors.Is(err, repo.ErrTimeout):
		return nil
	case err != nil:
		return fmt.Errorf("a write of %s: %w", id, err)
	}
	if w.is[id] = user; user == "" {
		delete(w.is, id)
	}
	return nil
}

// look asks for the writer's own records of a user, by the index if the program has it, and of one record by its key.
func (w *writer) look(ctx context.Context) error {
	id := fmt.Sprint(w.prefix, w.rnd.IntN(own))
	l, err := w.r.Get(ctx, repo.Key{id})
	want, there := w.is[id]
	switch {
	case w.unsure[id], err != nil && !errors.Is(err, repo.ErrNotFound):
	case there != (err == nil), there && l.User != want:
		return fmt.Errorf("%s is read as %+v, %v; want user %q", id, l, err, want)
	}
	if !w.Newer {
		return nil
	}
	user := fmt.Sprint("u", w.rnd.IntN(users))
	list, err := repo.Collect(w.r.Find(ctx, repo.Where("user", user)))
	var e *repo.Error
	switch {
	case err == nil:
		w.done.answers.Add(1)
		return w.compare(user, list)
	case errors.Is(err, repo.ErrNoIndex), errors.As(err, &e) && e.Retryable, errors.Is(err, repo.ErrUnavailable), errors.Is(err, repo.ErrTimeout):
		return nil
	}
	return fmt.Errorf("a query: %w", err)
}

// compare compares what the index found with what the writer knows of its own records.
func (w *writer) compare(user string, list []login) error {
	found := map[string]bool{}
	for _, l := range list {
		if len(l.ID) < len(w.prefix) || l.ID[:len(w.prefix)] != w.prefix || w.unsure[l.ID] {
			continue
		}
		if found[l.ID] {
			return fmt.Errorf("the index finds %s twice", l.ID)
		}
		if found[l.ID] = true; l.User != user || w.is[l.ID] != user {
			return fmt.Errorf("the index finds %+v under %s; it is of %q", l, user, w.is[l.ID])
		}
	}
	for id, is := range w.is {
		if is == user && !found[id] && !w.unsure[id] {
			return fmt.Errorf("the index does not find %s under %s", id, user)
		}
	}
	return nil
}
