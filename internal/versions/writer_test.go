//go:build unix

package versions_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/polystore/polystore/repo"
)

// A tally is what the writers of a program have done.
type tally struct{ writes, answers, unknown atomic.Int64 }

// A writer writes records that nobody else does.
type writer struct {
	*order
	r      *repo.Repo[login]
	prefix string
	is     map[string]login // the records that are there
	unsure map[string]bool  // records of whose last write nobody told the outcome
	done   *tally
	rnd    *rand.Rand
}

func (w *writer) write(ctx context.Context) error {
	if w.Settled {
		for i := range own {
			if err := w.put(ctx, login{fmt.Sprint(w.prefix, i), "u0", 0}); err != nil {
				return err
			}
		}
	}
	for n := int64(1); ctx.Err() == nil; n++ {
		if err := w.change(ctx, n); err != nil {
			return err
		}
		if n%4 == 0 {
			if err := w.look(ctx); err != nil {
				return err
			}
		}
		time.Sleep(w.Pause)
	}
	return nil
}

// change makes one change of one record.
func (w *writer) change(ctx context.Context, n int64) (err error) {
	l := login{fmt.Sprint(w.prefix, w.rnd.IntN(own)), fmt.Sprint("u", w.rnd.IntN(users)), n}
	was, there := w.is[l.ID]
	switch kind := w.rnd.IntN(3); {
	case there && kind == 0 && !w.Settled:
		err = w.r.Delete(ctx, repo.Key{l.ID})
		return w.judge(login{ID: l.ID}, err)
	case there && kind == 1:
		l.Seen = was.Seen
		_, err = w.r.Update(ctx, repo.Key{l.ID}, func(o *login) error { o.User = l.User; return nil })
		return w.judge(l, err)
	case there && kind == 2:
		_, err = w.r.Patch(ctx, repo.Key{l.ID}, repo.Set("user", l.User), repo.Set("seen", l.Seen))
		return w.judge(l, err)
	}
	return w.put(ctx, l)
}

func (w *writer) put(ctx context.Context, l login) error { return w.judge(l, w.r.Put(ctx, &l)) }

// judge notes what became of a write, after which a record is l, or is gone if l has no user. A write that was not done
// left all as it was.
func (w *writer) judge(l login, err error) error {
	w.done.writes.Add(1)
	switch {
	case errors.Is(err, repo.ErrUnknownOutcome):
		w.done.unknown.Add(1)
		w.unsure[l.ID] = true
		return nil
	case w.unsure[l.ID] && errors.Is(err, repo.ErrNotFound), passes(err):
		return nil
	case err != nil:
		return fmt.Errorf("a write of %s: %w", l.ID, err)
	}
	if w.is[l.ID] = l; l.User == "" {
		delete(w.is, l.ID)
	}
	return nil
}

// passes reports whether an error is one of a server that is away, or of indexes that change.
func passes(err error) bool {
	var e *repo.Error
	return errors.As(err, &e) && e.Retryable || errors.Is(err, repo.ErrUnavailable) || errors.Is(err, repo.ErrTimeout)
}

// look reads one of the writer's own records by its key, and asks the indexes of the program for some.
func (w *writer) look(ctx context.Context) error {
	id := fmt.Sprint(w.prefix, w.rnd.IntN(own))
	l, err := w.r.Get(ctx, repo.Key{id})
	want, there := w.is[id]
	switch {
	case w.unsure[id], err != nil && !errors.Is(err, repo.ErrNotFound):
	case there != (err == nil), there && l != want:
		return fmt.Errorf("%s is read as %+v, %v; want %+v", id, l, err, want)
	}
	user := fmt.Sprint("u", w.rnd.IntN(users))
	ofUser := func(l login) bool { return l.User == user }
	switch w.Version {
	case newer:
		return w.ask(ctx, byUser, repo.Where("user", user).Order("-seen"), ofUser)
	case newest:
		err := w.ask(ctx, bySeen, repo.Where("user", user).Order("seen"), ofUser)
		if err == nil && w.Keeps && there {
			err = w.ask(ctx, kept, repo.Where("seen", want.Seen), func(l login) bool { return l.Seen == want.Seen })
		}
		return err
	}
	return nil
}

// ask asks an index.
func (w *writer) ask(ctx context.Context, index string, q repo.Query, fits func(login) bool) error {
	list, err := repo.Collect(w.r.Find(ctx, q))
	switch {
	case err == nil:
		w.done.answers.Add(1)
		if p, err := w.r.Explain(q); err == nil && p.Index != index {
			return fmt.Errorf("the query %s is answered by %q; want %s", q, p.Index, index)
		}
		return w.compare(index, list, fits)
	case errors.Is(err, repo.ErrNoIndex), passes(err):
		return nil
	}
	return fmt.Errorf("a query of %s: %w", index, err)
}

// compare compares what an index found with what the writer knows of its own records, and with the order that the index
// has.
func (w *writer) compare(index string, list []login, fits func(login) bool) error {
	list = slices.DeleteFunc(list, func(l login) bool { return !strings.HasPrefix(l.ID, w.prefix) || w.unsure[l.ID] })
	direction := map[string]int64{byUser: -1, bySeen: 1}[index]
	if !slices.IsSortedFunc(list, func(a, b login) int { return int(direction * (a.Seen - b.Seen)) }) {
		return fmt.Errorf("%s is not in order: %v", index, list)
	}
	found := map[string]bool{}
	for _, l := range list {
		if found[l.ID] {
			return fmt.Errorf("%s finds %s twice", index, l.ID)
		}
		if found[l.ID] = true; w.is[l.ID] != l || !fits(l) {
			return fmt.Errorf("%s finds %+v; it is %+v", index, l, w.is[l.ID])
		}
	}
	for id, is := range w.is {
		if fits(is) && !found[id] && !w.unsure[id] {
			return fmt.Errorf("%s does not find %+v", index, is)
		}
	}
	return nil
}
