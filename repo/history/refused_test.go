package history_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/history"
)

// calls calls all methods that reach the store, and returns their errors.
func calls(ctx context.Context, h *history.History[page], key repo.Key) map[string]error {
	p := text("x")
	if len(key) == 2 {
		p.Wiki, p.Title = key[0].(string), key[1].(string)
	}
	list := map[string]error{
		"insert": h.Insert(ctx, p), "replace": h.Replace(ctx, p), "put": h.Put(ctx, p), "delete": h.Delete(ctx, key),
		"adopt": h.Adopt(ctx, key), "restore": h.Restore(ctx, key, 1),
	}
	_, list["update"] = h.Update(ctx, key, func(*page) error { return nil })
	_, list["revisions"] = h.Revisions(ctx, key, 0, "")
	_, list["revision"] = h.Revision(ctx, key, 1)
	_, list["as of"] = h.AsOf(ctx, key, time.Now())
	_, list["diff"] = h.Diff(ctx, key, 1, 1)
	for _, err := range h.Prune(ctx, "") {
		list["prune"] = err
	}
	return list
}

// Nil and zero values, a nil context and bad keys are ErrInvalid, of the operation that was called.
func TestInvalid(t *testing.T) {
	h := on(t, memory.New(nil), history.Keep{})
	must(t, h.Put(t.Context(), text("a")))
	for what, list := range map[string]map[string]error{
		"nil":         calls(t.Context(), nil, tea),
		"zero":        calls(t.Context(), &history.History[page]{}, tea),
		"no context":  calls(nil, h, tea), //nolint:staticcheck // it is what is tested
		"not UTF-8":   calls(t.Context(), h, repo.Key{"en", "\xff"}),
		"a short key": calls(t.Context(), h, repo.Key{"en"}),
		"no key":      calls(t.Context(), h, nil),
	} {
		for op, err := range list {
			byRecord := strings.Contains(what, "key") && (op == "insert" || op == "replace" || op == "put")
			if byRecord || strings.HasPrefix(what, "not") && op == "prune" || strings.HasSuffix(what, "key") && op == "prune" {
				continue // which name no key
			}
			e, ok := errors.AsType[*repo.Error](err)
			if !ok || !errors.Is(err, repo.ErrInvalid) || e.Op != op {
				t.Errorf("%s of %s: %v", op, what, err)
			}
		}
	}
	ctx := t.Context()
	_, noFn := h.Update(ctx, tea, nil)
	_, resolve := (*history.History[page])(nil).Resolve(ctx, nil)
	_, none := h.Resolve(ctx, nil)
	_, cursor := h.Revisions(ctx, tea, 1, "bad")
	_, limit := h.Revisions(ctx, tea, -1, "")
	for _, err := range []error{h.Put(ctx, nil), h.Put(ctx, text("b"), nil), noFn, resolve, none, cursor, limit, h.Put(ctx, text("b"), history.By("\xff"))} {
		isKind(t, err, repo.ErrInvalid)
	}
	if (*history.History[page])(nil).Records() != nil {
		t.Error("nil has records")
	}
	_, err := history.Open[page](ctx, nil, pages, history.Keep{})
	isKind(t, err, repo.ErrInvalid)
	_, err = h.Revision(ctx, tea, 99)
	isKind(t, err, repo.ErrNotFound)
	_, err = h.Diff(ctx, tea, 1, 99)
	isKind(t, err, repo.ErrNotFound)
	isKind(t, h.Restore(ctx, tea, 99), repo.ErrNotFound)
}

// The row before the first revision is none.
func TestBeginning(t *testing.T) {
	ctx, h := t.Context(), on(t, memory.New(nil), history.Keep{Revisions: 2})
	must(t, h.Put(ctx, text("a")))
	_, err := h.Revision(ctx, tea, 0)
	isKind(t, err, repo.ErrNotFound)
	_, err = h.Diff(ctx, tea, 0, 1)
	isKind(t, err, repo.ErrNotFound)
	isKind(t, h.Restore(ctx, tea, 0), repo.ErrNotFound)
	want(t, h, "1:a")
}

