package history_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/history"
	"github.com/polystore/polystore/repotest"
)

// A hookedStore calls a hook before a commit of records.
type hookedStore struct {
	driver.Store
	hook func()
}

func (s *hookedStore) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if s.hook != nil && strings.HasPrefix(ops[0].Table.Name, "pages") {
		s.hook()
	}
	return s.Store.Commit(ctx, token, ops)
}

// faults says what is wrong with the history of a record that nobody writes: numbers that are missing or come twice,
// times that go back, and a record that is not what the newest revision says.
func faults(t *testing.T, h *history.History[page], key repo.Key) (list []string) {
	t.Helper()
	p, err := h.Revisions(t.Context(), key, 10_000, "")
	must(t, err)
	if len(p.Items) == 0 {
		return []string{"there is no revision"}
	}
	for i := range p.Items[1:] {
		if later, r := &p.Items[i], &p.Items[i+1]; r.Number != later.Number-1 || r.At.After(later.At) {
			list = append(list, fmt.Sprintf("revision %d of %v is followed by %d of %v", later.Number, later.At, r.Number, r.At))
		}
	}
	now, err := h.Records().Get(t.Context(), key)
	newest := &p.Items[0]
	if there := !errors.Is(err, repo.ErrNotFound); there == newest.Deleted {
		list = append(list, fmt.Sprintf("the record is there: %t, and the newest revision is %+v", there, newest))
	} else if there {
		must(t, err)
		if now.Version = (repo.Version{}); !reflect.DeepEqual(now, newest.Record) {
			list = append(list, fmt.Sprintf("the record is %+v, and the newest revision %+v", now, newest))
		}
	}
	return list
}

// Many writers of one record, by histories of their own: each update saw the one before, and each has its revision.
func TestWritersOfOneRecord(t *testing.T) {
	const writers, each = 6, 30
	for _, keep := range []history.Keep{{}, {Revisions: 1}} {
		for name, backend := range map[string]driver.Store{"memory": memory.New(nil), "partition": partitioned()} {
			t.Run(fmt.Sprintf("%s/%d", name, keep.Revisions), func(t *testing.T) {
				h := on(t, backend, keep)
				must(t, h.Put(t.Context(), text("")))
				var all sync.WaitGroup
				for range writers {
					h := on(t, backend, keep)
					all.Go(func() {
						for range each {
							if err := patiently(func() error { return count(t, h) }); err != nil {
								t.Error(err)
							}
						}
					})
				}
				all.Wait()
				list, err := h.Revisions(t.Context(), tea, 1, "")
				if must(t, err); list.Items[0].Record.Views != writers*each || list.Items[0].Number != writers*each+1 {
					t.Errorf("after %d updates the newest revision is %+v", writers*each, list.Items[0])
				}
				for _, f := range faults(t, h, tea) {
					t.Error(f)
				}
			})
		}
	}
}

func count(t *testing.T, h *history.History[page]) error {
	_, err := h.Update(t.Context(), tea, func(p *page) error { p.Views++; return nil })
	return err
}

// patiently tries again as long as others are faster.
func patiently(call func() error) error {
	err := call()
	for errors.Is(err, repo.ErrContention) {
		err = call()
	}
	return err
}

