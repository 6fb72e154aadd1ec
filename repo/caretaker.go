package repo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/catalog"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/store"
)

// MaintainOptions say how [Store.Maintain] works. Nil is the zero value.
type MaintainOptions struct {
	// Every makes Maintain a loop, which ends with its context: each collection has a turn once in
	// that time. 0 is one turn for each collection, at once.
	Every time.Duration

	// Rate is the greatest number of records and rows read in a second. 0 is 1000, a negative
	// number is no bound.
	Rate int

	// Collections names the collections to maintain; nil is all of the store.
	Collections []string

	// Done, unless nil, is called after each turn of a collection. If err names rows that cannot be
	// dealt with, all other rows are done. Done must not close the store.
	Done func(collection string, done Reclaimed, err error)
}

const (
	usualRate = 1000
	lookAgain = time.Minute     // how often a loop looks whose turn it is
	upkeepFor = 3 * time.Minute // how long nobody else maintains a collection of which nothing is heard
)

// Maintain does what [Repo.Maintain] does, for all collections of the store, one after the other.
// The program need not know their schemas. A service has a loop with
//
//	go store.Maintain(ctx, &repo.MaintainOptions{Every: time.Hour})
//
// which returns when the context ends or the store is closed. Programs that share a store share the
// work: the store remembers when a collection had its turn, which program is at work, and how far
// that program has come. An interrupted turn resumes where it was some seconds before.
//
// Without Every it returns the errors of all collections together; a collection that another
// program is maintaining just now is ErrContention. In a loop errors go to Done and to
// Options.Tracer.
func (s *Store) Maintain(ctx context.Context, opts *MaintainOptions) error {
	u := caretaker{me: driver.NewToken().String(), missed: map[string]bool{}}
	if opts != nil {
		u.opts = *opts
	}
	err := given(ctx, s)
	if err == nil && u.opts.Every < 0 {
		err = failure.Invalid("Every is %s; want 0 or more", u.opts.Every)
	}
	if err != nil {
		return &Error{Op: "maintain", Err: err}
	}
	if u.opts.Rate == 0 {
		u.opts.Rate = usualRate
	}
	ctx, leave, err := s.handle.Background.Enter(ctx)
	if err != nil {
		return &Error{Op: "maintain", Err: err}
	}
	defer leave()
	u.maintained = s.upkeep.of(s)
	for {
		next, err := u.pass(ctx)
		if closed := context.Cause(ctx); err != nil && errors.Is(closed, ErrClosed) {
			err = errors.Join(err, &Error{Op: "maintain", Err: closed})
		}
		if u.opts.Every == 0 || errors.Is(err, ErrClosed) {
			return err
		}
		if err := store.SleepUntil(ctx, next); err != nil {
			return &Error{Op: "maintain", Err: err}
		}
	}
}

// A caretaker is a Store.Maintain under way.
type caretaker struct {
	*maintained
	opts   MaintainOptions
	me     string
	missed map[string]bool // collections that are not there, of which was told
}

// A shift is what the store remembers of the upkeep of a collection, in a row of the catalog.
type shift struct {
	Upkeep string `json:"upkeep"` // of this collection
	Made   string `json:"made"`   // which of those that had the name
	Ended  int64  `json:"ended,omitempty"`
	Until  int64  `json:"until,omitempty"` // nobody else is to be at it
	By     string `json:"by,omitempty"`
	Table  string `json:"table,omitempty"` // where it is, if it was begun and not ended
	Mark   string `json:"mark,omitempty"`

	rev driver.Token
}

// upkeepMark ends the names under which the catalog has shifts. No collection has such a name.
const upkeepMark = "/upkeep"

