package repo

import (
	"context"
	"encoding/json"
	"errors"
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
	// Every makes it a loop, which ends with its context: each collection has its turn once in
	// that time. 0 is one turn of each, at once.
	Every time.Duration

	// Rate is how many records and rows it looks at in a second, at most. 0 is 1000, a negative
	// one any number.
	Rate int

	// Collections are those to be maintained, nil for all that the store has.
	Collections []string

	// Done is called after each turn of a collection, unless it is nil. An error that names rows
	// which cannot be dealt with leaves the others done.
	Done func(collection string, done Reclaimed, err error)
}

const (
	usualRate = 1000
	lookAgain = time.Minute     // how often a loop looks whose turn it is
	upkeepFor = 3 * time.Minute // how long nobody else maintains a collection of which nothing is heard
)

// Maintain does what [Repo.Maintain] does, for all collections of the store, one after the
// other, as any program may that knows of none. A service has a loop with
//
//	go store.Maintain(ctx, &repo.MaintainOptions{Every: time.Hour})
//
// which returns when the context ends. Programs that share a store share the work: the store
// remembers when a collection had its turn, who is at it, and how far that one has come, so
// that a turn that was interrupted goes on where it was, some seconds before.
//
// Without Every it returns the errors of all collections together. One that another program
// is maintaining just now is ErrContention. In a loop Done is told of errors, and Options.Observe.
func (s *Store) Maintain(ctx context.Context, opts *MaintainOptions) error {
	u := caretaker{of: s, me: driver.NewToken().String()}
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
	u.begin()
	defer u.end()
	for {
		next, err := u.pass(ctx)
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
	of   *Store
	opts MaintainOptions
	me   string

	store *Store
	repos map[string]*collection
}

// begin makes the store on which collections are opened as maps. Where other programs may change
// their schemas it is one of its own: what it finds new is nothing to the repositories that
// are open.
func (u *caretaker) begin() {
	u.store, u.repos = u.of, map[string]*collection{}
	if !u.of.handle.Facts.OneProcess {
		u.store = u.of.another()
	}
}

func (u *caretaker) end() {
	if u.store != u.of {
		u.store.handle.Background.Close()
		u.store.cleaner.Close()
	}
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
	k := u.store.handle.Begin("maintain")
	next = time.Now().Add(min(lookAgain, max(u.opts.Every, time.Millisecond)))
	var all []error
	entries, shifts, err := u.read(ctx)
	if err != nil {
		err = u.failed(&k, err)
		if _, some := errors.AsType[driver.Unread](err); !some {
			return next, err
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
		if err := u.turn(ctx, &k, sh); err != nil {
			all = append(all, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	for _, sh := range shifts { // of collections that are gone
		u.forget(ctx, &k, sh)
	}
	if err := u.unknown(entries); err != nil {
		all = append(all, err)
	}
	return next, errors.Join(all...)
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

// unknown returns an error for a collection that is named and not there.
func (u *caretaker) unknown(entries []*catalog.Entry) error {
	for _, name := range u.opts.Collections {
		if !slices.ContainsFunc(entries, func(e *catalog.Entry) bool { return e.Collection == name }) {
			return &Error{Op: "maintain", Collection: name, Err: catalog.ErrNoCollection}
		}
	}
	return nil
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

// failed tells of what went wrong before any collection had its turn.
func (u *caretaker) failed(k *store.Call, err error) error {
	err = &Error{Op: "maintain", Err: u.store.redact(err)}
	u.tell("", Reclaimed{}, err)
	if observe := u.store.observe; observe != nil {
		observe(Event{Op: k.Op, Err: err, Took: time.Since(k.Began)})
	}
	return err
}

// turn maintains one collection, if nobody else does.
func (u *caretaker) turn(ctx context.Context, k *store.Call, sh *shift) error {
	busy := sh.Until > time.Now().UnixMilli() && sh.By != u.me
	ok := !busy
	var err error
	if ok {
		sh.By = u.me
		ok, err = u.write(ctx, k, sh, true)
	}
	switch {
	case err != nil:
		err = &Error{Op: "maintain", Collection: sh.Upkeep, Err: u.store.redact(err)}
	case !ok && u.opts.Every > 0:
		return nil
	case !ok:
		err = &Error{Op: "maintain", Collection: sh.Upkeep, Retryable: true, Err: failure.Contention("another program maintains it just now")}
	}
	var done Reclaimed
	if err == nil {
		done, err = u.work(ctx, k, sh)
	}
	u.tell(sh.Upkeep, done, err)
	return err
}

// work maintains a collection from where the one before it was.
func (u *caretaker) work(ctx context.Context, k *store.Call, sh *shift) (Reclaimed, error) {
	c, err := u.open(ctx, sh.Upkeep)
	if err != nil {
		return Reclaimed{}, err
	}
	if !slices.ContainsFunc(c.Tables(nil), func(t *driver.Table) bool { return t.Name == sh.Table }) {
		sh.Table, sh.Mark = "", ""
	}
	w := store.Way{Table: sh.Table, Mark: sh.Mark, Rate: u.opts.Rate}
	w.Note = func(table, mark string) { sh.Table, sh.Mark = table, mark }
	w.Save = func(ctx context.Context) error {
		ok, err := u.write(ctx, k, sh, true)
		if err == nil && !ok {
			err = failure.Contention("another program has gone on with it")
		}
		return err
	}
	resumed := sh.Mark != ""
	done, ended, err := c.maintain(ctx, &w)
	if !ended && resumed && errors.Is(err, ErrInvalid) { // a mark that the store knows no more
		w.Table, w.Mark, sh.Table, sh.Mark = "", "", "", ""
		done, ended, err = c.maintain(ctx, &w)
	}
	if errors.Is(err, ErrSchema) {
		delete(u.repos, sh.Upkeep) // to be opened again
	}
	if ended {
		sh.Table, sh.Mark, sh.Ended = "", "", time.Now().UnixMilli()
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
	defer cancel()
	if _, writeErr := u.write(last, k, sh, false); err == nil && writeErr != nil {
		err = &Error{Op: "maintain", Collection: sh.Upkeep, Err: u.store.redact(writeErr)}
	}
	return done, err
}

// lastWord is how long an upkeep that ends tries to say so.
const lastWord = 2 * time.Second

// open returns a collection as the store remembers it.
func (u *caretaker) open(ctx context.Context, name string) (*collection, error) {
	if c := u.repos[name]; c != nil && c.Gone() == nil {
		return c, nil
	}
	schema, err := SchemaOf(ctx, u.store, name)
	if err != nil {
		return nil, err
	}
	r, err := Open[map[string]any](ctx, u.store, schema, WithoutDefine())
	if err != nil {
		return nil, err
	}
	u.repos[name] = r.c
	return r.c, nil
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
	key, err := catalog.CatalogKey(sh.Upkeep + upkeepMark)
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
	key, err := catalog.CatalogKey(sh.Upkeep + upkeepMark)
	if err != nil {
		return
	}
	_, _ = u.store.handle.Commit(ctx, k, driver.NewToken(), []driver.Op{{Do: driver.Delete, Table: u.store.handle.Cat, Row: driver.Row{Key: key}, If: driver.AtRev, Rev: sh.rev}})
}