// Writers of all kinds, and one that knows of no history. What it writes has revisions as far as it was found.
func TestWritersOfAllKinds(t *testing.T) {
	for name, backend := range map[string]driver.Store{"memory": memory.New(nil), "partition": partitioned()} {
		t.Run(name, func(t *testing.T) {
			ctx, keep := t.Context(), history.Keep{Revisions: 50}
			var done atomic.Int64
			var all sync.WaitGroup
			for i := range 5 {
				h := on(t, backend, keep)
				all.Go(func() {
					for n := range 40 {
						var err error
						switch p := text(fmt.Sprint(i, n)); (i + n) % 5 {
						case 0:
							err = h.Insert(ctx, p)
						case 1:
							err = h.Delete(ctx, tea)
						case 2:
							err = h.Records().Put(ctx, p)
						default:
							err = h.Put(ctx, p)
						}
						if err == nil {
							done.Add(1)
						} else if !errors.Is(err, repo.ErrExists) && !errors.Is(err, repo.ErrContention) {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			h := on(t, backend, keep)
			must(t, h.Adopt(ctx, tea))
			for _, f := range faults(t, h, tea) {
				t.Error(f)
			}
			if done.Load() < 50 {
				t.Errorf("%d writes were done", done.Load())
			}
		})
	}
}

// What is spoilt beside the history is a fault that the check finds.
func TestFaultsAreFound(t *testing.T) {
	ctx, key := t.Context(), func(n int) repo.Key { return repo.Key{"en", "Tea", n} }
	for want, spoil := range map[string]func(plain *repo.Repo[page], rows *repo.Repo[map[string]any]) error{
		"no revision": func(_ *repo.Repo[page], rows *repo.Repo[map[string]any]) error {
			return errors.Join(rows.Delete(ctx, key(1)), rows.Delete(ctx, key(2)), rows.Delete(ctx, key(3)))
		},
		"the record is {":  func(plain *repo.Repo[page], _ *repo.Repo[map[string]any]) error { return plain.Put(ctx, text("x")) },
		"there: false":     func(plain *repo.Repo[page], _ *repo.Repo[map[string]any]) error { return plain.Delete(ctx, tea) },
		"followed by 1 of": func(_ *repo.Repo[page], rows *repo.Repo[map[string]any]) error { return rows.Delete(ctx, key(2)) },
	} {
		store := repo.NewStore(memory.New(nil), nil)
		h, err := history.Open[page](ctx, store, pages, history.Keep{})
		must(t, err, h.Put(ctx, text("a")), h.Put(ctx, text("b")), h.Put(ctx, text("c")))
		schema, err := repo.SchemaOf(ctx, store, "pages_history")
		must(t, err)
		rows, err := repo.Open[map[string]any](ctx, store, schema)
		must(t, err)
		if list := faults(t, h, tea); len(list) != 0 {
			t.Errorf("nothing is spoilt: %v", list)
		}
		must(t, spoil(h.Records(), rows))
		if got := strings.Join(faults(t, h, tea), ";"); !strings.Contains(got, want) {
			t.Errorf("the faults are %q, want %q", got, want)
		}
	}
}

// Lost answers and calls, late and double commits: a write that is not known to be done was done with its revision or
// not at all, and the others were done once.
func TestLostAnswers(t *testing.T) {
	for _, fault := range []repotest.Fault{repotest.LostAnswer, repotest.LostCall, repotest.Late, repotest.Twice, repotest.Conflict, repotest.Unavailable} {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			backend, err := repotest.New(memory.New(nil), &repotest.Options{Uncertain: true, Rules: []repotest.Rule{
				{On: repotest.Commit, Collection: "pages", Share: 0.3, Fault: fault, After: 2},
				{On: repotest.Get, Collection: "pages", Share: 0.1, Fault: repotest.Unavailable},
			}})
			must(t, err)
			h := on(t, backend, history.Keep{})
			done, unknown, deletes := 0, 0, 0
			for i := range 200 {
				p := text(fmt.Sprint(i))
				if i%10 == 9 {
					deletes++ // of a record that is not there some write nothing
					err = h.Delete(t.Context(), tea)
				} else {
					err = h.Put(t.Context(), p)
				}
				e, _ := errors.AsType[*repo.Error](err)
				switch {
				case err == nil:
					done++
				case e.Outcome != nil:
					unknown++
					if v, err := h.Resolve(t.Context(), e.Outcome); err == nil && v == repo.Committed {
						done, unknown = done+1, unknown-1
					} else if err == nil && v == repo.NotCommitted {
						unknown--
					}
				case !e.Retryable:
					t.Errorf("write %d: %v", i, err)
				}
			}
			must(t, backend.Set())
			backend.Release()
			for _, f := range faults(t, h, tea) {
				t.Error(f)
			}
			list, err := h.Revisions(t.Context(), tea, 10_000, "")
			must(t, err)
			n := 0
			for _, r := range list.Items {
				if !r.Outside { // of the writer that is faster in a conflict
					n++
				}
			}
			if n < done-deletes || n > done+unknown || done < 50 {
				t.Errorf("%d writes were done, at most %d of them delete nothing, %d are unknown, and there are %d revisions", done, deletes, unknown, n)
			}
		})
	}
}
