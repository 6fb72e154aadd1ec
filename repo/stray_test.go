package repo_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
)

// A slip has whatever is written on it.
type slip struct {
	ID   string         `repo:"id"`
	More map[string]any `repo:",extra"`
}

// What a program writes among undeclared fields, an index that the store keeps would miss.
// So it is refused, from before the index is there; what other programs wrote in the field
// itself may be changed there.
func TestUndeclaredFieldOfNativeIndex(t *testing.T) {
	for what, opts := range map[string]*memory.Options{"certain": {}, "uncertain": {Uncertain: true}} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { undeclaredFieldOfNativeIndex(t, newCommon(opts)) })
		})
	}
}

func undeclaredFieldOfNativeIndex(t *testing.T, s common) {
	t.Helper()
	ctx := t.Context()
	before := must[slip](t, s.program(t), indexed())
	began := time.Now()
	after := must[login](t, s.program(t), indexed(nativeByUser()), repo.WithBuild())
	if took := time.Since(began); took < 2*time.Second {
		t.Errorf("the index was there after %s, when other programs need not know of it", took)
	}
	if err := errors.Join(after.Insert(ctx, &login{"1", "ann", 1}), after.Insert(ctx, &login{"2", "ann", 2})); err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*repo.Repo[slip]{"open before": before, "open after": must[slip](t, s.program(t), indexed())} {
		refusedStrays(t, name, r)
		changesStrays(t, name, r)
		patchesStrays(t, name, r)
	}
	putsStrays(t, must[passingSlip](t, s.program(t), indexed()))
	for seen := range int64(3) {
		if got, err := repo.Collect(after.Find(ctx, repo.Where("user", "ann").Where("seen", seen+5))); err != nil || (len(got) == 1) != (seen == 1) {
			t.Errorf("with %d: %v, %v", seen+5, got, err)
		}
	}
	if reports, err := after.Verify(ctx); err != nil || !reports[0].Clean() || reports[0].Records != 2 {
		t.Errorf("verify: %+v, %v", reports, err)
	}
}

// refusedStrays sees that a program cannot add a field that it does not declare.
func refusedStrays(t *testing.T, name string, r *repo.Repo[slip]) {
	t.Helper()
	ctx, fresh := t.Context(), slip{ID: "9", More: map[string]any{"user": "ann"}}
	group := r.Store().Group()
	groupIn := r.In(group)
	groupIn.Put(&fresh)
	_, bulkErr := r.InsertAll(ctx, func(yield func(slip, error) bool) { yield(fresh, nil) })
	for way, err := range map[string]error{
		"insert": r.Insert(ctx, &fresh), "put": r.Put(ctx, &fresh), "group": group.Commit(ctx), "insert all": bulkErr,
	} {
		if !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), "field user is in an index of another program") {
			t.Errorf("%s: %s: %v, want ErrSchema", name, way, err)
		}
	}
	other := slip{ID: "9", More: map[string]any{"colour": "red"}}
	if err := errors.Join(r.Insert(ctx, &other), second(r.Patch(ctx, repo.Key{"9"}, repo.Set("colour", "blue")))); err != nil {
		t.Errorf("%s: another field: %v", name, err)
	}
	if _, err := r.Patch(ctx, repo.Key{"9"}, repo.Set("seen", 1)); !errors.Is(err, repo.ErrSchema) {
		t.Errorf("%s: patch of what lacks the field: %v, want ErrSchema", name, err)
	}
	if _, err := r.Update(ctx, repo.Key{"9"}, func(s *slip) error { s.More["seen"] = 1; return nil }); !errors.Is(err, repo.ErrSchema) {
		t.Errorf("%s: update of what lacks the field: %v, want ErrSchema", name, err)
	}
	if err := errors.Join(second(r.Patch(ctx, repo.Key{"9"}, repo.Unset("seen"))), r.Delete(ctx, repo.Key{"9"})); err != nil {
		t.Error(err)
	}
}

// changesStrays sees that it may change the field where another program wrote it.
func changesStrays(t *testing.T, name string, r *repo.Repo[slip]) {
	t.Helper()
	ctx := t.Context()
	got, err := r.Get(ctx, repo.Key{"1"})
	if err != nil {
		t.Fatal(err)
	}
	got.More["seen"] = 6
	if err := errors.Join(r.Put(ctx, &got), r.Replace(ctx, &got)); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if _, err := r.Update(ctx, repo.Key{"2"}, func(s *slip) error { s.More["seen"] = 9; return nil }); err != nil {
		t.Errorf("%s: update: %v", name, err)
	}
}

// patchesStrays sees that it may patch the field there, by every way to patch.
func patchesStrays(t *testing.T, name string, r *repo.Repo[slip]) {
	t.Helper()
	ctx, key := t.Context(), repo.Key{"2"}
	version, err := r.Patch(ctx, key, repo.Set("seen", 3))
	if err != nil {
		t.Errorf("%s: patch: %v", name, err)
	}
	if _, err := r.PatchIf(ctx, key, version, repo.Set("seen", 4), repo.Set("colour", "red")); err != nil {
		t.Errorf("%s: patch if: %v", name, err)
	}
	if _, err := r.PatchBlind(ctx, key, repo.Add("seen", 5)); err != nil {
		t.Errorf("%s: patch blind: %v", name, err)
	}
	g := r.Store().Group()
	in := r.In(g)
	in.Patch(key, repo.Unset("colour"))
	if err := g.Commit(ctx); err != nil {
		t.Errorf("%s: group: %v", name, err)
	}
}

// A passingSlip says when it expires, too, so that a Put leaves nothing of what is there.
type passingSlip struct {
	ID    string         `repo:"id"`
	Until time.Time      `repo:",expires"`
	More  map[string]any `repo:",extra"`
}

func putsStrays(t *testing.T, r *repo.Repo[passingSlip]) {
	t.Helper()
	rec := passingSlip{ID: "2", More: map[string]any{"user": "ann", "seen": 9}}
	if err := errors.Join(r.Put(t.Context(), &rec), r.Replace(t.Context(), &rec)); err != nil {
		t.Errorf("of those that expire: %v", err)
	}
}
