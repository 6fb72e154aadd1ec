package repo_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/repo"
)

// An animal is a record of one of several types.
type animal interface{ sound() string }

type dog struct {
	ID      string       `repo:"id"`
	Kind    string       `repo:"kind"`
	Name    string       `repo:"name"`
	Age     int8         `repo:"age"`
	Tricks  []string     `repo:"tricks"`
	Version repo.Version `repo:",version"`
}

type cat struct {
	ID    string    `repo:"id"`
	Kind  string    `repo:"kind"`
	Name  string    `repo:"name"`
	Age   int64     `repo:"age"`
	Lives int       `repo:"lives"`
	Born  time.Time `repo:"born"`
}

type otherAnimal struct {
	ID   string         `repo:"id"`
	Kind string         `repo:"kind"`
	Rest map[string]any `repo:",extra"`
}

func (*dog) sound() string         { return "wuff" }
func (*cat) sound() string         { return "miau" }
func (*otherAnimal) sound() string { return "" }

// Derive makes a cat have nine lives.
func (c *cat) Derive() error {
	if c.Lives == 0 {
		c.Lives = 9
	}
	return nil
}

func animalSchema(of map[string]any) repo.Schema {
	return repo.Schema{Collection: "animals", Partition: []string{"id"}, Types: repo.Types{Field: "kind", Of: of}, Indexes: []repo.Index{
		{Name: "by_kind", Partition: []string{"kind"}, Sort: []string{"id"}},
		{Name: "by_trick", Partition: []string{"tricks[]"}},
		{Name: "by_lives", Partition: []string{"lives"}},
	}}
}

var allAnimals = map[string]any{"dog": dog{}, "cat": &cat{}, "": otherAnimal{}}

