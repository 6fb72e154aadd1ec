package repo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

type member struct {
	ID    string  `repo:"id"`
	Team  string  `repo:"team"`
	Score int64   `repo:"score"`
	Mail  *string `repo:"mail"`
	Note  string  `repo:"note"`
}

var memberSchema = repo.Schema{
	Collection: "members",
	Partition:  []string{"id"},
	Indexes: []repo.Index{
		{Partition: []string{"team"}, Sort: []string{"score"}},
		{Partition: []string{"mail"}, Unique: true},
	},
}

// A narrow is a store that changes one partition at a time, and whose commits a test
// can meddle with: before is asked what becomes of each.
type narrow struct {
	driver.Store
	mu     sync.Mutex
	before func(op *driver.Op) fate
	onRead func() // before records are read, once
	tables map[string]*driver.Table
}

func (s *narrow) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	s.mu.Lock()
	hook := s.onRead
	if t.Class == driver.Records {
		s.onRead = nil
	} else {
		hook = nil
	}
	s.mu.Unlock()
	if hook != nil {
		hook()
	}
	return s.Store.Get(ctx, t, keys, mask, rows)
}

func (s *narrow) Define(ctx context.Context, tables []*driver.Table) error {
	s.mu.Lock()
	for _, t := range tables {
		s.tables[t.Name] = t
	}
	s.mu.Unlock()
	return s.Store.Define(ctx, tables)
}

type fate uint8

const (
	asUsual    fate = iota
	never           // not done, and no answer
	answerLost      // done, and no answer
)

var errNoAnswer = fmt.Errorf("no answer: %w", driver.ErrUnknownOutcome)

func (s *narrow) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	s.mu.Lock()
	what := asUsual
	if s.before != nil {
		what = s.before(&ops[0])
	}
	s.mu.Unlock()
	if what == never {
		return nil, errNoAnswer
	}
	refusal, err := s.Store.Commit(ctx, token, ops)
	if what == answerLost {
		return nil, errNoAnswer
	}
	return refusal, err
}

func (s *narrow) meddle(before func(op *driver.Op) fate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = before
}

func newNarrow() *narrow {
	scope := driver.ScopePartition
	return &narrow{Store: memory.New(&memory.Options{Scope: &scope, Uncertain: true}), tables: map[string]*driver.Table{}}
}

// openMembers opens the collection as one of several programs does.
func openMembers(t *testing.T, s *narrow, observe func(repo.Event)) *repo.Repo[member] {
	t.Helper()
	store := repo.NewStore(s, &repo.Options{Tracer: ended(observe)})
	r, err := repo.Open[member](t.Context(), store, memberSchema)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func mail(s string) *string { return &s }

func insertMember(t *testing.T, r *repo.Repo[member], m member) {
	t.Helper()
	if err := r.Insert(t.Context(), &m); err != nil {
		t.Fatal(err)
	}
}

func setScore(t *testing.T, r *repo.Repo[member], id string, score int64) {
	t.Helper()
	if _, err := r.Update(t.Context(), repo.Key{id}, func(m *member) error { m.Score = score; return nil }); err != nil {
		t.Fatal(err)
	}
}

// membersOf returns the ids of the records that a query finds.
func membersOf(t *testing.T, r *repo.Repo[member], q repo.Query) string {
	t.Helper()
	var list []string
	for m, err := range r.Find(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m.ID)
	}
	return strings.Join(list, " ")
}

// rowsIn returns how many rows the table of an index has.
func rowsIn(t *testing.T, s *narrow, table string) (n int) {
	t.Helper()
	for chunk, err := range s.Walk(t.Context(), s.tables[table], "") {
		if err != nil {
			t.Fatal(err)
		}
		n += len(chunk.Rows)
	}
	return n
}

const teamRows, mailClaims = "members.by_team_score", "members.by_mail"

