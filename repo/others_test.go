package repo_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A glimpse is a login as a program knows it that has no user yet.
type glimpse struct {
	ID   string `repo:"id"`
	Seen int64  `repo:"seen"`
}

// A program keeps an index of another one in step that it does not declare, and answers nothing by it.
func TestIndexOfAnotherProgram(t *testing.T) {
	for name, x := range map[string][]repo.Index{
		"elsewhere": {{Name: "x", Partition: []string{"user"}, Sort: []string{"-seen"}}},
		"unique":    {{Name: "x", Partition: []string{"user"}, Unique: true}},
		"covering":  {{Name: "x", Partition: []string{"user"}, Covers: []string{"*"}}},
		"both":      {{Name: "x", Partition: []string{"user"}}, {Name: "y", Partition: []string{"seen"}, Covers: []string{"user"}}},
	} {
		partition := driver.ScopePartition
		for what, opts := range map[string]*memory.Options{"one store": {}, "by partitions": {Scope: &partition, Uncertain: true}} {
			t.Run(name+", "+what, func(t *testing.T) {
				keepsOther(t, newCommon(opts), indexed(x...))
			})
		}
	}
}

func keepsOther(t *testing.T, s common, schema repo.Schema) {
	t.Helper()
	ctx := t.Context()
	newer := must[login](t, s.program(t), schema)
	for i := range 6 {
		if err := newer.Insert(ctx, &login{fmt.Sprint(i), fmt.Sprint("u", i), int64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	older, loose := must[glimpse](t, s.program(t), indexed()), must[slip](t, s.program(t), indexed())
	if _, err := repo.Collect(older.Find(ctx, repo.Where("user", "u1"))); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("a query by a field of the other program: %v, want ErrInvalid", err)
	}
	if _, err := repo.Collect(loose.Find(ctx, repo.Where("user", "u1"))); !errors.Is(err, repo.ErrNoIndex) {
		t.Errorf("a query by the index of the other program: %v, want ErrNoIndex", err)
	}
	_, updateErr := older.Update(ctx, repo.Key{"1"}, func(g *glimpse) error { g.Seen = 11; return nil })
	_, looseErr := loose.Update(ctx, repo.Key{"3"}, func(l *slip) error { l.More["user"] = "new"; return nil })
	if err := errors.Join(updateErr, looseErr,
		older.Put(ctx, &glimpse{"0", 10}), older.Put(ctx, &glimpse{"7", 17}), older.Delete(ctx, repo.Key{"2"}),
		second(older.Patch(ctx, repo.Key{"5"}, repo.Set("seen", 15))), second(loose.Patch(ctx, repo.Key{"4"}, repo.Set("user", "set"))),
		loose.Put(ctx, &slip{ID: "8", More: map[string]any{"user": "u8", "seen": 18}})); err != nil {
		t.Fatal(err)
	}
	if _, err := older.Patch(ctx, repo.Key{"5"}, repo.Set("user", "x")); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("a patch of a field of the other program: %v, want ErrInvalid", err)
	}
	for user, want := range map[string]string{"u0": "0 10", "u1": "1 11", "u2": "", "u3": "", "new": "3 3", "u4": "", "set": "4 4", "u5": "5 15", "u8": "8 18"} {
		got := ""
		for l, err := range newer.Find(ctx, repo.Where("user", user)) {
			if err != nil {
				t.Fatal(err)
			}
			got += fmt.Sprint(l.ID, " ", l.Seen)
		}
		if got != want {
			t.Errorf("the records of %s: %q, want %q", user, got, want)
		}
	}
	reports, err := newer.Verify(ctx)
	for _, r := range reports {
		if !r.Clean() {
			t.Errorf("verify: %+v", r)
		}
	}
	if err != nil || len(reports) != len(schema.Indexes) {
		t.Errorf("verify: %v", err)
	}
	if schema.Indexes[0].Unique {
		err := loose.Insert(ctx, &slip{ID: "9", More: map[string]any{"user": "u5"}})
		if e, ok := errors.AsType[*repo.Error](err); !ok || !errors.Is(err, repo.ErrExists) || e.Index != "x" {
			t.Errorf("a value that is taken: %v, want ErrExists of index x", err)
		}
	}
}