// Records of several types are written, found and changed as what they are.
func TestTypes(t *testing.T) {
	store := newStore(t, nil)
	r, err := repo.Open[animal](t.Context(), store, animalSchema(allAnimals))
	if err != nil {
		t.Fatal(err)
	}
	rex, mia := &dog{ID: "1", Name: "Rex", Tricks: []string{"sit", "roll"}}, &cat{ID: "2", Name: "Mia", Age: 300}
	for _, a := range []animal{rex, mia} {
		if err := r.Put(t.Context(), &a); err != nil {
			t.Fatal(err)
		}
	}
	if rex.Kind != "dog" || rex.Version.IsZero() || mia.Kind != "cat" || mia.Lives != 9 {
		t.Errorf("written: %+v, %+v", rex, mia)
	}
	a, err := r.Get(t.Context(), repo.Key{"1"})
	if d, ok := a.(*dog); err != nil || !ok || !reflect.DeepEqual(d, rex) {
		t.Errorf("get: %+v, %v", a, err)
	}
	if a, err = r.One(t.Context(), repo.Where("tricks[]", "sit")); err != nil || a.sound() != "wuff" {
		t.Errorf("by trick: %+v, %v", a, err)
	}
	if a, err = r.One(t.Context(), repo.Where("lives", 9)); err != nil || a.(*cat).Name != "Mia" {
		t.Errorf("by lives: %+v, %v", a, err)
	}
	// what fits one type does not fit the other
	if _, err := r.Patch(t.Context(), repo.Key{"1"}, repo.Set("age", 300)); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("an age of 300 for a dog: %v", err)
	}
	if _, err := r.Patch(t.Context(), repo.Key{"2"}, repo.Set("age", 301)); err != nil {
		t.Errorf("an age of 301 for a cat: %v", err)
	}
	for id, edit := range map[string]repo.Edit{"1": repo.Set("lives", 3), "2": repo.Push("tricks", 0, "sit")} {
		for _, edit := range []repo.Edit{edit, repo.Set("bogus", 1), repo.Set("kind", "dog"), repo.Add("votes.tea", 1)} {
			if _, err := r.Patch(t.Context(), repo.Key{id}, edit); !errors.Is(err, repo.ErrInvalid) {
				t.Errorf("an edit of what %s does not have: %v", id, err)
			}
		}
	}
	changed, err := r.Update(t.Context(), repo.Key{"2"}, func(a *animal) error {
		*a = &dog{ID: "2", Name: (*a).(*cat).Name + " the dog"}
		return nil
	})
	if d, ok := changed.(*dog); err != nil || !ok || d.Name != "Mia the dog" || d.Kind != "dog" {
		t.Errorf("changed: %+v, %v", changed, err)
	}
	if _, err = r.One(t.Context(), repo.Where("lives", 9)); !errors.Is(err, repo.ErrNotFound) {
		t.Errorf("a dog with nine lives: %v", err)
	}
	reports, err := r.Verify(t.Context())
	for _, report := range reports {
		if !report.Clean() {
			t.Errorf("verify: %+v", report)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// A type that a program does not know breaks no read, and is kept when the record is written back.
func TestUnknownTypes(t *testing.T) {
	store := newStore(t, nil)
	schema := func(of map[string]any) repo.Schema {
		s := animalSchema(of)
		s.Indexes = s.Indexes[:1]
		return s
	}
	newer, err := repo.Open[animal](t.Context(), store, schema(allAnimals))
	if err != nil {
		t.Fatal(err)
	}
	born := time.UnixMilli(5).UTC()
	mia := &cat{ID: "2", Name: "Mia", Age: 3, Born: born}
	if err := newer.Put(t.Context(), new(animal(mia))); err != nil {
		t.Fatal(err)
	}
	older, err := repo.Open[animal](t.Context(), store, schema(map[string]any{"dog": dog{}, "": otherAnimal{}}))
	if err != nil {
		t.Fatal(err)
	}
	found, err := repo.Collect(older.Find(t.Context(), repo.Where("kind", "cat")))
	if err != nil || len(found) != 1 {
		t.Fatalf("find: %v, %v", found, err)
	}
	other, ok := found[0].(*otherAnimal)
	if want := map[string]any{"name": "Mia", "age": int64(3), "lives": int64(9), "born": born}; !ok || other.Kind != "cat" || !reflect.DeepEqual(other.Rest, want) {
		t.Fatalf("an unknown type: %+v", found[0])
	}
	other.Rest["note"] = "seen"
	if err := older.Put(t.Context(), new(animal(other))); err != nil {
		t.Fatal(err)
	}
	if a, err := newer.Get(t.Context(), repo.Key{"2"}); err != nil || !reflect.DeepEqual(a, mia) {
		t.Errorf("written back: %+v, %v", a, err)
	}
	if list, err := repo.Collect(newer.Scan(t.Context(), repo.Where("note", "seen"))); err != nil || len(list) != 1 {
		t.Errorf("the note: %v, %v", list, err)
	}
	if _, err := newer.Update(t.Context(), repo.Key{"2"}, func(a *animal) error { (*a).(*cat).Age++; return nil }); err != nil {
		t.Fatal(err)
	}
	if list, err := repo.Collect(newer.Scan(t.Context(), repo.Where("note", "seen"))); err != nil || len(list) != 1 || list[0].(*cat).Age != 4 {
		t.Errorf("the note after an update by a type without undeclared fields: %v, %v", list, err)
	}
	other.Rest["age"] = "old"
	if err := older.Put(t.Context(), new(animal(other))); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("an age of another kind: %v", err)
	}
}

// What is no record of the types is refused, by name.
func TestTypeFaults(t *testing.T) {
	r, err := repo.Open[animal](t.Context(), newStore(t, nil), animalSchema(allAnimals))
	if err != nil {
		t.Fatal(err)
	}
	type fish struct{ dog }
	for want, a := range map[string]animal{
		"is nil":                              nil,
		"or no pointer":                       (*dog)(nil),
		"which Types lacks":                   &fish{},
		`does not say "dog"`:                  &dog{ID: "1", Kind: "cat"},
		`its field kind says "dog", which is`: &otherAnimal{ID: "1", Kind: "dog"},
	} {
		if err := r.Put(t.Context(), &a); !errors.Is(err, repo.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v, want ErrInvalid with %q", a, err, want)
		}
	}
	type keyless struct {
		Kind string `repo:"kind"`
		dog  `repo:"-"`
	}
	type otherKind struct {
		otherAnimal
		Age string `repo:"age"`
	}
	type expiring struct {
		dog
		Until time.Time `repo:",expires"`
	}
	for want, of := range map[string]map[string]any{
		"name one under":                     {"dog": dog{}},
		"not a struct":                       {"dog": 5, "": otherAnimal{}},
		"string is no repo_test.animal":      {"dog": struct{}{}, "": otherAnimal{}},
		"in Types twice":                     {"dog": dog{}, "hound": dog{}, "": otherAnimal{}},
		"needs a field for undeclared":       {"": dog{}},
		"of kind string in one of the types": {"dog": dog{}, "": otherKind{}},
		"has no field `repo:\",expires\"`":   {"dog": expiring{}, "": otherAnimal{}},
		"part of the key, and not all types": {"dog": keyless{}, "": otherAnimal{}},
		"lacks the text field \"kind\"":      {"dog": struct{ animal }{}, "": otherAnimal{}},
	} {
		s := animalSchema(of)
		s.Indexes = nil
		_, err := repo.Open[animal](t.Context(), newStore(t, nil), s)
		if !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), strings.TrimPrefix(want, "string ")) {
			t.Errorf("%v: %v, want ErrSchema with %q", of, err, want)
		}
	}
	if _, err := repo.Open[dog](t.Context(), newStore(t, nil), animalSchema(allAnimals)); !errors.Is(err, repo.ErrSchema) {
		t.Errorf("types of a struct: %v", err)
	}
	if _, err := repo.Open[any](t.Context(), newStore(t, nil), animalSchema(allAnimals)); err != nil {
		t.Errorf("types of any: %v", err)
	}
}