// A record that has moved in an index is found at its new place alone, from the
// first moment, although its old row stays for a minute.
func TestRemoteRowsThatWereLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newNarrow()
		r := openMembers(t, s, nil)
		for i, id := range []string{"a", "b", "c", "d"} {
			insertMember(t, r, member{ID: id, Team: "red", Score: int64(10 * i)})
		}
		setScore(t, r, "a", 25)
		setScore(t, r, "d", 5)
		setScore(t, r, "b", 11)
		setScore(t, r, "b", 10)
		q := repo.Where("team", "red").Order("score")
		for _, tt := range []struct {
			q    repo.Query
			want string
		}{
			{q, "d b c a"},
			{repo.Where("team", "red").Order("-score"), "a c b d"},
			{q.Limit(2), "d b"},
			{repo.Where("team", "red").Range("score", 0, 11), "d b"},
		} {
			if got := membersOf(t, r, tt.q); got != tt.want {
				t.Errorf("%v: %s, want %s", tt.q, got, tt.want)
			}
		}
		if n, err := r.Count(t.Context(), q); n != 4 || err != nil {
			t.Errorf("counted %d, %v; want 4", n, err)
		}
		if got, want := pagesOf(t, r, q.Limit(1)), "d b c a"; got != want {
			t.Errorf("pages of one: %s, want %s", got, want)
		}
		if n := rowsIn(t, s, teamRows); n != 8 {
			t.Errorf("%d rows before the old ones are dropped, want 8", n)
		}
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if n := rowsIn(t, s, teamRows); n != 4 {
			t.Errorf("%d rows a minute later, want 4", n)
		}
	})
}

// A record that moves between the listing of the rows and the reading of the records,
// to a place that was listed without it or to one behind, is met all the same, and once.
func TestRemoteMoveDuringFind(t *testing.T) {
	for _, tt := range []struct {
		order string
		to    int64
		want  string
	}{
		{"score", 15, "a b c"}, {"score", 25, "a b c"}, {"score", -5, "a b c"},
		{"-score", 15, "c b a"}, {"-score", 25, "c b a"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newNarrow()
			r, other := openMembers(t, s, nil), openMembers(t, s, nil)
			for i, id := range []string{"a", "b", "c"} {
				insertMember(t, r, member{ID: id, Team: "red", Score: int64(10 * i)})
			}
			s.mu.Lock()
			s.onRead = func() { setScore(t, other, "a", tt.to) }
			s.mu.Unlock()
			if got := membersOf(t, r, repo.Where("team", "red").Order(tt.order)); got != tt.want {
				t.Errorf("order %s, a moved to %d: %s, want %s", tt.order, tt.to, got, tt.want)
			}
		})
	}
}

func pagesOf(t *testing.T, r *repo.Repo[member], q repo.Query) string {
	t.Helper()
	var list []string
	for cursor := ""; ; {
		page, err := r.Page(t.Context(), q, cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.Items {
			list = append(list, m.ID)
		}
		if cursor = page.Next; cursor == "" {
			return strings.Join(list, " ")
		}
	}
}

// What a writer has put that stopped before its commit nobody sees; it keeps nobody
// from the unique value, and a sweep takes it away.
func TestRemoteWriterThatStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newNarrow()
		crashed := openMembers(t, s, nil)
		s.meddle(func(op *driver.Op) fate {
			if op.Table.Class == driver.Records || op.Do == driver.Delete {
				return never
			}
			return asUsual
		})
		m := member{ID: "a", Team: "red", Mail: mail("x")}
		if err := crashed.Insert(t.Context(), &m); !errors.Is(err, repo.ErrUnknownOutcome) {
			t.Fatalf("insert without an answer: %v", err)
		}
		s.meddle(nil)
		r := openMembers(t, s, nil)
		if got := membersOf(t, r, repo.Where("team", "red")) + membersOf(t, r, repo.Where("mail", "x")); got != "" {
			t.Errorf("found %s, want nothing", got)
		}
		if rows, claims := rowsIn(t, s, teamRows), rowsIn(t, s, mailClaims); rows != 1 || claims != 1 {
			t.Fatalf("%d rows and %d claims were left, want one each, or this tests nothing", rows, claims)
		}
		insertMember(t, r, member{ID: "b", Team: "blue", Mail: mail("x")})
		if got := membersOf(t, r, repo.Where("mail", "x")); got != "b" {
			t.Errorf("%s has the value, want b", got)
		}
		time.Sleep(time.Hour)
		done, err := r.Maintain(t.Context())
		if err != nil || done.Rows != 1 {
			t.Errorf("maintain: %+v, %v; want one row", done, err)
		}
		if rows, claims := rowsIn(t, s, teamRows), rowsIn(t, s, mailClaims); rows != 1 || claims != 1 {
			t.Errorf("%d rows and %d claims, want those of b", rows, claims)
		}
	})
}