// pass gives each collection its turn that is due, and returns when to look again.
func (u *caretaker) pass(ctx context.Context) (next time.Time, err error) {
	ctx, k := u.store.handle.Begin(ctx, "maintain", "")
	defer k.Leave()
	next = time.Now().Add(min(lookAgain, max(u.opts.Every, time.Millisecond)))
	var all []error
	entries, shifts, err := u.read(ctx)
	if err != nil {
		err = u.failed(&k, "", err)
		if _, some := errors.AsType[driver.Unread](err); !some {
			return next, k.End(err)
		}
		all = append(all, err)
	}
	for _, e := range entries {
		sh := shifts[e.Collection]
		delete(shifts, e.Collection)
		if sh == nil || sh.Made != e.Made {
			sh = &shift{Upkeep: e.Collection, Made: e.Made, rev: revOf(sh)}
		}
		if !u.wants(e) || u.opts.Every > 0 && !sh.due(u.opts.Every) {
			continue
		}
		if ctx.Err() != nil {
			cut := fmt.Errorf("before collection %s had its turn: %w: %w", e.Collection, ErrTimeout, context.Cause(ctx))
			return next, k.End(errors.Join(append(all, &Error{Op: k.Op, Retryable: failure.IsRetryable(cut), Err: cut})...))
		}
		if err := u.turn(ctx, &k, e, sh); err != nil {
			all = append(all, err)
		}
	}
	if err == nil { // and all entries were read
		for _, sh := range shifts { // of collections that are gone
			u.forget(ctx, &k, sh)
		}
		all = append(all, u.unknown(&k, entries)...)
	}
	return next, k.End(errors.Join(all...))
}

func revOf(sh *shift) driver.Token {
	if sh == nil {
		return driver.Token{}
	}
	return sh.rev
}

// wants reports whether a collection is one of those to be maintained.
func (u *caretaker) wants(e *catalog.Entry) bool {
	return !e.Making && !e.Dropping && (u.opts.Collections == nil || slices.Contains(u.opts.Collections, e.Collection))
}

// unknown returns errors for collections that are named and not there. A loop tells of each once.
func (u *caretaker) unknown(k *store.Call, entries []*catalog.Entry) (errs []error) {
	for _, name := range u.opts.Collections {
		switch {
		case slices.ContainsFunc(entries, func(e *catalog.Entry) bool { return e.Collection == name }):
			delete(u.missed, name)
		case u.opts.Every == 0:
			errs = append(errs, &Error{Op: k.Op, Collection: name, Err: catalog.ErrNoCollection})
		case !u.missed[name]:
			u.missed[name] = true
			errs = append(errs, u.failed(k, name, catalog.ErrNoCollection))
		}
	}
	return errs
}

// due reports whether it is time for another turn.
func (sh *shift) due(every time.Duration) bool {
	return sh.Table != "" || time.Since(time.UnixMilli(sh.Ended)) >= every
}

func (u *caretaker) tell(collection string, done Reclaimed, err error) {
	if u.opts.Done != nil {
		u.opts.Done(collection, done, err)
	}
}

// failed tells of what went wrong before a collection had its turn, or any if it is "".
func (u *caretaker) failed(k *store.Call, collection string, err error) error {
	if e, ok := errors.AsType[*Error](err); !ok || e.Collection != collection {
		err = &Error{Op: k.Op, Collection: collection, Retryable: failure.IsRetryable(err), Err: u.store.Redact(err)}
	}
	u.tell(collection, Reclaimed{}, err)
	return err
}

// turn maintains one collection, if nobody else does.
func (u *caretaker) turn(ctx context.Context, k *store.Call, e *catalog.Entry, sh *shift) error {
	ok := sh.Until <= time.Now().UnixMilli() || sh.By == u.me
	var err error
	if ok {
		sh.By = u.me
		ok, err = u.write(ctx, k, sh, true)
	}
	switch {
	case err != nil || ok:
	case u.opts.Every > 0:
		return nil
	default:
		err = failure.Contention("another program maintains it just now")
	}
	var c *collection
	if err == nil {
		if c, err = u.open(ctx, e); err != nil {
			_ = u.leave(ctx, k, sh) // else it ends by itself
		}
	}
	if err != nil {
		return u.failed(k, sh.Upkeep, err)
	}
	done, err := u.work(ctx, k, c, sh)
	u.tell(sh.Upkeep, done, err)
	return err
}

