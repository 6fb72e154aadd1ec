package repo_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A muted store answers no commit, and does what it says before that.
type muted struct {
	driver.Store
	name string
	mute bool
}

func (s *muted) Facts() driver.Facts {
	f := s.Store.Facts()
	f.Name += s.name
	return f
}

func (s *muted) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if s.mute {
		return nil, driver.ErrUnknownOutcome
	}
	return s.Store.Commit(ctx, token, ops)
}

// outcomeFrom returns the text of the outcome of an insert that was lost in a store.
func outcomeFrom(t *testing.T, s *muted, key, collection string) string {
	t.Helper()
	schema := thingSchema()
	schema.Collection = collection
	things, err := repo.Open[thing](t.Context(), repo.NewStore(s, &repo.Options{CursorKey: []byte(key)}), schema)
	if err != nil {
		t.Fatal(err)
	}
	s.mute = true
	defer func() { s.mute = false }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nobody looks for what became of it
	e, ok := errors.AsType[*repo.Error](things.Insert(ctx, &thing{ID: "a"}))
	if !ok || e.Outcome == nil {
		t.Fatalf("insert: %v, want an outcome", e)
	}
	text, err := e.Outcome.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// With a key only outcomes are resolved that a program with that key gave out, of the same
// collection and kind of store. Nothing is written because of another one.
func TestSignedOutcomes(t *testing.T) {
	s := &muted{Store: memory.New(&memory.Options{Uncertain: true})}
	mine := outcomeFrom(t, s, "k1", "things")
	things, err := repo.Open[thing](t.Context(), repo.NewStore(s, &repo.Options{CursorKey: []byte("k1")}), thingSchema())
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := outcomeFrom(t, &muted{Store: memory.New(&memory.Options{Uncertain: true}), name: "2"}, "k1", "things")
	for what, text := range map[string]string{
		"with another key":                        outcomeFrom(t, s, "k2", "things"),
		"without a key":                           outcomeFrom(t, s, "", "things"),
		"of another collection":                   outcomeFrom(t, s, "k1", "others"),
		"of another collection, under a new name": strings.Replace(outcomeFrom(t, s, "k1", "others"), "others", "things", 1),
		"of another store":                        elsewhere,
		"of another record":                       strings.Replace(mine, `"a#"`, `"b#"`, 1),
		"with another base":                       strings.Replace(mine, `"based":true`, `"based":false`, 1),
		"with a seal cut off":                     mine[:strings.Index(mine, `,"seal"`)] + "}",
	} {
		var o repo.Outcome
		if err := o.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(what, err)
		}
		if v, err := things.Resolve(t.Context(), &o); v != repo.Unknown || !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("an outcome %s: %s, %v; want ErrInvalid", what, v, err)
		}
	}
	if done, err := things.Maintain(t.Context()); err != nil || done.Dead != 0 {
		t.Errorf("maintain: %+v, %v", done, err)
	}
	var o repo.Outcome
	if err := o.UnmarshalText([]byte(mine)); err != nil {
		t.Fatal(err)
	}
	if v, err := things.Resolve(t.Context(), &o); v != repo.NotCommitted || err != nil {
		t.Errorf("an outcome of its own: %s, %v", v, err)
	}
}
