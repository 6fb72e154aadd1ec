package copies

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/polystore/polystore/repo"
)

// An item is a record whose copies are brought up to date.
type item[X any] struct {
	x       *X
	seen    []seen
	note    row  // that is there
	differs bool // the copies did, and are filled now
	changed bool // and written
	done    bool
	err     error
}

// itemsOf returns the items of records that were read.
func itemsOf[X any](records []X) []*item[X] {
	list := make([]*item[X], len(records))
	for i := range records {
		list[i] = &item[X]{x: &records[i]}
	}
	return list
}

// fill reads the sources of records that were read before, and fills the copies. An error about a record is that of its
// item.
func (t *Target[X]) fill(ctx context.Context, list []*item[X], now *given) error {
	before := make([]X, len(list))
	for i, at := range list {
		before[i], at.seen = clone(*at.x), nil
	}
	for _, r := range t.rules {
		if err := r.fill(ctx, list, now); err != nil {
			return err
		}
	}
	for i, at := range list {
		at.differs = at.err == nil && !same(before[i], *at.x)
	}
	return nil
}

// atOnce is how many records are written at the same time.
const atOnce = 16

// settle brings the copies of records up to date, and returns how many records it changed. The records were read
// before, the sources are read now, and a record is written on condition that it is as it was read: so no copy goes
// back. A record that is written with a note is looked at once more, and then its note is removed. An error about one
// record does not keep the others; the first one is returned.
func (t *Target[X]) settle(ctx context.Context, list []*item[X]) (changed int, err error) {
	all := list
	for n := 0; len(list) > 0 && err == nil; n++ {
		if err = t.fill(ctx, list, nil); err != nil {
			break
		}
		var wait sync.WaitGroup
		slots := make(chan struct{}, atOnce)
		var rest []*item[X]
		for _, at := range list {
			slots <- struct{}{}
			wait.Go(func() { t.step(ctx, at); <-slots })
		}
		wait.Wait()
		for _, at := range list {
			if !at.done {
				rest = append(rest, at)
			}
		}
		if list = rest; len(list) > 0 && n > 1 {
			err = pause(ctx, n)
		}
	}
	for _, at := range all {
		if err = cmp.Or(err, at.err); at.changed {
			changed++
		}
	}
	return changed, failed("follow", t.name, err)
}

// step writes a record that was filled, if it differed. If it is not done then, the record was read or written anew.
func (t *Target[X]) step(ctx context.Context, at *item[X]) {
	key, v := t.id(at.x)
	switch {
	case at.err != nil:
		at.done = true
	case !at.differs:
		at.done, at.err = true, t.due.remove(ctx, at.note)
	case v.IsZero():
		at.done, at.err = true, errNoVersion
	default:
		note, err := t.commit(ctx, at.x, at.seen, t.replace)
		switch {
		case err == nil && note != nil:
			at.changed, at.note = true, *note
		case err == nil:
			at.changed, at.done, at.err = true, true, t.due.remove(ctx, at.note)
		case isRefused(err):
			if *at.x, err = t.records.Get(ctx, key); err != nil {
				at.done, at.err = true, cmp.Or(unless(err, repo.ErrNotFound), t.due.remove(ctx, at.note))
			}
		default:
			at.done, at.err = true, err
		}
	}
}

var errNoVersion = fmt.Errorf("the function of the collection returns no version of a record that was read: %w", repo.ErrInvalid)

// Refresh brings the copies of one record up to date, and reports whether they differed. It is what mends a record that
// [Target.Verify] finds. A record that is not there is ErrNotFound.
func (t *Target[X]) Refresh(ctx context.Context, key repo.Key) (changed bool, err error) {
	x, err := t.records.Get(ctx, key)
	if err != nil {
		return false, err
	}
	n, err := t.settle(ctx, []*item[X]{{x: &x}})
	return n > 0, err
}

// A Checked tells of a chunk of records that [Target.Verify] has been through.
type Checked struct {
	Looked int        // records that were looked at
	Differ []repo.Key // those whose copies differed from their sources
	Mark   string     // at which a later call resumes, "" at the end
}

// Verify reads all records and their sources, chunk by chunk, and says whose copies differ. It changes nothing. Mark is
// "", or the mark of an earlier chunk. While others write, it also finds copies that are due and not followed yet. An
// error comes once, last, but for those about records that cannot be read or copied: they come with their chunk.
func (t *Target[X]) Verify(ctx context.Context, mark string) iter.Seq2[Checked, error] {
	return func(yield func(Checked, error) bool) {
		for chunk, err := range t.records.Walk(ctx, mark) {
			list := itemsOf(chunk.Items)
			if broken := t.fill(ctx, list, nil); broken != nil {
				yield(Checked{}, broken)
				return
			}
			c := Checked{Looked: len(list), Mark: chunk.Mark}
			for _, at := range list {
				if err = cmp.Or(err, at.err); at.differs {
					key, _ := t.id(at.x)
					c.Differ = append(c.Differ, key)
				}
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// notes returns the list of records that are to be looked at once more.
func (t *Target[X]) notes() *list { return t.due }

// followNotes looks once more at the records whose writers did not.
func (t *Target[X]) followNotes(ctx context.Context) (int, error) {
	return t.due.each(ctx, func(r row) (int, error) {
		x, err := t.records.Get(ctx, t.due.keyIn(r))
		if err != nil {
			return 0, cmp.Or(unless(err, repo.ErrNotFound), t.due.remove(ctx, r))
		}
		return t.settle(ctx, []*item[X]{{x: &x, note: r}})
	})
}
