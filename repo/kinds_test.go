package repo_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repotest"
)

// Each error is of the kinds that it should be, of no other that it could be taken for, and
// retryable or not.
func TestKindsOfErrors(t *testing.T) {
	ctx, key := t.Context(), repo.Key{"a"}
	store, err := repotest.New(memory.New(nil), &repotest.Options{Uncertain: true})
	if err != nil {
		t.Fatal(err)
	}
	topics, err := repo.Open[topic](ctx, repo.NewStore(store, nil), repo.Schema{Collection: "topics", Partition: []string{"id"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := topics.Insert(ctx, &topic{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	count := func(ctx context.Context) error {
		_, err := topics.Update(ctx, key, func(v *topic) error { v.Votes++; return nil })
		return err
	}
	page := func(cursor string) error {
		_, err := topics.Page(ctx, repo.Where("id", "a"), cursor)
		return err
	}
	for name, tt := range map[string]struct {
		fault     repotest.Fault // of every commit
		do        func() error
		is, isNot []error
		retryable bool
	}{
		"stale":    {repotest.None, func() error { return topics.Replace(ctx, &topic{ID: "a"}, repo.IfVersion(repo.Version{1})) }, []error{repo.ErrConflict}, []error{repo.ErrContention}, false},
		"gave up":  {repotest.Conflict, func() error { return count(ctx) }, []error{repo.ErrConflict, repo.ErrContention}, nil, true},
		"put":      {repotest.None, func() error { return topics.Put(ctx, &topic{ID: "b"}, repo.IfVersion(repo.Version{1})) }, []error{repo.ErrNotFound}, []error{repo.ErrConflict}, false},
		"replace":  {repotest.None, func() error { return topics.Replace(ctx, &topic{ID: "b"}, repo.IfVersion(repo.Version{1})) }, []error{repo.ErrNotFound}, []error{repo.ErrConflict}, false},
		"cursor":   {repotest.None, func() error { return page("nonsense") }, []error{repo.ErrCursor, repo.ErrInvalid}, []error{repo.ErrNoIndex}, false},
		"query":    {repotest.None, func() error { _, err := topics.Count(ctx, repo.Where("votes", 1)); return err }, []error{repo.ErrNoIndex, repo.ErrInvalid}, []error{repo.ErrCursor}, false},
		"over":     {repotest.None, func() error { return count(over) }, []error{repo.ErrTimeout, context.Canceled}, []error{repo.ErrUnknownOutcome}, true},
		"no store": {repotest.Unavailable, func() error { return count(ctx) }, []error{repo.ErrUnavailable}, nil, true},
		"no end":   {repotest.LostCall, func() error { return count(ctx) }, []error{repo.ErrUnknownOutcome}, nil, false},
	} {
		if err := store.Set(repotest.Rule{On: repotest.Commit, Fault: tt.fault}); err != nil {
			t.Fatal(err)
		}
		err := tt.do()
		e, ok := errors.AsType[*repo.Error](err)
		if !ok || e.Retryable != tt.retryable {
			t.Errorf("%s: %v; want retryable %v", name, err, tt.retryable)
		}
		for _, kind := range tt.is {
			if !errors.Is(err, kind) {
				t.Errorf("%s: %v is not %q", name, err, kind)
			}
		}
		for _, kind := range tt.isNot {
			if errors.Is(err, kind) {
				t.Errorf("%s: %v is %q", name, err, kind)
			}
		}
	}
}

// The error of a caller's function is what its call answers, though the store cannot be asked any more
// whether the schema still holds, or whether another record of the group is there.
func TestErrorOfFunctionStays(t *testing.T) {
	for _, tt := range []struct{ write, blocked string }{{"update", "_catalog"}, {"group", "_catalog"}, {"group", "topics"}} {
		t.Run(tt.write+", "+tt.blocked, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { errorOfFunctionStays(t, tt.write, tt.blocked) })
		})
	}
}

func errorOfFunctionStays(t *testing.T, write, blocked string) {
	t.Helper()
	store, err := repotest.New(newCommon(nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	program := repo.NewStore(store, nil)
	defer program.Close()
	schema := repo.Schema{Collection: "topics", Partition: []string{"forum"}, Sort: []string{"id"}}
	r := must[forumTopic](t, program, schema)
	if err := r.Insert(t.Context(), &forumTopic{"f", "a"}); err != nil {
		t.Fatal(err)
	}
	block := func() {
		if err := store.Set(repotest.Rule{Table: blocked, Fault: repotest.Blocked}); err != nil {
			t.Error(err)
		}
	}
	if blocked == "_catalog" {
		block()
		time.Sleep(10 * time.Second) // so that it has to be asked
	}
	ctx, cancel := context.WithCancel(t.Context())
	errFull := errors.New("full")
	refuse := func(*forumTopic) error {
		block()
		cancel()
		return errFull
	}
	if write == "group" {
		g := r.Store().Group()
		in := r.In(g)
		in.Insert(&forumTopic{"f", "b"})
		in.Update(repo.Key{"f", "a"}, refuse)
		err = g.Commit(ctx)
	} else {
		_, err = r.Update(ctx, repo.Key{"f", "a"}, refuse)
	}
	if !errors.Is(err, errFull) || errors.Is(err, repo.ErrTimeout) {
		t.Errorf("%v, want the error of the function", err)
	}
}

type forumTopic struct {
	Forum string `repo:"forum"`
	ID    string `repo:"id"`
}

// A busy store refuses every commit of the record b, of which nothing is there.
type busy struct{ *memory.Store }

func (s busy) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	for i := range ops {
		if ops[i].Table.Name == "topics" && strings.Contains(ops[i].Row.Key.Partition, "b") {
			return &driver.Refusal{Op: i, Row: driver.Row{Key: ops[i].Row.Key}}, nil
		}
	}
	return s.Store.Commit(ctx, token, ops)
}

// A batch may be tried again if all that failed may.
func TestBatchIsRetryable(t *testing.T) {
	for _, tt := range []struct {
		ids       string
		retryable bool
	}{{"b", true}, {"ba", false}, {"bc", false}} {
		synctest.Test(t, func(t *testing.T) {
			r := must[topic](t, repo.NewStore(busy{memory.New(nil)}, nil), repo.Schema{Collection: "topics", Partition: []string{"id"}})
			if err := r.Insert(t.Context(), &topic{ID: "a"}); err != nil {
				t.Fatal(err)
			}
			_, err := r.InsertAll(t.Context(), func(yield func(topic, error) bool) {
				for _, id := range tt.ids {
					if !yield(topic{ID: string(id)}, nil) {
						return
					}
				}
			})
			e, ok := errors.AsType[*repo.Error](err)
			if !ok || e.Retryable != tt.retryable || !errors.Is(err, repo.ErrContention) {
				t.Errorf("%s: %v; want contention, retryable %v", tt.ids, err, tt.retryable)
			}
		})
	}
}

// A page without records is an empty list, in JSON too.
func TestEmptyPage(t *testing.T) {
	topics := open[topic](t, repo.NewStore(memory.New(nil), nil), repo.Schema{Collection: "topics", Partition: []string{"id"}})
	page, err := topics.Page(t.Context(), repo.Where("id", "a"), "")
	if err != nil || page.Items == nil || len(page.Items) > 0 {
		t.Errorf("items %#v, %v", page.Items, err)
	}
}
