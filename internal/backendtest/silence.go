package backendtest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/internal/toxic"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A Note is a record of package repo, with an index by its tag.
type Note struct {
	ID      string       `repo:"id"`
	Tag     string       `repo:"tag"`
	N       int64        `repo:"n"`
	Version repo.Version `repo:",version"`
}

// NoteSchema returns the schema of notes.
func NoteSchema() repo.Schema {
	return repo.Schema{Collection: "notes", Partition: []string{"id"}, Indexes: []repo.Index{{Partition: []string{"tag"}, Sort: []string{"id"}}}}
}

// A Silent has a store, with some records, behind a network that will be silent.
type Silent struct {
	T      *testing.T
	Proxy  *toxic.Proxy
	Reopen func(ctx context.Context) error // opens another store at the same place
	Store  driver.Store
	Tables *Tables
	Repo   *repo.Store
	Notes  *repo.Repo[Note]
}

// Fill writes the records: the post 1 of ann, and the notes a, b and c.
func (s *Silent) Fill() {
	s.T.Helper()
	MustCommit(s.T, s.Store, s.Tables.Insert(s.T, "ann", "1"))
	MustCommit(s.T, s.Store, s.Tables.Add(s.T, "ann", "1"))
	s.Repo = repo.NewStore(s.Store, nil)
	var err error
	if s.Notes, err = repo.Open[Note](s.T.Context(), s.Repo, NoteSchema()); err != nil {
		s.T.Fatal(err)
	}
	for _, id := range []string{"a", "b", "c"} {
		if err := s.Notes.Insert(s.T.Context(), &Note{ID: id, Tag: "x"}); err != nil {
			s.T.Fatal(err)
		}
	}
}

// Commit does ops and returns the error.
func (s *Silent) Commit(ctx context.Context, ops []driver.Op) error {
	_, err := s.Store.Commit(ctx, driver.NewToken(), ops)
	return err
}

// Get reads the post that there is, n times at once.
func (s *Silent) Get(ctx context.Context, n int) error {
	keys := make([]driver.Key, n)
	for i := range keys {
		keys[i] = KeyOf(s.T, s.Tables.Posts, "ann", "1")
	}
	return s.Store.Get(ctx, s.Tables.Posts, keys, nil, make([]driver.Row, n))
}

// Check commits a look at the post that there is.
func (s *Silent) Check(ctx context.Context) error {
	return s.Commit(ctx, []driver.Op{{Do: driver.Check, Table: s.Tables.Posts, If: driver.Present, Row: driver.Row{Key: KeyOf(s.T, s.Tables.Posts, "ann", "1")}}})
}

// A Verb is a call, and what it returns when its context ends in silence.
type Verb struct {
	Name string
	Kind error
	Call func(s *Silent, ctx context.Context) error
}

// Verbs returns those whose errors are the same on all stores.
func Verbs() []Verb {
	timeout := driver.ErrTimeout
	span := func(s *Silent) driver.Span {
		return driver.Span{Table: s.Tables.Posts, Key: driver.Key{Partition: "ann#"}}
	}
	return []Verb{
		{"get", timeout, func(s *Silent, ctx context.Context) error { return s.Get(ctx, 1) }},
		{"get of several", timeout, func(s *Silent, ctx context.Context) error { return s.Get(ctx, 3) }},
		{"range", timeout, func(s *Silent, ctx context.Context) error { return Drain(s.Store.Range(ctx, span(s))) }},
		{"count", timeout, func(s *Silent, ctx context.Context) error {
			_, err := s.Store.(driver.Counter).Count(ctx, span(s))
			return err
		}},
		{"size", timeout, func(s *Silent, ctx context.Context) error {
			_, err := s.Store.(driver.Sizer).Size(ctx, s.Tables.Posts)
			return err
		}},
		{"walk", timeout, func(s *Silent, ctx context.Context) error { return Drain(s.Store.Walk(ctx, s.Tables.Posts, "")) }},
		{"define", timeout, func(s *Silent, ctx context.Context) error { return s.Store.Define(ctx, s.Tables.All()) }},
		{"attach", timeout, func(s *Silent, ctx context.Context) error { return s.Store.Attach(ctx, s.Tables.All()) }},
		{"drop", timeout, func(s *Silent, ctx context.Context) error { return s.Store.Drop(ctx, s.Tables.All()) }},
		{"open", timeout, func(s *Silent, ctx context.Context) error { return s.Reopen(ctx) }},
		{"commit of a patch", driver.ErrUnknownOutcome, func(s *Silent, ctx context.Context) error { return s.Commit(ctx, s.Tables.Add(s.T, "ann", "1")) }},
		{"repo find", timeout, func(s *Silent, ctx context.Context) error { return Drain(s.Notes.Find(ctx, repo.Where("tag", "x"))) }},
		{"repo patch", timeout, func(s *Silent, ctx context.Context) error { // which looks first
			_, err := s.Notes.Patch(ctx, repo.Key{"a"}, repo.Add("n", 1))
			return err
		}},
		{"repo blind patch", driver.ErrUnknownOutcome, func(s *Silent, ctx context.Context) error {
			_, err := s.Notes.PatchBlind(ctx, repo.Key{"a"}, repo.Add("n", 1))
			return err
		}},
		{"repo open", timeout, func(s *Silent, ctx context.Context) error {
			_, err := repo.Open[Note](ctx, repo.NewStore(s.Store, nil), NoteSchema())
			return err
		}},
	}
}

