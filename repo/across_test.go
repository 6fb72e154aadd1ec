package repo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

type shelf struct {
	Owner string       `repo:"owner"`
	Name  string       `repo:"name"`
	Books int          `repo:"books"`
	Ends  time.Time    `repo:",expires"`
	V     repo.Version `repo:",version"`
}

type book struct {
	Owner string       `repo:"owner"`
	Title string       `repo:"title"`
	Code  string       `repo:"code"`
	V     repo.Version `repo:",version"`
}

// A library is two collections of one store.
type library struct {
	store   *repo.Store
	shelves *repo.Repo[shelf]
	books   *repo.Repo[book]
}

func openLibrary(t *testing.T, backend driver.Store, opts *repo.Options) *library {
	t.Helper()
	l := &library{store: repo.NewStore(backend, opts)}
	var err1, err2 error
	l.shelves, err1 = repo.Open[shelf](t.Context(), l.store, repo.Schema{Collection: "shelves", Partition: []string{"owner"}, Sort: []string{"name"}})
	l.books, err2 = repo.Open[book](t.Context(), l.store, repo.Schema{Collection: "books", Partition: []string{"owner"}, Sort: []string{"title"},
		Indexes: []repo.Index{{Name: "by_code", Partition: []string{"code"}, Unique: true}}})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *library) group(add func(s repo.Writes[shelf], b repo.Writes[book]), opts ...repo.GroupOption) error {
	g := l.store.Group(opts...)
	add(l.shelves.In(g), l.books.In(g))
	return g.Commit(context.Background())
}

// has says which of some books there are, and how many the shelf counts.
func (l *library) has(t *testing.T) string {
	t.Helper()
	s, err := l.shelves.Get(t.Context(), repo.Key{"ann", "top"})
	n, failed := l.books.Count(t.Context(), repo.Where("owner", "ann"))
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	return fmt.Sprint(s.Books, n)
}

func TestGroupOfSeveralCollections(t *testing.T) {
	for _, uncertain := range []bool{false, true} {
		l := openLibrary(t, memory.New(&memory.Options{Uncertain: uncertain}), nil)
		top, one := shelf{Owner: "ann", Name: "top"}, book{Owner: "ann", Title: "one", Code: "1"}
		if err := l.group(func(s repo.Writes[shelf], b repo.Writes[book]) { s.Insert(&top); b.Insert(&one) }); err != nil || top.V.IsZero() || top.V != one.V {
			t.Fatalf("%v, versions %v and %v", err, top.V, one.V)
		}
		add := func(s repo.Writes[shelf]) {
			s.Update(repo.Key{"ann", "top"}, func(s *shelf) error { s.Books++; return nil })
		}
		for _, tt := range []struct {
			add                  func(s repo.Writes[shelf], b repo.Writes[book])
			kind                 error
			in, key, index, text string
		}{
			{func(s repo.Writes[shelf], b repo.Writes[book]) {
				add(s)
				b.Insert(&book{Owner: "ann", Title: "two", Code: "1"})
			}, repo.ErrExists, "books", "ann/two", "by_code", "insert, write 1"},
			{func(s repo.Writes[shelf], b repo.Writes[book]) {
				b.Insert(&book{Owner: "ann", Title: "two", Code: "1"})
				s.Check(repo.Key{"ann", "low"})
			}, repo.ErrNotFound, "shelves", "ann/low", "", "check, write 1"},
			{func(s repo.Writes[shelf], b repo.Writes[book]) {
				s.Check(repo.Key{"ann", "top"}, repo.IfAbsent())
				b.Insert(&book{Owner: "ann", Title: "one"})
			}, repo.ErrExists, "shelves", "ann/top", "", "check, write 0"},
			{func(s repo.Writes[shelf], b repo.Writes[book]) {
				add(s)
				b.Check(repo.Key{"ann", "one"}, repo.IfVersion(repo.Version{1}))
			}, repo.ErrConflict, "books", "ann/one", "", "check, write 1"},
			{func(s repo.Writes[shelf], b repo.Writes[book]) { b.Check(repo.Key{"ann"}); add(s) }, repo.ErrInvalid, "books", "", "", "check, write 0"},
			{func(s repo.Writes[shelf], _ repo.Writes[book]) { add(s); s.Check(repo.Key{"ann", "top"}) }, repo.ErrInvalid, "shelves", "ann/top", "", "named twice"},
			{func(s repo.Writes[shelf], b repo.Writes[book]) { add(s); b.Insert(&book{Owner: "bob", Title: "two"}) }, repo.ErrInvalid, "books", "bob/two", "", "AcrossPartitions"},
			{func(_ repo.Writes[shelf], b repo.Writes[book]) { b.Delete(repo.Key{"ann", "one"}, repo.IfAbsent()) }, repo.ErrInvalid, "books", "", "", "IfAbsent"},
			{func(_ repo.Writes[shelf], b repo.Writes[book]) {
				b.Check(repo.Key{"ann", "x"}, repo.IfAbsent(), repo.IfExists())
			}, repo.ErrInvalid, "books", "", "", "IfAbsent"},
		} {
			err := l.group(tt.add)
			e, ok := errors.AsType[*repo.Error](err)
			if !ok || !errors.Is(err, tt.kind) || e.Collection != tt.in || e.Key != tt.key || e.Index != tt.index || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%v; want %v of %s %s %s with %q", err, tt.kind, tt.in, tt.key, tt.index, tt.text)
			}
			if got := l.has(t); got != "0 1" {
				t.Fatalf("after a group that failed with %v there are %s", err, got)
			}
		}
		checkClean(t, l.books)
	}
}

