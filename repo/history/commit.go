package history

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/polystore/polystore/repo"
)

// A state is what is there before a write.
type state struct {
	last  mark         // the newest revision, number 0 if there is none
	there repo.Version // of the record, zero if it is not there
}

// isKnown reports whether the newest revision is what the record is.
func (s *state) isKnown() bool {
	if s.last.Number == 0 || s.last.Deleted {
		return s.there.IsZero()
	}
	return s.there == s.last.Version
}

// stateOf reads what is there: the record itself only if look says so.
func (h *History[T]) stateOf(ctx context.Context, key repo.Key, look bool) (s state, err error) {
	if s.last, err = h.newest(ctx, key); err != nil {
		return s, err
	}
	if look {
		v, err := h.versions.Get(ctx, key)
		s.there = v.Version
		return s, unless(err, repo.ErrNotFound)
	}
	if !s.last.Deleted {
		s.there = s.last.Version
	}
	return s, nil
}

// unless returns err, or nil if it is of a kind.
func unless(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}

// fill adds to a group all that a change writes, the revisions first, and returns the record as it is written; nil
// says that it is not there any more.
func (h *History[T]) fill(ctx context.Context, g *repo.Group, c *change[T], s *state) (*T, error) {
	next, had := c.rec, new(T)
	if !s.there.IsZero() && (c.verb == update || !s.isKnown()) {
		var err error
		if *had, err = h.records.Get(ctx, c.key); err != nil {
			return nil, unless(err, repo.ErrNotFound)
		}
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	if now.Before(s.last.At) {
		now = s.last.At
	}
	r := revisions{state: s, key: c.key, now: now}
	if !s.isKnown() {
		m := mark{Outside: true, Deleted: s.there.IsZero()}
		if c.verb == adopt {
			m.By, m.Why = c.by, c.why
		}
		h.add(&r, m, had)
	}
	if c.verb == update || c.verb == adopt {
		next = had
	}
	if c.verb == update {
		if err := h.apply(c, next); err != nil {
			return nil, err
		}
	}
	if c.verb != adopt {
		h.add(&r, mark{By: c.by, Why: c.why, Of: c.of, Deleted: c.verb == remove}, next)
	}
	h.addRevisions(g, &r)
	h.addRecord(g, c, s.there, next)
	if next == nil {
		next = had // of a removal, which nobody asks for
	}
	return next, nil
}

// apply calls the function of an update.
func (h *History[T]) apply(c *change[T], rec *T) error {
	before := h.form.keyIn(rec, h.key)
	if err := c.fn(rec); err != nil {
		return err
	}
	if !reflect.DeepEqual(h.form.keyIn(rec, h.key), before) {
		return fmt.Errorf("the update changes the key; insert a new record and delete this one: %w", repo.ErrInvalid)
	}
	return settle(rec)
}

// revisions are those that one commit makes.
type revisions struct {
	*state
	key  repo.Key
	now  time.Time
	rows []map[string]any
	mark mark // of the last of rows
}

// add adds a revision.
func (h *History[T]) add(r *revisions, m mark, rec *T) {
	m.Number, m.At = r.last.Number+int64(len(r.rows))+1, r.now
	row := map[string]any{}
	if !m.Deleted {
		row = h.form.take(rec)
	}
	for i, name := range h.key {
		row[name] = r.key[i]
	}
	m.put(row)
	if len(r.rows) > 0 {
		h.expire(r.rows[len(r.rows)-1], r.now)
	}
	if m.Deleted {
		h.expire(row, r.now)
	}
	r.rows, r.mark = append(r.rows, row), m
}

// expire makes a row one that expires when the time is over for which a revision is kept.
func (h *History[T]) expire(row map[string]any, now time.Time) {
	if h.keep.For > 0 {
		row[mapExpires] = now.Add(h.keep.For)
	}
}

// addRevisions adds the rows of revisions to a group, and what becomes of older ones. While the last revision is there,
// none that followed it was removed, so no number is taken twice.
func (h *History[T]) addRevisions(g *repo.Group, r *revisions) {
	w, last := h.rows.In(g), r.last.Number
	gone := int64(0) // all up to it are too many
	if h.keep.Revisions > 0 {
		gone = r.mark.Number - int64(h.keep.Revisions)
	}
	for i := range r.rows {
		if last+int64(i)+1 > gone {
			w.Insert(&r.rows[i])
		}
	}
	h.addBeginning(w, r)
	for n := max(gone-int64(len(r.rows))+1, 1); n <= min(gone, last-1); n++ {
		w.Delete(rowKey(r.key, n))
	}
	switch at := rowKey(r.key, last); {
	case last == 0:
	case last <= gone:
		w.Delete(at, repo.IfVersion(r.last.Version))
	case h.keep.For > 0:
		w.Patch(at, repo.ExpireAt(r.now.Add(h.keep.For)))
	case r.there.IsZero():
		w.Check(at, repo.IfVersion(r.last.Version))
	}
}

// addBeginning adds the row 0 of a record's history to a group, where revisions are removed: it is inserted with
// revision 1. So a writer who found no revision, and comes when others wrote some and the first of them are removed, is
// refused. It expires with the last revision of a deleted record.
func (h *History[T]) addBeginning(w repo.Writes[map[string]any], r *revisions) {
	first := r.last.Number == 0
	if h.keep == (Keep{}) || !first && (h.keep.For == 0 || r.mark.Deleted == r.last.Deleted) {
		return
	}
	row := map[string]any{}
	for i, name := range h.key {
		row[name] = r.key[i]
	}
	(&mark{At: r.now}).put(row)
	if r.mark.Deleted {
		h.expire(row, r.now)
	}
	if first {
		w.Insert(&row)
	} else {
		w.Put(&row)
	}
}

// addRecord adds the write of the record to a group, on condition that it has a version.
func (h *History[T]) addRecord(g *repo.Group, c *change[T], there repo.Version, next *T) {
	w := h.records.In(g)
	switch {
	case c.verb == adopt && there.IsZero():
		w.Check(c.key, repo.IfAbsent())
	case c.verb == remove:
		w.Delete(c.key, repo.IfVersion(there))
	case there.IsZero():
		w.Insert(next)
	default:
		w.Replace(next, repo.IfVersion(there))
	}
}

// rowKey returns the key of a revision.
func rowKey(key repo.Key, number int64) repo.Key { return append(key[:len(key):len(key)], number) }