// work maintains a collection from where the one before it was.
func (u *caretaker) work(ctx context.Context, k *store.Call, c *collection, sh *shift) (Reclaimed, error) {
	if !slices.ContainsFunc(c.Tables(nil), func(t *driver.Table) bool { return t.Name == sh.Table }) {
		sh.Table, sh.Mark = "", ""
	}
	w := store.Way{Table: sh.Table, Mark: sh.Mark, Rate: u.opts.Rate}
	w.Start()
	w.Note = func(table, mark string) { sh.Table, sh.Mark = table, mark }
	w.Save = func(ctx context.Context) error {
		ok, err := u.write(ctx, k, sh, true)
		if err == nil && !ok {
			err = failure.Contention("another program has gone on with it")
		}
		return err
	}
	done, ended, err := c.maintain(ctx, &w)
	if w.Lost {
		w.Table, w.Mark, sh.Table, sh.Mark = "", "", "", ""
		done, ended, err = c.maintain(ctx, &w)
	}
	if errors.Is(err, ErrSchema) {
		u.close(c) // to be opened again
	}
	if ended {
		sh.Table, sh.Mark, sh.Ended = "", "", time.Now().UnixMilli()
	}
	if leaveErr := u.leave(ctx, k, sh); err == nil && leaveErr != nil {
		err = &Error{Op: k.Op, Collection: sh.Upkeep, Err: u.store.Redact(leaveErr)}
	}
	return done, err
}

// lastWord is how long an upkeep that ends tries to say so.
const lastWord = 2 * time.Second

// leave says that nobody is at a collection any more.
func (u *caretaker) leave(ctx context.Context, k *store.Call, sh *shift) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
	defer cancel()
	_, err := u.write(ctx, k, sh, false)
	return err
}

// read returns the entries of the catalog in the order of their names, and the shifts.
func (u *caretaker) read(ctx context.Context) (entries []*catalog.Entry, shifts map[string]*shift, err error) {
	shifts = map[string]*shift{}
	err = catalog.EachEntry(ctx, &u.store.handle, func(row *driver.Row) {
		var e catalog.Entry
		if len(row.Fields) == 0 || json.Unmarshal([]byte(row.Fields[0].Str()), &e) != nil {
			return // Open will say so
		}
		if e.Collection != "" {
			entries = append(entries, &e)
			return
		}
		sh := shift{rev: row.Rev}
		if json.Unmarshal([]byte(row.Fields[0].Str()), &sh) == nil && sh.Upkeep != "" {
			shifts[sh.Upkeep] = &sh
		}
	})
	slices.SortFunc(entries, func(a, b *catalog.Entry) int { return strings.Compare(a.Collection, b.Collection) })
	entries = slices.CompactFunc(entries, func(a, b *catalog.Entry) bool { return a.Collection == b.Collection })
	return entries, shifts, err
}

// write stores a shift if nobody has changed it since it was read; more says that it goes on.
func (u *caretaker) write(ctx context.Context, k *store.Call, sh *shift, more bool) (ok bool, err error) {
	sh.Until = 0
	if more {
		sh.Until = time.Now().Add(upkeepFor).UnixMilli()
	}
	key, err := catalog.Key(sh.Upkeep + upkeepMark)
	if err != nil {
		return false, err
	}
	body, err := json.Marshal(sh)
	if err != nil {
		return false, err
	}
	op := driver.Op{Do: driver.Put, Table: u.store.handle.Cat, If: driver.Absent, Row: driver.Row{Key: key, Fields: []driver.Value{driver.StringValue(string(body))}}}
	if !sh.rev.IsZero() {
		op.If, op.Rev = driver.AtRev, sh.rev
	}
	token := driver.NewToken()
	refusal, err := u.store.handle.Commit(ctx, k, token, []driver.Op{op})
	if err == nil && refusal == nil {
		sh.rev = token
	}
	return err == nil && refusal == nil, err
}

// forget removes the shift of a collection that is gone. What fails is left for the next pass.
func (u *caretaker) forget(ctx context.Context, k *store.Call, sh *shift) {
	key, err := catalog.Key(sh.Upkeep + upkeepMark)
	if err != nil {
		return
	}
	_, _ = u.store.handle.Commit(ctx, k, driver.NewToken(), []driver.Op{{Do: driver.Delete, Table: u.store.handle.Cat, Row: driver.Row{Key: key}, If: driver.AtRev, Rev: sh.rev}})
}