func TestGroupChecks(t *testing.T) {
	now := time.Now()
	for _, uncertain := range []bool{false, true} {
		l := openLibrary(t, memory.New(&memory.Options{Uncertain: uncertain}), &repo.Options{Now: func() time.Time { return now }})
		one := book{Owner: "ann", Title: "one"}
		if err := errors.Join(l.shelves.Insert(t.Context(), &shelf{Owner: "ann", Name: "top"}), l.books.Insert(t.Context(), &one),
			l.shelves.Insert(t.Context(), &shelf{Owner: "ann", Name: "gone"}), l.shelves.Delete(t.Context(), repo.Key{"ann", "gone"}),
			l.shelves.Insert(t.Context(), &shelf{Owner: "ann", Name: "over", Ends: now.Add(time.Second)})); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Minute)
		for name, there := range map[string]bool{"top": true, "gone": false, "over": false, "never": false} {
			key := repo.Key{"ann", name}
			present := l.group(func(s repo.Writes[shelf], b repo.Writes[book]) { s.Check(key); b.Put(&one) })
			absent := l.group(func(s repo.Writes[shelf], b repo.Writes[book]) { s.Check(key, repo.IfAbsent()); b.Put(&one) })
			lone := l.group(func(s repo.Writes[shelf], _ repo.Writes[book]) { s.Check(key) })
			if there != (present == nil) || there != (lone == nil) || there != errors.Is(absent, repo.ErrExists) || !there && (absent != nil || !errors.Is(present, repo.ErrNotFound)) {
				t.Errorf("uncertain %v, %s: there: %v, absent: %v, alone: %v", uncertain, name, present, absent, lone)
			}
		}
		before := one.V
		if err := l.group(func(s repo.Writes[shelf], b repo.Writes[book]) {
			b.Check(repo.Key{"ann", "one"}, repo.IfVersion(one.V))
			s.Put(&shelf{Owner: "ann", Name: "top"})
		}); err != nil {
			t.Error(err)
		}
		if got, err := l.books.Get(t.Context(), repo.Key{"ann", "one"}); err != nil || got.V != before {
			t.Errorf("a check changed the version %v to %v, %v", before, got.V, err)
		}
	}
}