// Silence says how calls are made while nothing is answered.
type Silence struct {
	New    func(t *testing.T) *Silent
	Verbs  []Verb
	Lasts  time.Duration     // until the context ends
	Slack  time.Duration     // how much later a call may end
	During func(s *Silent)   // looks at a store when its network is healed; nil for nothing
	Links  func(*Silent) int // counts the connections of a store; nil: those of the proxy
	Frame  string            // what a goroutine of a store has in its stack
}

// Deadline makes the calls with a deadline: every call ends with it.
func (q *Silence) Deadline(t *testing.T) {
	t.Helper()
	q.ends(t, context.DeadlineExceeded, func(parent context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(parent, q.Lasts)
	})
}

// Cancel makes the calls with a context that is cancelled: every call ends with it.
func (q *Silence) Cancel(t *testing.T) {
	t.Helper()
	q.ends(t, context.Canceled, func(parent context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(parent)
		timer := time.AfterFunc(q.Lasts, cancel)
		return ctx, func() { timer.Stop(); cancel() }
	})
}

// ends calls every verb while the network is silent, with a context that ends, and sees
// that the call ends with it, and that nothing of it is left: neither a goroutine nor a
// connection, while the store is open and thereafter.
func (q *Silence) ends(t *testing.T, cause error, end func(context.Context) (context.Context, context.CancelFunc)) {
	t.Helper()
	t.Run("verbs", func(t *testing.T) {
		for _, v := range q.Verbs {
			t.Run(v.Name, func(t *testing.T) {
				t.Parallel()
				for tries := 1; q.call(t, v, cause, end, tries < 3); tries++ {
				}
			})
		}
	})
	if n := Await(func() int { return strings.Count(Stacks(), q.Frame) }); n != 0 {
		t.Errorf("%d goroutines are in a store:\n%s", n, Stacks())
	}
}

// call calls a verb. It reports whether nothing of a commit was sent, as where a connection had to be made first, if it
// may be made again then.
func (q *Silence) call(t *testing.T, v Verb, cause error, end func(context.Context) (context.Context, context.CancelFunc), again bool) (unsent bool) {
	t.Helper()
	s := q.New(t)
	s.Proxy.Set(toxic.Fault{Kind: toxic.Drop})
	ctx, cancel := end(t.Context())
	defer cancel()
	begun := time.Now()
	err := v.Call(s, ctx)
	took := time.Since(begun)
	unsent = again && errors.Is(v.Kind, driver.ErrUnknownOutcome) && errors.Is(err, driver.ErrTimeout)
	if !unsent && !errors.Is(err, v.Kind) || !errors.Is(err, cause) {
		t.Errorf("%v, want %v and %v", err, v.Kind, cause)
	}
	if !errors.Is(v.Kind, driver.ErrUnknownOutcome) && errors.Is(err, driver.ErrUnknownOutcome) {
		t.Errorf("the outcome is unknown: %v", err)
	}
	if took < q.Lasts-20*time.Millisecond || took > q.Lasts+q.Slack {
		t.Errorf("it took %s, want %s", took.Round(time.Millisecond), q.Lasts)
	}
	s.Proxy.Heal()
	if err := s.Store.Define(t.Context(), s.Tables.All()); err != nil {
		t.Errorf("when it was over: %v", err)
	}
	if q.During != nil {
		q.During(s)
	}
	s.Repo.Close()
	links := s.Proxy.Links
	if q.Links != nil {
		links = func() int { return q.Links(s) }
	}
	if n := Await(links); n > 0 {
		t.Errorf("%d connections after Close", n)
	}
	return unsent
}
