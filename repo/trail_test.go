package repo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

type employee struct {
	Firm  string    `repo:"firm"`
	ID    string    `repo:"id"`
	Boss  string    `repo:"boss,omitempty"`
	Grade int64     `repo:"grade"`
	Until time.Time `repo:",expires"`
}

type firm struct {
	Firm string `repo:"firm"`
	Name string `repo:"name"`
}

var (
	employeeSchema = repo.Schema{Collection: "employees", Partition: []string{"firm"}, Sort: []string{"id"}, Indexes: []repo.Index{
		{Name: "below", Partition: []string{"firm"}, Sort: []string{"boss", "id"}, Kind: "native"},
		{Name: "above", Partition: []string{"firm"}, Sort: []string{"id"}, Kind: "native"},
		{Name: "graded", Partition: []string{"firm"}, Sort: []string{"grade", "boss"}, Kind: "native"},
	}}
	firmSchema = repo.Schema{Collection: "firms", With: "employees", Partition: []string{"firm"}}
)

// A following store counts trails, and may do something wrong.
type following struct {
	*memory.Store
	calls int
	wrong func(i *int, row *driver.Row) error
}

func (s *following) Follow(ctx context.Context, trail driver.Trail, beside []*driver.Table, yield func(i int, row *driver.Row) bool) (err error) {
	s.calls++
	failed := s.Store.Follow(ctx, trail, beside, func(i int, row *driver.Row) bool {
		if s.wrong != nil {
			if err = s.wrong(&i, row); err != nil {
				return false
			}
		}
		return yield(i, row)
	})
	return errors.Join(err, failed)
}

func namesOf(list []employee) string {
	var ids []string
	for _, e := range list {
		ids = append(ids, e.ID)
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

func openFirm(t *testing.T, now *time.Time) (*following, *repo.Store, *repo.Repo[employee], *repo.Repo[firm]) {
	f := &following{Store: memory.New(nil)}
	store := repo.NewStore(f, &repo.Options{Now: func() time.Time { return *now }})
	staff := filled(t, store, employeeSchema,
		employee{Firm: "x", ID: "ada"}, employee{Firm: "x", ID: "bob", Boss: "ada"}, employee{Firm: "x", ID: "cy", Boss: "bob"},
		employee{Firm: "x", ID: "dee", Boss: "cy", Until: time.UnixMilli(2000)}, employee{Firm: "x", ID: "eve", Boss: "dee"},
		employee{Firm: "y", ID: "zoe", Boss: "ada"})
	return f, store, staff, filled(t, store, firmSchema, firm{"x", "X & Co"}, firm{"y", "Y"})
}

func TestReached(t *testing.T) {
	now := time.UnixMilli(1000)
	f, store, staff, firms := openFirm(t, &now)
	for _, tt := range []struct {
		trail repo.Trail
		at    int64
		want  string
	}{
		{repo.Trail{Start: "ada", To: "boss", From: "id"}, 1000, "bob cy dee eve"},
		{repo.Trail{Start: "ada", To: "boss", From: "id", Depth: 2}, 1000, "bob cy"},
		{repo.Trail{Start: "ada", To: "boss", From: "id"}, 3000, "bob cy"}, // not by what has expired
		{repo.Trail{Start: "eve", To: "id", From: "boss"}, 1000, "ada bob cy dee eve"},
		{repo.Trail{Start: "eve", To: "id", From: "boss", Depth: 1}, 3000, "eve"},
		{repo.Trail{Start: "nobody", To: "boss", From: "id"}, 1000, ""},
	} {
		now = time.UnixMilli(tt.at)
		found, of := []employee{{}}, []firm(nil)
		f.calls = 0
		err := store.ReadPartition(t.Context(), repo.Key{"x"}, firms.Into(&of), staff.Reached(&found, tt.trail))
		if got := namesOf(found); err != nil || got != tt.want || len(of) != 1 || of[0].Name != "X & Co" || f.calls != 1 {
			t.Errorf("%+v: %q, %v in %d calls, %v; want %q", tt.trail, got, of, f.calls, err, tt.want)
		}
	}
}

func TestReachedFaults(t *testing.T) {
	now := time.UnixMilli(1000)
	f, store, staff, firms := openFirm(t, &now)
	other := repo.NewStore(struct{ driver.Store }{memory.New(nil)}, nil)
	plain := filled[employee](t, other, employeeSchema)
	good := repo.Trail{Start: "ada", To: "boss", From: "id"}
	for name, tt := range map[string]struct {
		of    *repo.Repo[employee]
		trail repo.Trail
		kind  error
		text  string
	}{
		"a start of another kind":  {staff, repo.Trail{Start: 7, To: "boss", From: "id"}, repo.ErrInvalid, "boss"},
		"no field To":              {staff, repo.Trail{Start: "a", To: "chief", From: "id"}, repo.ErrInvalid, "chief"},
		"no field From":            {staff, repo.Trail{Start: "a", To: "boss", From: "chief"}, repo.ErrInvalid, "chief"},
		"a field of another kind":  {staff, repo.Trail{Start: "a", To: "boss", From: "grade"}, repo.ErrInvalid, "grade"},
		"a depth below 0":          {staff, repo.Trail{Start: "a", To: "boss", From: "id", Depth: -1}, repo.ErrInvalid, "depth"},
		"an index that may lack":   {staff, repo.Trail{Start: int64(1), To: "grade", From: "grade"}, repo.ErrUnsupported, "grade"},
		"a store that follows not": {plain, good, repo.ErrUnsupported, "follows no references"},
	} {
		var found []employee
		on := map[*repo.Repo[employee]]*repo.Store{staff: store, plain: other}[tt.of]
		err := on.ReadPartition(t.Context(), repo.Key{"x"}, tt.of.Reached(&found, tt.trail))
		if !errors.Is(err, tt.kind) || !strings.Contains(fmt.Sprint(err), tt.text) || found != nil {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
	var found []employee
	var of []firm
	if err := store.ReadPartition(t.Context(), repo.Key{"x"}, staff.Reached(nil, good)); !errors.Is(err, repo.ErrInvalid) {
		t.Error(err)
	}
	for name, wrong := range map[string]func(i *int, row *driver.Row) error{
		"a table that was not asked for": func(i *int, _ *driver.Row) error { *i = 9; return nil },
		"too many fields":                func(_ *int, r *driver.Row) error { r.Fields = make([]driver.Value, 9); return nil },
	} {
		f.wrong = wrong
		if err := store.ReadPartition(t.Context(), repo.Key{"x"}, staff.Reached(&found, good), firms.Into(&of)); !errors.Is(err, repo.ErrInternal) || found != nil {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
	expired := false
	f.wrong = func(i *int, _ *driver.Row) error {
		if *i == 0 && !expired {
			expired, now = true, time.UnixMilli(3000)
		}
		return nil
	}
	if err := store.ReadPartition(t.Context(), repo.Key{"x"}, staff.Reached(&found, good), firms.Into(&of)); err != nil || namesOf(found) != "bob cy" {
		t.Errorf("where a record expires meanwhile: %v, %v", found, err)
	}
}