// While the outcome of a commit is unknown its rows stay, for it may have been done.
func TestRemoteCommitWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newNarrow()
		r := openMembers(t, s, nil)
		insertMember(t, r, member{ID: "a", Team: "red", Mail: mail("x")})
		lost := false
		s.meddle(func(op *driver.Op) fate {
			if op.Table.Class == driver.Records && !lost {
				lost = true
				return answerLost
			}
			return asUsual
		})
		setTeam := func(m *member) error { m.Team, m.Mail = "blue", mail("y"); return nil }
		if _, err := r.Update(t.Context(), repo.Key{"a"}, setTeam); err != nil || !lost {
			t.Errorf("update whose answer was lost: %v, %v", err, lost)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		got := membersOf(t, r, repo.Where("team", "blue")) + membersOf(t, r, repo.Where("mail", "y")) + membersOf(t, r, repo.Where("team", "red"))
		if got != "aa" || rowsIn(t, s, teamRows) != 1 || rowsIn(t, s, mailClaims) != 1 {
			t.Errorf("found %s, %d rows, %d claims", got, rowsIn(t, s, teamRows), rowsIn(t, s, mailClaims))
		}
	})
}

// A row that gets no answer ends a write before its commit: nothing has happened.
func TestRemoteRowWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newNarrow()
		r := openMembers(t, s, nil)
		s.meddle(func(op *driver.Op) fate {
			if op.Table.Class == driver.Claims && op.Do == driver.Put {
				return answerLost
			}
			return asUsual
		})
		m := member{ID: "a", Team: "red", Mail: mail("x")}
		// The claim was put: sent again it is the writer's own.
		if err := r.Insert(t.Context(), &m); !errors.Is(err, repo.ErrUnavailable) || errors.Is(err, repo.ErrUnknownOutcome) {
			t.Errorf("insert: %v, want ErrUnavailable", err)
		}
		synctest.Wait()
		if found, err := r.Exists(t.Context(), repo.Key{"a"}); found || err != nil {
			t.Errorf("exists %v, %v", found, err)
		}
		s.meddle(nil)
		insertMember(t, r, m)
		if got := membersOf(t, r, repo.Where("mail", "x")); got != "a" {
			t.Errorf("%q has the value, want a", got)
		}
	})
}

