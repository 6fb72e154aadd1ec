package repotest_test

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
	"github.com/polystore/polystore/repotest"
)

var (
	_ driver.Store    = (*repotest.Store)(nil)
	_ driver.Counter  = (*repotest.Store)(nil)
	_ driver.Follower = (*repotest.Store)(nil)
	_ driver.Grouper  = (*repotest.Store)(nil)
	_ driver.Sizer    = (*repotest.Store)(nil)
	_ driver.Clock    = (*repotest.Store)(nil)
)

func notes() *driver.Table {
	return &driver.Table{
		Name:      "notes",
		Partition: []driver.Column{{Name: "p", Kind: driver.String}},
		Sort:      []driver.Column{{Name: "s", Kind: driver.Int}},
		Fields:    []driver.Column{{Name: "text", Kind: driver.String}},
		Ring:      4,
	}
}

func key(id int) driver.Key { return driver.Key{Partition: "p#", Sort: fmt.Sprintf("a%d#", id)} }

func put(t *driver.Table, id int, cond driver.Cond) []driver.Op {
	row := driver.Row{Key: key(id), Fields: []driver.Value{driver.StringValue("text")}}
	return []driver.Op{{Do: driver.Put, Table: t, If: cond, Row: row}}
}

// wrap returns a memory store in a wrapper, which knows the table.
func wrap(t *testing.T, table *driver.Table, opts *repotest.Options) *repotest.Store {
	t.Helper()
	inner := memory.New(nil)
	if err := inner.Define(t.Context(), []*driver.Table{table}); err != nil {
		t.Fatal(err)
	}
	s, err := repotest.New(inner, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// there says whether a note is there.
func there(t *testing.T, s *repotest.Store, table *driver.Table, id int) bool {
	t.Helper()
	return !get(t, s, table, id).Rev.IsZero()
}

func get(t *testing.T, s *repotest.Store, table *driver.Table, id int) driver.Row {
	t.Helper()
	rows := make([]driver.Row, 1)
	if err := s.Get(context.Background(), table, []driver.Key{key(id)}, nil, rows); err != nil {
		t.Fatal(err)
	}
	return rows[0]
}

func TestWhichCalls(t *testing.T) {
	tests := []struct {
		name string
		rule repotest.Rule
		want string // of eight Gets
	}{
		{"all", repotest.Rule{On: repotest.Get}, "xxxxxxxx"},
		{"any call", repotest.Rule{}, "xxxxxxxx"},
		{"of this table", repotest.Rule{On: repotest.Get, Table: "notes"}, "xxxxxxxx"},
		{"of another table", repotest.Rule{On: repotest.Get, Table: "other"}, "........"},
		{"of another method", repotest.Rule{On: repotest.Range}, "........"},
		{"the third", repotest.Rule{On: repotest.Get, Nth: 3}, "..x....."},
		{"each third", repotest.Rule{On: repotest.Get, Every: 3}, "..x..x.."},
	}
	for _, tt := range tests {
		tt.rule.Fault = repotest.Unavailable
		table := notes()
		s := wrap(t, table, &repotest.Options{Rules: []repotest.Rule{tt.rule}})
		if got := gets(t, s, table, 8); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// gets reads so many times and returns x for each that failed.
func gets(t *testing.T, s *repotest.Store, table *driver.Table, n int) string {
	var b strings.Builder
	for range n {
		err := s.Get(t.Context(), table, nil, nil, nil)
		switch {
		case err == nil:
			b.WriteByte('.')
		case errors.Is(err, driver.ErrUnavailable):
			b.WriteByte('x')
		default:
			t.Error(err)
		}
	}
	return b.String()
}

func TestSharesDependOnTheSeedOnly(t *testing.T) {
	table := notes()
	pattern := func(seed uint64) string {
		rules := []repotest.Rule{{On: repotest.Get, Share: 0.3, Fault: repotest.Unavailable}}
		return gets(t, wrap(t, table, &repotest.Options{Seed: seed, Rules: rules}), table, 400)
	}
	one := pattern(1)
	if n := strings.Count(one, "x"); n < 80 || n > 160 {
		t.Errorf("%d of 400 calls failed, want about 120", n)
	}
	if one != pattern(1) {
		t.Error("the same seed gives other faults")
	}
	if one == pattern(2) {
		t.Error("another seed gives the same faults")
	}
}

func TestEveryMethodMeetsFaults(t *testing.T) {
	table := notes()
	s := wrap(t, table, nil)
	calls := map[repotest.Call]func() error{
		repotest.Define: func() error { return s.Define(t.Context(), []*driver.Table{table}) },
		repotest.Attach: func() error { return s.Attach(t.Context(), []*driver.Table{table}) },
		repotest.Drop:   func() error { return s.Drop(t.Context(), nil) },
		repotest.Get:    func() error { return s.Get(t.Context(), table, nil, nil, nil) },
		repotest.Commit: func() error {
			_, err := s.Commit(t.Context(), driver.NewToken(), put(table, 1, driver.Any))
			return err
		},
		repotest.Range: func() (last error) {
			for _, err := range s.Range(t.Context(), driver.Span{Table: table, Key: key(1)}) {
				last = err
			}
			return last
		},
		repotest.Walk: func() (last error) {
			for _, err := range s.Walk(t.Context(), table, "") {
				last = err
			}
			return last
		},
		repotest.Count: func() error {
			_, err := s.Count(t.Context(), driver.Span{Table: table, Key: key(1)})
			return err
		},
		repotest.Size: func() error { _, err := s.Size(t.Context(), table); return err },
	}
	for c, call := range calls {
		for _, on := range []repotest.Call{c, repotest.AnyCall} {
			if err := s.Set(repotest.Rule{On: on, Fault: repotest.Unavailable}); err != nil {
				t.Fatal(err)
			}
			if err := call(); !errors.Is(err, driver.ErrUnavailable) {
				t.Errorf("%v with a rule = %v, want ErrUnavailable", c, err)
			}
		}
		if err := s.Set(); err != nil {
			t.Fatal(err)
		}
		if err := call(); err != nil {
			t.Errorf("%v without rules = %v", c, err)
		}
	}
}

func TestLoopsBreakOff(t *testing.T) {
	table := notes()
	s := wrap(t, table, nil)
	for id := range 5 {
		if _, err := s.Commit(t.Context(), driver.NewToken(), put(table, id, driver.Any)); err != nil {
			t.Fatal(err)
		}
	}
	for _, after := range []int{0, 3, 5, 9} {
		if err := s.Set(repotest.Rule{On: repotest.Range, Fault: repotest.Timeout, After: after}); err != nil {
			t.Fatal(err)
		}
		n := 0
		var last error
		for r, err := range s.Range(t.Context(), driver.Span{Table: table, Key: key(0)}) {
			if last = err; r != nil {
				n++
			}
		}
		if n != min(after, 5) || !errors.Is(last, driver.ErrTimeout) {
			t.Errorf("after %d: %d rows, then %v", after, n, last)
		}
	}
	for r := range s.Range(t.Context(), driver.Span{Table: table, Key: key(0)}) { // leaving it early is no error
		if r != nil {
			break
		}
	}
}

func TestDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := notes()
		rules := []repotest.Rule{
			{On: repotest.Get, Delay: time.Second},
			{Delay: time.Minute, Jitter: time.Minute},
		}
		var took []time.Duration
		s := wrap(t, table, &repotest.Options{Rules: rules, Observe: func(e repotest.Event) { took = append(took, e.Took) }})
		for range 20 {
			if err := s.Get(t.Context(), table, nil, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(took)
		if first, last := took[0], took[len(took)-1]; first < 61*time.Second || last > 121*time.Second || last-first < 20*time.Second {
			t.Errorf("the calls took %v to %v, want them spread over 61 s to 121 s", first, last)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.Commit(ctx, driver.NewToken(), put(table, 1, driver.Any))
		if !errors.Is(err, driver.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Commit whose context ends during the delay = %v", err)
		}
		if there(t, s, table, 1) {
			t.Error("it was done")
		}
	})
}

func TestBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := notes()
		s := wrap(t, table, &repotest.Options{Rules: []repotest.Rule{{On: repotest.Commit, Fault: repotest.Blocked}}})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var answers [3]error
		var group sync.WaitGroup
		for id, ctx := range []context.Context{ctx, t.Context(), t.Context()} {
			group.Go(func() {
				_, answers[id] = s.Commit(ctx, driver.NewToken(), put(table, id, driver.Any))
			})
			synctest.Wait()
			switch id {
			case 0:
				cancel()
			case 1:
				if there(t, s, table, 1) {
					t.Error("a blocked commit was done")
				}
				s.Release()
				synctest.Wait()
				if !there(t, s, table, 1) || there(t, s, table, 0) {
					t.Error("want the released one to be done, and the one whose context ended not")
				}
			case 2:
				s.Close()
			}
		}
		group.Wait()
		if !errors.Is(answers[0], driver.ErrTimeout) || !errors.Is(answers[0], context.Canceled) {
			t.Errorf("context ended: %v", answers[0])
		}
		if answers[1] != nil || !errors.Is(answers[2], driver.ErrClosed) {
			t.Errorf("released: %v, closed: %v", answers[1], answers[2])
		}
	})
}

func TestObserver(t *testing.T) {
	table := notes()
	var events []repotest.Event
	s := wrap(t, table, &repotest.Options{
		Rules:   []repotest.Rule{{On: repotest.Commit, Nth: 2, Fault: repotest.Taken}},
		Observe: func(e repotest.Event) { e.Took = 0; events = append(events, e) },
	})
	there(t, s, table, 1)
	for range 2 {
		if _, err := s.Commit(t.Context(), driver.NewToken(), put(table, 1, driver.Absent)); err != nil {
			t.Fatal(err)
		}
	}
	for range s.Walk(t.Context(), table, "") {
	}
	names := []string{"notes"}
	want := []repotest.Event{
		{Call: repotest.Get, Tables: names, Number: 1},
		{Call: repotest.Commit, Tables: names, Number: 1},
		{Call: repotest.Commit, Tables: names, Number: 2, Fault: repotest.Taken, Rule: "rule 1 of repotest", Refused: true},
		{Call: repotest.Walk, Tables: names, Number: 1},
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events: -want +got\n%s", diff)
	}
}

func TestBadRules(t *testing.T) {
	tests := map[string]repotest.Rule{
		"an unknown call":         {On: 99},
		"an unknown fault":        {On: repotest.Commit, Fault: 99},
		"nth and every":           {Nth: 1, Every: 2},
		"every and share":         {Every: 1, Share: 0.5},
		"a negative nth":          {Nth: -1},
		"a share above one":       {Share: 1.5},
		"a negative delay":        {Delay: -1},
		"conflict of a get":       {On: repotest.Get, Fault: repotest.Conflict},
		"lost answer of any call": {Fault: repotest.LostAnswer},
		"an unknown operation":    {Operation: "isnert"},
	}
	for name, rule := range tests {
		if _, err := repotest.New(memory.New(nil), &repotest.Options{Rules: []repotest.Rule{rule}}); !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	late := repotest.Rule{On: repotest.Commit, Fault: repotest.Late}
	for _, uncertain := range []bool{false, true} {
		s := wrap(t, notes(), &repotest.Options{Uncertain: uncertain})
		if err := s.Set(late); (err == nil) != uncertain || err != nil && !strings.Contains(err.Error(), "Options.Uncertain") {
			t.Errorf("a rule for unknown outcomes on a store that is uncertain %v: %v", uncertain, err)
		}
	}
}

// TestPlainStoreWithin wraps a store without the optional abilities.
func TestPlainStoreWithin(t *testing.T) {
	table := notes()
	inner := struct{ driver.Store }{memory.New(nil)}
	if err := inner.Define(t.Context(), []*driver.Table{table}); err != nil {
		t.Fatal(err)
	}
	s, err := repotest.New(inner, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for id := range 3 {
		if _, err := s.Commit(t.Context(), driver.NewToken(), put(table, id, driver.Any)); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.Count(t.Context(), driver.Span{Table: table, Key: key(0)}); n != 3 || err != nil {
		t.Errorf("Count = %d, %v, want 3", n, err)
	}
	if _, err := s.Size(t.Context(), table); !errors.Is(err, driver.ErrUnsupported) {
		t.Errorf("Size = %v, want ErrUnsupported", err)
	}
	if err := s.Follow(t.Context(), driver.Trail{}, nil, nil); !errors.Is(err, driver.ErrUnsupported) {
		t.Errorf("Follow = %v, want ErrUnsupported", err)
	}
	if err := s.Group(t.Context(), driver.Grouping{}, nil); !errors.Is(err, driver.ErrUnsupported) {
		t.Errorf("Group = %v, want ErrUnsupported", err)
	}
	if _, err := s.Time(t.Context()); !errors.Is(err, driver.ErrUnsupported) {
		t.Errorf("Time = %v, want ErrUnsupported", err)
	}
}

// A clocked store tells a time.
type clocked struct {
	driver.Store
	at time.Time
}

func (s clocked) Time(context.Context) (time.Time, error) { return s.at, nil }

func TestTheClockWithin(t *testing.T) {
	s, err := repotest.New(clocked{memory.New(nil), time.Now().Add(2 * time.Minute)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	schema := repo.Schema{Collection: "levels", Partition: []string{"id"}}
	if _, err := repo.Open[struct{ ID string }](t.Context(), repo.NewStore(s, nil), schema); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("open with clocks two minutes apart: %v, want ErrInvalid", err)
	}
}

// What a store does by itself breaks off as loops do.
func TestAbilitiesBreakOff(t *testing.T) {
	table := notes()
	inner := memory.New(&memory.Options{Native: true})
	index := &driver.Table{Name: "by_text", Class: driver.Rows, Native: true, Home: table, Partition: table.Partition, Sort: table.Fields}
	if err := inner.Define(t.Context(), []*driver.Table{table, index}); err != nil {
		t.Fatal(err)
	}
	s, err := repotest.New(inner, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for id := range 3 {
		op := put(table, id, driver.Any)
		op[0].Row.Fields[0] = driver.StringValue(fmt.Sprint(id))
		if _, err := s.Commit(t.Context(), driver.NewToken(), op); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for name, call := range map[string]func() error{
		"group": func() error {
			g := driver.Grouping{Span: driver.Span{Table: index, Key: driver.Key{Partition: "p#"}}, Columns: 1}
			return s.Group(t.Context(), g, func(*driver.Group) bool { n++; return n < 3 })
		},
		"follow": func() error {
			trail := driver.Trail{Index: index, Partition: "p#", Start: driver.StringValue("1"), From: "text"}
			return s.Follow(t.Context(), trail, []*driver.Table{table}, func(int, *driver.Row) bool { n++; return n < 3 })
		},
	} {
		for _, after := range []int{0, 2, 9} {
			if err := s.Set(repotest.Rule{Fault: repotest.Timeout, After: after}); err != nil {
				t.Fatal(err)
			}
			n = 0
			if err := call(); errors.Is(err, driver.ErrTimeout) != (after < 3) || n != min(after, 3) {
				t.Errorf("%s that breaks off after %d = %v, %d", name, after, err, n)
			}
		}
	}
}