// What others write between the reading of a check and the commit is noticed.
func TestGroupChecksMeetWriters(t *testing.T) {
	for _, uncertain := range []bool{false, true} {
		backend := &slower{Store: memory.New(&memory.Options{Uncertain: uncertain})}
		l := openLibrary(t, backend, nil)
		top := repo.Key{"ann", "top"}
		write := func(n int) func() {
			return func() {
				if err := l.shelves.Put(context.Background(), &shelf{Owner: "ann", Name: "top", Books: n}); err != nil {
					t.Error(err)
				}
			}
		}
		remove := func() {
			if err := l.shelves.Delete(context.Background(), top); err != nil {
				t.Error(err)
			}
		}
		for i, tt := range []struct {
			before, meanwhile func()
			opts              []repo.WriteOption
			want              error
		}{
			{write(1), write(2), nil, nil}, {write(1), remove, nil, repo.ErrNotFound}, {remove, write(1), []repo.WriteOption{repo.IfAbsent()}, repo.ErrExists},
			{write(1), func() { remove(); write(1)() }, nil, nil}, {remove, func() { write(1)(); remove() }, []repo.WriteOption{repo.IfAbsent()}, nil},
		} {
			tt.before()
			opts := tt.opts
			backend.meanwhile = tt.meanwhile
			err := l.group(func(s repo.Writes[shelf], b repo.Writes[book]) {
				b.Insert(&book{Owner: "ann", Title: fmt.Sprint(i), Code: fmt.Sprint(i)})
				s.Check(top, opts...)
			})
			there, failed := l.books.Exists(t.Context(), repo.Key{"ann", fmt.Sprint(i)})
			if !errors.Is(err, tt.want) || there != (tt.want == nil) || failed != nil {
				t.Errorf("uncertain %v, %d: %v, book there %v; want %v", uncertain, i, err, there, tt.want)
			}
		}
		write(1)()
		s, err := l.shelves.Get(t.Context(), top)
		if err != nil {
			t.Fatal(err)
		}
		backend.meanwhile = write(2)
		err = l.group(func(shelves repo.Writes[shelf], b repo.Writes[book]) {
			shelves.Check(top, repo.IfVersion(s.V))
			b.Insert(&book{Owner: "ann", Title: "v"})
		})
		if !errors.Is(err, repo.ErrConflict) || errors.Is(err, repo.ErrContention) {
			t.Errorf("a version that another writer changed: %v", err)
		}
	}
}

func TestGroupsByUnit(t *testing.T) {
	oneOfEach := func(owner string) func(s repo.Writes[shelf], b repo.Writes[book]) {
		return func(s repo.Writes[shelf], b repo.Writes[book]) {
			s.Put(&shelf{Owner: "ann", Name: "top"})
			b.Put(&book{Owner: owner, Title: "one", Code: owner})
		}
	}
	two := func(s repo.Writes[shelf], _ repo.Writes[book]) {
		s.Put(&shelf{Owner: "ann", Name: "top"})
		s.Check(repo.Key{"ann", "low"}, repo.IfAbsent())
	}
	alone := func(s repo.Writes[shelf], _ repo.Writes[book]) { s.Put(&shelf{Owner: "ann", Name: "top"}) }
	no := repo.ErrUnsupported
	for scope, want := range map[driver.Scope][6]error{driver.ScopeStore: {}, driver.ScopePartition: {nil, nil, no, no, no, no}, driver.ScopeRecord: {nil, no, no, no, no, no}} {
		l := openLibrary(t, memory.New(&memory.Options{Scope: &scope}), nil)
		across := repo.AcrossPartitions()
		got := [6]error{l.group(alone), l.group(two), l.group(oneOfEach("ann")), l.group(oneOfEach("bob"), across), l.group(two, across), l.group(alone, across)}
		for i, err := range got {
			if !errors.Is(err, want[i]) || err != nil && !strings.Contains(err.Error(), "at a time") {
				t.Errorf("scope %s, %d: %v, want %v", scope, i, err, want[i])
			}
		}
	}
}