// Keys with what stores use themselves name one record each.
func TestHostileKeys(t *testing.T) {
	ctx, h := t.Context(), on(t, memory.New(nil), history.Keep{Revisions: 2})
	titles := []string{"", "/", "a/b", "a", "#", "%", "a%2Fb", "\x00", "\n", "..", "$set", "Tea#1", "é", "e\u0301", "🍵", strings.Repeat("x", 900)}
	for round := range 3 {
		for _, title := range titles {
			must(t, h.Put(ctx, &page{Wiki: "#/%", Title: title, Text: title}))
		}
		for _, title := range titles {
			key := repo.Key{"#/%", title}
			r, err := h.Revision(ctx, key, int64(round+1))
			if must(t, err); r.Record.Title != title || r.Record.Text != title {
				t.Errorf("%q has the revision of %q", title, r.Record.Title)
			}
			for _, f := range faults(t, h, key) {
				t.Errorf("%q: %s", title, f)
			}
		}
	}
	isKind(t, h.Put(ctx, &page{Wiki: "a", Title: strings.Repeat("x", 1020)}), repo.ErrTooLarge)
}

// A collection with a field of a history, or too long a name, is refused.
func TestOpenRefused(t *testing.T) {
	type taken struct {
		ID string `repo:"id"`
		N  int64  `repo:"history_number"`
	}
	store := repo.NewStore(memory.New(nil), nil)
	_, err := history.Open[taken](t.Context(), store, repo.Schema{Collection: "taken", Partition: []string{"id"}}, history.Keep{})
	isKind(t, err, repo.ErrSchema)
	_, err = history.Open[any](t.Context(), store, repo.Schema{Collection: "any", Partition: []string{"id"},
		Types: repo.Types{Field: "title", Of: map[string]any{"tea": page{}, "": taken{}}}}, history.Keep{})
	if isKind(t, err, repo.ErrSchema); !strings.Contains(err.Error(), "may be of several types, and those have no history") {
		t.Errorf("records of several types: %v", err)
	}
	long := pages
	long.Collection = strings.Repeat("p", 41)
	_, err = history.Open[page](t.Context(), store, long, history.Keep{})
	isKind(t, err, repo.ErrSchema)
}

// Errors say nothing of keys and values where the store is to redact them.
func TestRedacted(t *testing.T) {
	ctx := t.Context()
	store := repo.NewStore(memory.New(nil), &repo.Options{Redact: true})
	h, err := history.Open[page](ctx, store, pages, history.Keep{})
	secret := repo.Key{"en", "secret"}
	must(t, err, h.Put(ctx, &page{Wiki: "en", Title: "secret", Text: "secret"}))
	_, missing := h.Revision(ctx, secret, 7)
	_, update := h.Update(ctx, secret, func(p *page) error { p.Title = "secret2"; return nil })
	for _, err := range []error{missing, update, h.Insert(ctx, &page{Wiki: "en", Title: "secret"}), h.Delete(ctx, secret, history.IfVersion(repo.Version{1}))} {
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Error(err)
		}
	}
}

// Unique values are those of the records: revisions have none, and a value that is taken leaves no revision.
func TestUnique(t *testing.T) {
	schema := pages
	schema.Indexes = []repo.Index{{Name: "text", Partition: []string{"wiki"}, Sort: []string{"text"}, Unique: true}}
	ctx := t.Context()
	h, err := history.Open[page](ctx, repo.NewStore(memory.New(nil), nil), schema, history.Keep{})
	other := &page{Wiki: "en", Title: "Coffee", Text: "b"}
	must(t, err, h.Put(ctx, text("a")), h.Put(ctx, text("c")), h.Put(ctx, text("a")), h.Put(ctx, other))
	err = h.Put(ctx, text("b"))
	if e, ok := errors.AsType[*repo.Error](err); !ok || !errors.Is(err, repo.ErrExists) || e.Index != "text" {
		t.Errorf("a taken value: %v", err)
	}
	want(t, h, "3:a 2:c 1:a")
}
