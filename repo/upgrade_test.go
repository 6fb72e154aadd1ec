package repo_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
)

// A person in format 0 has one name; in format 1 two; in format 2 also a full one in lower case, which an index has.
type person struct {
	ID     string `repo:"id"`
	Name   string `repo:"name,omitempty"`
	First  string `repo:"first,omitempty"`
	Last   string `repo:"last,omitempty"`
	Full   string `repo:"full,omitempty"`
	Format int    `repo:"format"`
}

type newPerson struct{ person }

var errNoName = errors.New("a person has a name")

func (p *newPerson) Format() (*int, int) { return &p.person.Format, 2 }

func (p *newPerson) Upgrade(from int) error {
	switch from {
	case 0:
		if p.Name == "" {
			return errNoName
		}
		p.First, p.Last, _ = strings.Cut(p.Name, " ")
		p.Name = ""
	case 1:
		p.Full = strings.ToLower(p.First + " " + p.Last)
	}
	return nil
}

func people(index bool) repo.Schema {
	s := repo.Schema{Collection: "people", Partition: []string{"id"}}
	if index {
		s.Indexes = []repo.Index{{Partition: []string{"full"}}}
	}
	return s
}

// oldPeople opens people, of which there are 300 of the first two formats, one without a name and one of a format to come.
func oldPeople(t *testing.T) *repo.Repo[newPerson] {
	t.Helper()
	ctx, backend := t.Context(), memory.New(nil)
	open := func() *repo.Store { return repo.NewStore(backend, nil) }
	r, err := repo.Open[newPerson](ctx, open(), people(true))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := repo.Open[person](ctx, open(), people(true))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		p := person{ID: fmt.Sprintf("p%03d", i), Name: fmt.Sprint("Ann N", i)}
		if i%2 == 1 {
			p = person{ID: p.ID, First: "Ann", Last: fmt.Sprint("N", i), Format: 1}
		}
		if err := raw.Insert(ctx, &p); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []person{{ID: "none"}, {ID: "next", Format: 3, Full: "from the future"}} {
		if err := raw.Insert(ctx, &p); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// Records of older formats are upgraded when they are read, by every call, and stay as they are in the store.
func TestUpgradeOnRead(t *testing.T) {
	ctx, r := t.Context(), oldPeople(t)
	check := func(how string, p newPerson, err error, i int) {
		t.Helper()
		if want := fmt.Sprintf("ann n%d", i); err != nil || p.Full != want || p.person.Format != 2 || p.Name != "" {
			t.Errorf("%s: %+v, %v; want %q", how, p, err, want)
		}
	}
	for _, i := range []int{6, 7} {
		key := repo.Key{fmt.Sprintf("p%03d", i)}
		p, err := r.Get(ctx, key)
		check("get", p, err, i)
		many, _, err := r.GetMany(ctx, []repo.Key{key})
		check("get many", many[0], err, i)
		p, err = r.Update(ctx, key, func(p *newPerson) error { p.Last += "x"; p.Full += "x"; return nil })
		if err != nil || p.Full != fmt.Sprintf("ann n%dx", i) {
			t.Errorf("update: %+v, %v", p, err)
		}
		if _, err := r.Patch(ctx, repo.Key{fmt.Sprintf("p%03d", i+2)}, repo.Set("first", "Bob")); i == 7 && err != nil {
			t.Error(err)
		}
	}
	if n, err := r.Count(ctx, repo.Where("full", "ann n8")); n != 1 || err != nil {
		t.Errorf("the patch of a record in format 0 wrote it in format 2: %d, %v", n, err)
	}
	if n, err := r.Count(ctx, repo.Where("full", "ann n10")); n != 0 || err != nil {
		t.Errorf("a record that was not written is found by a field of format 2: %d, %v", n, err)
	}
	if _, err := r.Get(ctx, repo.Key{"none"}); !errors.Is(err, errNoName) || !strings.Contains(err.Error(), "upgrade from format 0") {
		t.Errorf("a record that cannot be upgraded: %v", err)
	}
	p, err := r.Update(ctx, repo.Key{"next"}, func(*newPerson) error { return nil })
	if err != nil || p.person.Format != 3 || p.Full != "from the future" {
		t.Errorf("a record of a newer program: %+v, %v", p, err)
	}
	fresh := newPerson{person{ID: "new", Full: "new one"}}
	if err := r.Insert(ctx, &fresh); err != nil || fresh.person.Format != 2 {
		t.Errorf("a new record: %+v, %v", fresh, err)
	}
}

// Upgrade writes what is old, goes on where it was left, and names what it cannot upgrade.
func TestUpgradeAll(t *testing.T) {
	ctx, r := t.Context(), oldPeople(t)
	looked, written, faults, mark := 0, 0, 0, ""
	for calls := 0; ; calls++ {
		for u, err := range r.Upgrade(ctx, mark) { // one chunk a call
			looked, written, mark = looked+u.Looked, written+u.Written, u.Mark
			if err != nil {
				faults++
				if !errors.Is(err, errNoName) {
					t.Error(err)
				}
			}
			break
		}
		if mark == "" || calls > 400 {
			break
		}
	}
	if looked != 302 || written != 300 || faults != 1 {
		t.Errorf("looked at %d, wrote %d, %d faults; want 302, 300 and 1", looked, written, faults)
	}
	for i := range 300 {
		if n, err := r.Count(ctx, repo.Where("full", fmt.Sprintf("ann n%d", i))); n != 1 || err != nil {
			t.Errorf("person %d: %d, %v", i, n, err)
		}
	}
	for u, err := range r.Upgrade(ctx, "") {
		if u.Written != 0 || err != nil && !errors.Is(err, errNoName) {
			t.Errorf("again: %+v, %v", u, err)
		}
	}
}

type (
	formatless struct{ person }
	belowZero  struct{ person }
	onAnother  struct{ person }
)

var elsewhere int

func (p *formatless) Format() (*int, int) { return &elsewhere, 1 }
func (p *formatless) Upgrade(int) error   { return nil }
func (p *belowZero) Format() (*int, int)  { return &p.person.Format, -1 }
func (p *belowZero) Upgrade(int) error    { return nil }
func (p *onAnother) Format() (*int, int)  { return nil, 1 }
func (p *onAnother) Upgrade(int) error    { return nil }

func TestFormatsThatAreNone(t *testing.T) {
	store := newStore(t, nil)
	_, one := repo.Open[formatless](t.Context(), store, people(false))
	_, two := repo.Open[belowZero](t.Context(), store, people(false))
	_, three := repo.Open[onAnother](t.Context(), store, people(false))
	for text, err := range map[string]error{"no pointer to an int field": one, "it begins with 0": two, "returns no pointer": three} {
		if !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), text) {
			t.Errorf("%v; want %q", err, text)
		}
	}
}