func TestGroupsOfStrangers(t *testing.T) {
	l, other := openLibrary(t, memory.New(nil), nil), openLibrary(t, memory.New(nil), nil)
	again, err := repo.Open[book](t.Context(), l.store, repo.Schema{Collection: "books", Partition: []string{"owner"}, Sort: []string{"title"},
		Indexes: []repo.Index{{Name: "by_code", Partition: []string{"code"}, Unique: true}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, add := range map[string]func(g *repo.Group){
		"another Store":  func(g *repo.Group) { other.books.In(g).Insert(&book{Owner: "ann", Title: "a"}) },
		"one repository": func(g *repo.Group) { l.books.In(g).Delete(repo.Key{"a", "b"}); again.In(g).Delete(repo.Key{"a", "c"}) },
	} {
		g := l.store.Group()
		add(g)
		if err := g.Commit(t.Context()); !errors.Is(err, repo.ErrInvalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	var none *repo.Group
	l.books.In(none).Insert(&book{})
	for name, g := range map[string]*repo.Group{"nil": none, "zero": new(repo.Group), "an option": l.store.Group(nil)} {
		if err := g.Commit(t.Context()); !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
}

// A hushed store does a commit of several ops and does not say so, nor answers to anything after it.
type hushed struct {
	driver.Store
	on   bool
	sent []driver.Op
}

func (s *hushed) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if !s.on {
		return s.Store.Commit(ctx, token, ops)
	}
	if s.sent == nil {
		s.sent = append(s.sent, ops...)
		if refusal, err := s.Store.Commit(ctx, token, ops); refusal != nil || err != nil {
			return refusal, err
		}
	}
	return nil, repo.ErrUnknownOutcome
}

func (s *hushed) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	if s.on && s.sent != nil {
		return repo.ErrUnavailable
	}
	return s.Store.Get(ctx, t, keys, mask, rows)
}

// What became of a group tells the first record that it writes, whatever it checks before.
func TestUnknownGroup(t *testing.T) {
	s := &hushed{Store: memory.New(&memory.Options{Uncertain: true})}
	l := openLibrary(t, s, nil)
	if err := l.shelves.Insert(t.Context(), &shelf{Owner: "ann", Name: "top"}); err != nil {
		t.Fatal(err)
	}
	s.on = true
	err := l.group(func(s repo.Writes[shelf], b repo.Writes[book]) {
		s.Check(repo.Key{"ann", "top"})
		b.Insert(&book{Owner: "ann", Title: "one"})
		s.Insert(&shelf{Owner: "ann", Name: "low"})
	})
	e, ok := errors.AsType[*repo.Error](err)
	if !ok || !errors.Is(err, repo.ErrUnknownOutcome) || e.Outcome == nil || e.Collection != "books" || e.Key != "ann/one" {
		t.Fatalf("%v, want an unknown outcome of books ann/one", err)
	}
	if n := len(s.sent); n < 3 || s.sent[0].Do == driver.Check || s.sent[n-1].Do != driver.Check {
		t.Errorf("sent %v, want the check last", s.sent)
	}
	s.on = false
	if v, err := l.books.Resolve(t.Context(), e.Outcome); v != repo.Committed || err != nil {
		t.Errorf("resolved as %v, %v", v, err)
	}
	if _, err := l.shelves.Resolve(t.Context(), e.Outcome); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("resolved by another repository: %v", err)
	}
	s.on, s.sent = true, []driver.Op{}
	err = l.group(func(s repo.Writes[shelf], b repo.Writes[book]) {
		s.Check(repo.Key{"ann", "top"})
		b.Check(repo.Key{"ann", "one"})
	})
	if !errors.Is(err, repo.ErrUnavailable) || errors.Is(err, repo.ErrUnknownOutcome) {
		t.Errorf("checks alone: %v, want ErrUnavailable", err)
	}
}

// Where one collection of a group is gone, nothing of the others is written, and nobody waits for the group afterwards.
func TestGroupOfCollectionThatIsGone(t *testing.T) {
	l := openLibrary(t, memory.New(nil), nil)
	if err := repo.DropCollection(t.Context(), l.store, "shelves"); err != nil {
		t.Fatal(err)
	}
	err := l.group(func(s repo.Writes[shelf], b repo.Writes[book]) {
		b.Insert(&book{Owner: "ann", Title: "one"})
		s.Insert(&shelf{Owner: "ann", Name: "top"})
	})
	there, failed := l.books.Exists(t.Context(), repo.Key{"ann", "one"})
	if !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), "shelves") || there || failed != nil {
		t.Errorf("%v, there %v, %v; want ErrSchema", err, there, failed)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := repo.DropCollection(ctx, l.store, "books"); err != nil {
		t.Errorf("the gate of the other collection is not free: %v", err)
	}
}
