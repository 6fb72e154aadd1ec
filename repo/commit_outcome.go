package repo

import (
	"context"
	"crypto/hmac"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// An outcomeC names a write whose outcome was unknown: repo.Outcome.
type outcomeC struct {
	in      string // name of the collection
	key     driver.Key
	token   driver.Token
	rev     driver.Token // of the row that the write was based on; zero if there was none
	version driver.Token
	based   bool   // rev and version are known
	seal    string // with a CursorKey: signs the rest
}

// A verdict is what became of a write: repo.verdict.
type verdict uint8

const (
	unsettled verdict = iota
	committed
	notCommitted
)

type outcomeText struct {
	Collection string `json:"collection"`
	Partition  string `json:"partition"`
	Sort       string `json:"sort"`
	Token      string `json:"token"`
	Based      bool   `json:"based"`
	Rev        string `json:"rev,omitempty"`
	Version    string `json:"version,omitempty"`
	Seal       string `json:"seal,omitempty"`
}

// MarshalText returns the text of o.
func (o outcomeC) MarshalText() ([]byte, error) {
	return json.Marshal(outcomeText{o.in, o.key.Partition, o.key.Sort, o.token.String(), o.based, o.rev.String(), o.version.String(), o.seal})
}

// UnmarshalText reads the text of an Outcome. Any other text is ErrInvalid.
func (o *outcomeC) UnmarshalText(text []byte) error {
	var t outcomeText
	if err := json.Unmarshal(text, &t); err != nil {
		return fmt.Errorf("outcome: %w: %w", err, driver.ErrInvalid)
	}
	token, err1 := driver.ParseToken(t.Token)
	rev, err2 := driver.ParseToken(t.Rev)
	version, err3 := driver.ParseToken(t.Version)
	if err := errors.Join(err1, err2, err3); err != nil {
		return fmt.Errorf("outcome: %w", err)
	}
	if token.IsZero() {
		return invalid("outcome has no token")
	}
	*o = outcomeC{in: t.Collection, key: driver.Key{Partition: t.Partition, Sort: t.Sort}, token: token, based: t.Based, rev: rev, version: version, seal: t.Seal}
	return nil
}

// outcomeOf describes a write under way.
func (c *writer) outcomeOf(token driver.Token, w *write) *outcomeC {
	o := &outcomeC{in: c.name, key: w.key, token: token}
	switch {
	case w.known:
		o.based, o.rev, o.version = true, w.old.rev, w.old.version
	case w.cond == driver.Absent:
		o.based = true
	}
	if len(c.store.opts.CursorKey) > 0 {
		o.seal, _ = c.sealOf(*o) // of strings and bools, which are always JSON
	}
	return o
}

// An unknown is ErrUnknownOutcome with what Resolve needs.
type unknown struct {
	outcome *outcomeC
	err     error
}

func (e *unknown) Error() string { return e.err.Error() }
func (e *unknown) Unwrap() error { return e.err }

// send commits ops. Where the store can leave the outcome open it looks for it,
// and sends the same commit again as long as that is safe.
//
// The answer of a first sending that was refused is final, and so is one that a later
// reading explains (W4, W5). Since is from before what the commit is based on was read.
func (c *writer) send(ctx context.Context, k *call, token driver.Token, ops []driver.Op, first *write, since time.Time) (*driver.Refusal, error) {
	if err := c.notTooOld(since); err != nil {
		return nil, err
	}
	refusal, err := c.store.commit(ctx, k, token, ops)
	if !errors.Is(err, driver.ErrUnknownOutcome) {
		return refusal, err
	}
	o := c.outcomeOf(token, first)
	if c.records.Ring > 0 {
		first.turn.hold(first.key)
	}
	for attempt := 0; attempt < 3 && c.records.Ring > 0; attempt++ {
		if pause(ctx, attempt) != nil || c.notTooOld(since) != nil {
			break
		}
		row, verdict, readErr := c.look(ctx, k, o)
		switch {
		case readErr != nil:
			continue
		case verdict == committed:
			if v, err := c.confirm(ctx, k, o, row); err == nil && v == committed {
				return nil, nil
			}
			continue
		case verdict == notCommitted && c.mayOutlast(row, o):
			return c.abandon(ctx, k, o, &driver.Refusal{Row: *row}, err)
		case verdict == notCommitted:
			return &driver.Refusal{Row: *row}, nil
		}
		if !o.based || row.Rev != o.rev || c.notTooOld(since) != nil { // which looking may have made it
			break
		}
		again, againErr := c.store.commit(ctx, k, token, ops)
		switch {
		case againErr == nil && again == nil:
			return nil, nil
		case againErr == nil && again.Op != 0:
			return c.abandon(ctx, k, o, again, err)
		}
	}
	return nil, &unknown{o, err}
}

// abandon makes sure that a write whose first sending may still be under way, and that was
// refused or is known not to be done so far, never happens.
func (c *writer) abandon(ctx context.Context, k *call, o *outcomeC, refusal *driver.Refusal, cause error) (*driver.Refusal, error) {
	switch v, err := c.resolve(ctx, k, o); {
	case err == nil && v == committed:
		return nil, nil
	case err == nil && v == notCommitted:
		return refusal, nil
	}
	return nil, &unknown{o, cause}
}

// age returns how old a token is, by the store's clock.
func (c *writer) age(t driver.Token) time.Duration {
	return c.store.opts.Now().Sub(time.UnixMilli(t.Millis()))
}

// isYoung reports whether no tombstone can have been forgotten that is younger than a
// token. One that comes from the future, by the clock that tokens are made with, was made
// by another one and may be old.
func (c *writer) isYoung(t driver.Token) bool {
	return !c.fromFuture(t) && max(time.Since(time.UnixMilli(t.Millis())), c.age(t)) < c.retention-clockMargin
}

// mayOutlast reports whether o, which was not done while row, a tombstone, was there, can still
// be done when the tombstone is gone: an insert that was sent without reading wants nothing
// to be there, and may have been sent long after the delete. Where indexes are loose, inserts
// read: such a one is older than the tombstone.
func (c *writer) mayOutlast(row *driver.Row, o *outcomeC) bool {
	return !c.loose && row.Dead && o.based && o.rev.IsZero()
}

// deletedBefore reports whether row is a tombstone whose delete was sent before the write of o
// was made. Then o was not committed: had it been before the delete, the delete would have
// read it, or what came after it, before it took its token; and after it, o would be in the ring.
// That is so of no other last write, because a patch may read nothing.
func (c *writer) deletedBefore(row *driver.Row, o *outcomeC) bool {
	if !row.Dead || len(row.Ring) == 0 || c.fromFuture(o.token) {
		return false
	}
	return o.token.Millis()-row.Ring[0].Millis() > clockMargin.Milliseconds()
}

// fromFuture reports whether a token was made by a clock that differs from this program's by more
// than clocks may.
func (c *writer) fromFuture(t driver.Token) bool {
	return time.Since(time.UnixMilli(t.Millis())) <= -clockMargin
}

// look reads the record and says what it tells about o; unsettled may mean that
// the write can still happen.
func (c *writer) look(ctx context.Context, k *call, o *outcomeC) (*driver.Row, verdict, error) {
	var rows [1]driver.Row
	if err := c.store.get(ctx, k, c.records, []driver.Key{o.key}, nil, rows[:]); err != nil {
		return nil, unsettled, err
	}
	row := &rows[0]
	for _, t := range row.Ring {
		if t == o.token {
			return row, committed, nil
		}
	}
	if !o.based || row.Rev == o.rev {
		return row, unsettled, nil
	}
	if c.deletedBefore(row, o) {
		return row, notCommitted, nil
	}
	if o.version.IsZero() {
		if c.isYoung(o.token) && len(row.Ring) < ringSize {
			return row, notCommitted, nil
		}
		return row, unsettled, nil
	}
	for _, t := range row.Ring {
		if t == o.version {
			return row, notCommitted, nil
		}
	}
	return row, unsettled, nil
}

// confirm makes sure that o, which row says was done, is as durable as a commit that
// was acknowledged: what a Check saw is. Without it a write that reached one of several
// servers only would count as done, and could still be lost.
func (c *writer) confirm(ctx context.Context, k *call, o *outcomeC, row *driver.Row) (verdict, error) {
	if !c.store.facts.Waits {
		return committed, nil
	}
	for range maxAttempts {
		check := driver.Op{Do: driver.Check, Table: c.records, Row: driver.Row{Key: o.key}, If: driver.AtRev, Rev: row.Rev}
		refusal, err := c.store.commit(ctx, k, driver.NewToken(), []driver.Op{check})
		switch {
		case err != nil:
			return unsettled, err
		case refusal == nil:
			return committed, nil
		}
		if row = &refusal.Row; !slices.Contains(row.Ring, o.token) {
			return unsettled, nil // pushed out by later writes, or gone with a server
		}
	}
	return unsettled, nil
}

// resolve settles o: if the record is still what the write was based on, or a tombstone that
// the write may outlast, it fences the record, so that the write can never happen, and looks
// again. A tombstone that is fenced lasts as long as one that is new.
func (c *writer) resolve(ctx context.Context, k *call, o *outcomeC) (verdict, error) {
	if c.records.Ring == 0 {
		return c.resolveNow(ctx, k, o)
	}
	var fenced driver.Token
	for attempt := 0; ; attempt++ {
		since := c.clock()
		row, verdict, err := c.look(ctx, k, o)
		switch {
		case err != nil:
			return unsettled, err
		case verdict == committed:
			return c.confirm(ctx, k, o, row)
		case verdict == notCommitted && (!c.mayOutlast(row, o) || row.Rev == fenced):
			return notCommitted, nil
		case verdict == unsettled && (!o.based || row.Rev != o.rev), attempt >= maxAttempts:
			return unsettled, nil
		}
		if fenced, err = c.fence(ctx, k, o.key, row.Rev, since); err != nil {
			return unsettled, err
		}
		if err := pause(ctx, attempt); err != nil {
			return unsettled, err
		}
	}
}

// resolveNow settles o in a store where nothing is under way once a commit has
// returned, so that what the record says now is final. A Check makes sure that
// what it says is durable.
func (c *writer) resolveNow(ctx context.Context, k *call, o *outcomeC) (verdict, error) {
	row, _, err := c.look(ctx, k, o)
	if err != nil || row.Rev != o.token && (!o.based || row.Rev != o.rev) {
		return unsettled, err
	}
	check := driver.Op{Do: driver.Check, Table: c.records, Row: driver.Row{Key: o.key}, If: driver.AtRev, Rev: row.Rev}
	if row.Rev.IsZero() {
		check.If = driver.Absent
	}
	refusal, err := c.store.commit(ctx, k, driver.NewToken(), []driver.Op{check})
	switch {
	case err != nil || refusal != nil:
		return unsettled, err
	case row.Rev == o.token:
		return committed, nil
	}
	return notCommitted, nil
}

// isOurs says why an outcome cannot be one that this collection, with this key, has given out.
func (c *writer) isOurs(o *outcomeC) error {
	if o.in != c.name {
		return invalid("the outcome is of a write to collection %.64q, not of this one", o.in)
	}
	if _, err := c.partsOf(nil, o.key); err != nil {
		return invalid("the outcome is of no record of this collection")
	}
	if len(c.store.opts.CursorKey) == 0 {
		return nil
	}
	want, err := c.sealOf(*o)
	if err != nil || !hmac.Equal([]byte(want), []byte(o.seal)) {
		return invalid("the outcome was changed, or comes from a program with another CursorKey or another store")
	}
	return nil
}

// sealOf returns the seal of an outcome. It names the kind of store, besides what the outcome says.
// No cursor has the same, whose body begins otherwise.
func (c *writer) sealOf(o outcomeC) (string, error) {
	o.seal = ""
	body, err := o.MarshalText()
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(seal(c.store, body, []byte("outcome of "+c.store.facts.Name))), nil
}
