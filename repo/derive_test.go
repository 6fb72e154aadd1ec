package repo_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/repo"
)

// An essay derives its words, which an index has.
type essay struct {
	ID      string       `repo:"id"`
	Text    string       `repo:"text"`
	Reads   int8         `repo:"reads"`
	Words   []string     `repo:"words"`
	Version repo.Version `repo:",version"`
	Expires time.Time    `repo:",expires"`
}

var errNoText = errors.New("an essay has a text")

func (e *essay) Derive() error {
	if e.Text == "" {
		return errNoText
	}
	e.Words = strings.Fields(strings.ToLower(e.Text))
	slices.Sort(e.Words)
	e.Words = slices.Compact(e.Words)
	return nil
}

var essays = repo.Schema{Collection: "essays", Partition: []string{"id"}, Indexes: []repo.Index{{Partition: []string{"words[]"}}}}

// Fields are derived by every write, and by nothing else; an error of Derive ends the write.
func TestDerive(t *testing.T) {
	ctx := t.Context()
	r, err := repo.Open[essay](ctx, newStore(t, nil), essays)
	if err != nil {
		t.Fatal(err)
	}
	has := func(step, words string) {
		t.Helper()
		for _, word := range []string{"one", "two", "three", "four"} {
			n, err := r.Count(ctx, repo.Where("words[]", word))
			if want := strings.Contains(words, word); err != nil || (n == 1) != want {
				t.Errorf("%s: %d essays have %q, %v; want %t", step, n, word, err, want)
			}
		}
	}
	key := repo.Key{"e"}
	e := essay{ID: "e", Text: "Two one TWO"}
	if err := r.Insert(ctx, &e); err != nil || strings.Join(e.Words, " ") != "one two" {
		t.Error(e, err)
	}
	has("insert", "one two")
	if _, err := r.Patch(ctx, key, repo.Set("text", "three"), repo.Add("reads", 3)); err != nil {
		t.Error(err)
	}
	has("patch", "three")
	if _, err := r.Update(ctx, key, func(e *essay) error { e.Text += " four"; return nil }); err != nil {
		t.Error(err)
	}
	has("update", "three four")
	g := r.Store().Group()
	r.In(g).Patch(key, repo.Set("text", "one"), repo.ExpireAt(time.Now().Add(time.Hour)))
	if err := g.Commit(ctx); err != nil {
		t.Error(err)
	}
	has("patch in a group", "one")
	got, err := r.Get(ctx, key)
	if err != nil || got.Reads != 3 || time.Until(got.Expires) < 50*time.Minute {
		t.Errorf("patched: %+v, %v", got, err)
	}
	if _, err := r.PatchBlind(ctx, key, repo.Set("text", "two")); err != nil {
		t.Error(err)
	}
	if _, err := r.PatchIf(ctx, key, got.Version, repo.Set("text", "four")); !errors.Is(err, repo.ErrConflict) {
		t.Errorf("patched another version: %v", err)
	}
	has("blind patch", "two")
	underivable(t, r, key)
	has("what failed", "two")
}

// underivable makes writes that Derive refuses, and others that are bad.
func underivable(t *testing.T, r *repo.Repo[essay], key repo.Key) {
	t.Helper()
	ctx := t.Context()
	for name, err := range map[string]error{
		"insert": r.Insert(ctx, &essay{ID: "f"}),
		"patch":  second(r.Patch(ctx, key, repo.Set("text", ""))),
		"update": second(r.Update(ctx, key, func(e *essay) error { e.Text = ""; return nil })),
	} {
		if !errors.Is(err, errNoText) {
			t.Errorf("%s without a text: %v", name, err)
		}
	}
	if _, err := r.Patch(ctx, key, repo.Add("reads", 200)); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("patched over the bounds of a field: %v", err)
	}
	if _, err := r.Patch(ctx, repo.Key{"none"}, repo.Set("text", "x")); !errors.Is(err, repo.ErrNotFound) {
		t.Errorf("patched what is not there: %v", err)
	}
}
