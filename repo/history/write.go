package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/polystore/polystore/repo"
)

// An Option says something of one write.
type Option func(*options)

type options struct {
	by, why string
	version repo.Version
	of      int64
}

// By says who writes.
func By(who string) Option { return func(o *options) { o.by = who } }

// Why says for what reason.
func Why(text string) Option { return func(o *options) { o.why = text } }

// IfVersion makes a write fail with ErrConflict unless the record has version v. The zero Version is no condition.
func IfVersion(v repo.Version) Option { return func(o *options) { o.version = v } }

// A verb is what a write does.
type verb uint8

const (
	insert verb = iota
	replace
	put
	update
	remove
	adopt
)

var verbs = [...]string{"insert", "replace", "put", "update", "delete", "adopt"}

// A change is a write that a caller asked for.
type change[T any] struct {
	options
	verb verb
	key  repo.Key
	rec  *T
	fn   func(*T) error // of update
}

// Insert adds a record that is not there yet, as [repo.Repo.Insert] does, with a revision.
func (h *History[T]) Insert(ctx context.Context, record *T, opts ...Option) error {
	return h.write(ctx, &change[T]{verb: insert, rec: record}, opts)
}

// Replace writes a record that is there, as [repo.Repo.Replace] does, with a revision.
func (h *History[T]) Replace(ctx context.Context, record *T, opts ...Option) error {
	return h.write(ctx, &change[T]{verb: replace, rec: record}, opts)
}

// Put writes a record whether or not it is there, as [repo.Repo.Put] does, with a revision.
func (h *History[T]) Put(ctx context.Context, record *T, opts ...Option) error {
	return h.write(ctx, &change[T]{verb: put, rec: record}, opts)
}

// Update reads a record, lets fn change it, and writes it with a revision, as [repo.Repo.Update] does. Fn may run
// several times. It returns the record as written.
func (h *History[T]) Update(ctx context.Context, key repo.Key, fn func(*T) error, opts ...Option) (T, error) {
	c := change[T]{verb: update, key: key, fn: fn}
	if err := h.write(ctx, &c, opts); err != nil {
		var zero T
		return zero, err
	}
	return *c.rec, nil
}

// Delete removes a record, as [repo.Repo.Delete] does, with a revision that says so. A record that is not there is no
// error, and then there is no revision.
func (h *History[T]) Delete(ctx context.Context, key repo.Key, opts ...Option) error {
	return h.write(ctx, &change[T]{verb: remove, key: key}, opts)
}

// Adopt makes a revision, with Outside set, of what a record is now, if the newest revision is another state: of a
// record that was there before its history, or that the plain repository wrote or deleted. It writes the record as it
// is, which gives it a new version. Otherwise it does nothing.
func (h *History[T]) Adopt(ctx context.Context, key repo.Key, opts ...Option) error {
	return h.write(ctx, &change[T]{verb: adopt, key: key}, opts)
}

// attempts is how often a write is tried while others are faster.
const attempts = 100

// write does a change. At first it takes the record to be what the newest revision says, which the commit checks; if
// that does not hold it looks.
func (h *History[T]) write(ctx context.Context, c *change[T], opts []Option) error {
	op := verbs[c.verb]
	if err := h.prepare(c, opts); err != nil {
		return h.failed(op, err)
	}
	for n := 0; ; n++ {
		again, err := h.try(ctx, c, n > 0 || c.verb == adopt)
		switch {
		case !again:
			return h.failed(op, err)
		case n == attempts:
			return h.failed(op, fmt.Errorf("gave up after %d attempts, other writers were faster each time: %w", n, repo.ErrContention))
		case n == 0:
			continue
		}
		select {
		case <-time.After(rand.N(time.Millisecond << min(n, 6))):
		case <-ctx.Done():
			return h.failed(op, fmt.Errorf("%w: %w", repo.ErrTimeout, context.Cause(ctx)))
		}
	}
}

// prepare checks and completes a change.
func (h *History[T]) prepare(c *change[T], opts []Option) error {
	if err := h.opened(); err != nil {
		return err
	}
	for i, opt := range opts {
		if opt == nil {
			return fmt.Errorf("option %d is nil: %w", i+1, repo.ErrInvalid)
		}
		opt(&c.options)
	}
	switch {
	case c.verb == update && c.fn == nil:
		return fmt.Errorf("the function is nil: %w", repo.ErrInvalid)
	case c.verb <= put && c.rec == nil:
		return fmt.Errorf("the record is a nil pointer: %w", repo.ErrInvalid)
	case c.verb <= put:
		if c.key = h.form.keyIn(c.rec, h.key); c.version.IsZero() {
			c.version = h.form.versionIn(c.rec)
		}
		return settle(c.rec)
	}
	return h.checkKey(c.key)
}

// try makes one attempt, and reports whether another one is to follow: which looks.
func (h *History[T]) try(ctx context.Context, c *change[T], look bool) (again bool, err error) {
	s, err := h.stateOf(ctx, c.key, look)
	if err != nil {
		return false, err
	}
	nothing := c.verb == remove && s.there.IsZero() || c.verb == adopt && s.isKnown()
	if err = c.expects(s.there); err != nil || nothing {
		return !look, err
	}
	g := h.records.Store().Group()
	next, err := h.fill(ctx, g, c, &s)
	if err == nil && next == nil {
		return true, nil // the record went meanwhile
	}
	if err != nil {
		return false, err
	}
	err = g.Commit(ctx)
	if e, ok := errors.AsType[*repo.Error](err); ok && e.Index != "" || errors.Is(err, repo.ErrUnknownOutcome) {
		return false, err
	}
	if errors.Is(err, repo.ErrConflict) || errors.Is(err, repo.ErrExists) || errors.Is(err, repo.ErrNotFound) {
		return true, nil
	}
	c.rec = next
	return false, err
}

// expects says what speaks against a change of a record with a version; that is zero if it is not there.
func (c *change[T]) expects(there repo.Version) error {
	some := !c.version.IsZero()
	switch {
	case c.verb == insert && !there.IsZero():
		return repo.ErrExists
	case c.verb == insert:
		return nil // repo refuses a record with a version
	case some && there.IsZero() && c.verb == remove:
		return fmt.Errorf("the record with version %s is not there: %w", c.version, repo.ErrConflict)
	case there.IsZero() && (some || c.verb == replace || c.verb == update):
		return repo.ErrNotFound
	case some && there != c.version:
		return fmt.Errorf("the record has another version than %s: %w", c.version, repo.ErrConflict)
	}
	return nil
}
