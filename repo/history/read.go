package history

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/polystore/polystore/repo"
)

// Revisions returns a page of the revisions of a record, the newest first: at most limit, 50 if that is 0. Cursor is
// "", or the Next or Prev of another page. A record without revisions has an empty page.
func (h *History[T]) Revisions(ctx context.Context, key repo.Key, limit int, cursor string) (repo.Page[Revision[T]], error) {
	var out repo.Page[Revision[T]]
	err := h.checkKey(key)
	if err == nil {
		var marks repo.Page[mark]
		if marks, err = h.marks.Page(ctx, h.of(key).Limit(limit), cursor); err == nil {
			out.Next, out.Prev = marks.Next, marks.Prev
			out.Items, err = h.read(ctx, key, marks.Items)
		}
	}
	return out, h.failed("revisions", err)
}

// Revision returns one revision of a record, or ErrNotFound.
func (h *History[T]) Revision(ctx context.Context, key repo.Key, number int64) (Revision[T], error) {
	r, err := h.revision(ctx, key, number)
	return r, h.failed("revision", err)
}

func (h *History[T]) revision(ctx context.Context, key repo.Key, number int64) (Revision[T], error) {
	if err := h.checkKey(key); err != nil {
		return Revision[T]{}, err
	}
	m, err := h.marks.Get(ctx, rowKey(key, number))
	if err == nil && number < 1 { // the beginning
		err = repo.ErrNotFound
	}
	if err != nil {
		return Revision[T]{}, err
	}
	return h.one(ctx, key, m)
}

// AsOf returns the revision that was the newest of a record at a time. It is ErrNotFound if there was none, or none
// that is still kept. It reads about log2 n of n revisions, one after the other, and few if the newest was there then.
func (h *History[T]) AsOf(ctx context.Context, key repo.Key, at time.Time) (Revision[T], error) {
	r, err := h.asOf(ctx, key, at)
	return r, h.failed("as of", err)
}

func (h *History[T]) asOf(ctx context.Context, key repo.Key, at time.Time) (Revision[T], error) {
	var none Revision[T]
	if err := h.checkKey(key); err != nil {
		return none, err
	}
	found, err := h.newest(ctx, key)
	if err != nil || found.Number > 0 && !found.At.After(at) {
		if err == nil {
			return h.one(ctx, key, found)
		}
		return none, err
	}
	above := found.Number // is later, and below stays: what is no longer kept is earlier
	found = mark{}
	for below := int64(0); above-below > 1; {
		middle := below + (above-below)/2
		m, err := h.marks.Get(ctx, rowKey(key, middle))
		switch {
		case errors.Is(err, repo.ErrNotFound):
			below = middle
		case err != nil:
			return none, err
		case m.At.After(at):
			above = middle
		default:
			below, found = middle, m
		}
	}
	if found.Number == 0 || found.Number != above-1 {
		return none, fmt.Errorf("the record had no revision then, or none that is still kept: %w", repo.ErrNotFound)
	}
	return h.one(ctx, key, found)
}

// Restore makes a record what it was in a revision: it puts the record, or deletes it. It is a write like others, with
// a revision of its own, of which Of names the restored one.
func (h *History[T]) Restore(ctx context.Context, key repo.Key, number int64, opts ...Option) error {
	r, err := h.revision(ctx, key, number)
	if err != nil {
		return h.failed("restore", err)
	}
	c := change[T]{verb: put, rec: &r.Record, options: options{of: number}}
	if r.Deleted {
		c.verb, c.key = remove, key
	}
	return h.failed("restore", h.write(ctx, &c, opts))
}

// checkKey says what is wrong with the key of a record, or with h.
func (h *History[T]) checkKey(key repo.Key) error {
	if err := h.opened(); err != nil {
		return err
	}
	if len(key) != len(h.key) {
		return fmt.Errorf("the key is %q, and %d values were given: %w", h.key, len(key), repo.ErrInvalid)
	}
	return nil
}

// of returns the query for the revisions of a record, the newest first, without its beginning.
func (h *History[T]) of(key repo.Key) (q repo.Query) {
	for i, name := range h.key {
		q = q.Where(name, key[i])
	}
	return q.AtLeast(numberField, 1)
}

// newest returns the newest revision of a record, with number 0 if there is none.
func (h *History[T]) newest(ctx context.Context, key repo.Key) (mark, error) {
	m, err := h.marks.First(ctx, h.of(key))
	return m, unless(err, repo.ErrNotFound)
}

// one returns the revision of a mark.
func (h *History[T]) one(ctx context.Context, key repo.Key, m mark) (Revision[T], error) {
	list, err := h.read(ctx, key, []mark{m})
	if err != nil || len(list) == 0 {
		var none Revision[T]
		if err == nil {
			err = repo.ErrNotFound
		}
		return none, err
	}
	return list[0], nil
}

// read returns the revisions of some marks, but for those that have gone meanwhile.
func (h *History[T]) read(ctx context.Context, key repo.Key, marks []mark) ([]Revision[T], error) {
	keys := make([]repo.Key, 0, len(marks))
	for i := range marks {
		keys = append(keys, rowKey(key, marks[i].Number))
	}
	records, found, err := h.contents.GetMany(ctx, keys)
	if err != nil {
		return nil, err
	}
	list := make([]Revision[T], 0, len(marks))
	for i := range marks {
		var zero T
		switch m := &marks[i]; {
		case !found[i]:
		case m.Deleted:
			list = append(list, revisionOf(m, zero))
		default:
			h.form.mend(&records[i], m.Until)
			list = append(list, revisionOf(m, records[i]))
		}
	}
	return list, nil
}