// What each verb costs in round trips, one after the other: two more at most than
// the guarded write alone.
func TestRemoteRoundTrips(t *testing.T) {
	var events []repo.Event
	r := openMembers(t, newNarrow(), func(e repo.Event) { events = append(events, e) })
	events = nil // of Open
	insertMember(t, r, member{ID: "a", Team: "red", Mail: mail("x")})
	setScore(t, r, "a", 3)
	if _, err := r.Update(t.Context(), repo.Key{"a"}, func(m *member) error { m.Note = "n"; return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Patch(t.Context(), repo.Key{"a"}, repo.Set("note", "m")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.PatchBlind(t.Context(), repo.Key{"a"}, repo.Set("note", "o")); err != nil {
		t.Fatal(err)
	}
	membersOf(t, r, repo.Where("team", "red"))
	membersOf(t, r, repo.Where("mail", "x"))
	if err := r.Delete(t.Context(), repo.Key{"a"}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		got = append(got, fmt.Sprintf("%s %d", e.Op, e.Depth))
	}
	want := []string{"insert 3", "update 3", "update 2", "patch 2", "patch 1", "find 2", "find 2", "delete 2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Many writers fight for few unique values and places; at the end the indexes have
// what the records say, and nobody shares a value.
func TestRemoteWritersAtOnce(t *testing.T) {
	s := newNarrow()
	var all sync.WaitGroup
	for w := range 8 {
		r := openMembers(t, s, nil)
		all.Go(func() {
			for i := range 60 {
				m := member{ID: fmt.Sprint((w + i) % 6), Team: fmt.Sprint(i % 2), Score: int64(i % 5), Mail: mail(fmt.Sprint((w * i) % 4))}
				err := r.Put(t.Context(), &m)
				if i%7 == 6 {
					err = r.Delete(t.Context(), repo.Key{m.ID})
				}
				if err != nil && !errors.Is(err, repo.ErrExists) && !errors.Is(err, repo.ErrConflict) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	r := openMembers(t, s, nil)
	reports, err := r.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, rep := range reports {
		if !rep.Clean() {
			t.Errorf("%+v", rep)
		}
	}
	var mails []string
	for m, err := range r.Scan(t.Context(), repo.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		mails = append(mails, *m.Mail)
		if got := membersOf(t, r, repo.Where("mail", *m.Mail)); got != m.ID {
			t.Errorf("%s has the value %s, found %q", m.ID, *m.Mail, got)
		}
	}
	slices.Sort(mails)
	if len(slices.Compact(slices.Clone(mails))) != len(mails) {
		t.Errorf("values %v are not unique", mails)
	}
}

// A group in which two records want one unique value is refused as a whole, also where
// another unique index has the same text.
func TestRemoteValueTwiceInAGroup(t *testing.T) {
	type person struct {
		House string `repo:"house"`
		ID    string `repo:"id"`
		Mail  string `repo:"mail"`
		Nick  string `repo:"nick"`
	}
	s := newNarrow()
	people, err := repo.Open[person](t.Context(), repo.NewStore(s, nil), repo.Schema{Collection: "people",
		Partition: []string{"house"}, Sort: []string{"id"},
		Indexes: []repo.Index{{Partition: []string{"mail"}, Unique: true}, {Partition: []string{"nick"}, Unique: true}}})
	if err != nil {
		t.Fatal(err)
	}
	g := people.Store().Group()
	in := people.In(g)
	in.Insert(&person{"h", "a", "x", "x"})
	in.Insert(&person{"h", "b", "x", "y"})
	if err := g.Commit(t.Context()); !errors.Is(err, repo.ErrExists) {
		t.Errorf("two records of a group with one mail: %v, want ErrExists", err)
	}
	for _, id := range []string{"a", "b"} {
		if found, err := people.Exists(t.Context(), repo.Key{"h", id}); found || err != nil {
			t.Errorf("%s is there: %v, %v", id, found, err)
		}
	}
	// A value that one record of a group has does not pass to another one within it.
	a, b := person{"h", "a", "x", "1"}, person{"h", "b", "y", "2"}
	for _, tt := range []struct {
		mailA, mailB string
		want         error
	}{{"x", "y", nil}, {"y", "x", repo.ErrExists}, {"z", "x", repo.ErrExists}, {"z", "y", nil}, {"z", "x", nil}} {
		a.Mail, b.Mail = tt.mailA, tt.mailB
		g := people.Store().Group()
		in := people.In(g)
		in.Put(&a)
		in.Put(&b)
		if err := g.Commit(t.Context()); !errors.Is(err, tt.want) {
			t.Errorf("a group that gives a %s and b %s: %v, want %v", tt.mailA, tt.mailB, err, tt.want)
		}
	}
}

// A record whose tokens cannot be read is damaged, not one without the value.
func TestRemoteTokensThatCannotBeRead(t *testing.T) {
	s := newNarrow()
	r := openMembers(t, s, nil)
	insertMember(t, r, member{ID: "a", Team: "red", Mail: mail("x")})
	table := s.tables["members"]
	part, err := driver.AppendParts(nil, table.Partition, []driver.Value{driver.StringValue("a")})
	if err != nil {
		t.Fatal(err)
	}
	op := driver.Op{Do: driver.Patch, Table: table, If: driver.Present, PatchMeta: true,
		Row: driver.Row{Key: driver.Key{Partition: string(part)}, Meta: "by_mail=?"}}
	if refusal, err := s.Commit(t.Context(), driver.NewToken(), []driver.Op{op}); refusal != nil || err != nil {
		t.Fatal(refusal, err)
	}
	if _, err := r.One(t.Context(), repo.Where("mail", "x")); !errors.Is(err, repo.ErrCorrupt) {
		t.Errorf("one by mail: %v, want ErrCorrupt", err)
	}
}
