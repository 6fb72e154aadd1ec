package commit

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
	"github.com/polystore/polystore/repo/internal/change"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/scan"
	"github.com/polystore/polystore/repo/internal/store"
)

// An Outcome names a write whose outcome was unknown: repo.Outcome.
type Outcome struct {
	in      string // name of the collection
	Key     driver.Key
	Token   driver.Token
	rev     driver.Token // of the row that the write was based on; zero if there was none
	version driver.Token
	based   bool   // rev and version are known
	seal    string // with a CursorKey: signs the rest
}

// A verdict is what became of a write: repo.verdict.
type verdict uint8

// The verdicts, in the order of those of package repo.
const (
	Unsettled verdict = iota
	Committed
	NotCommitted
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
func (o Outcome) MarshalText() ([]byte, error) {
	return json.Marshal(outcomeText{o.in, o.Key.Partition, o.Key.Sort, o.Token.String(), o.based, o.rev.String(), o.version.String(), o.seal})
}

// UnmarshalText reads the text of an Outcome. Any other text is ErrInvalid.
func (o *Outcome) UnmarshalText(text []byte) error {
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
		return failure.Invalid("outcome has no token")
	}
	*o = Outcome{in: t.Collection, Key: driver.Key{Partition: t.Partition, Sort: t.Sort}, Token: token, based: t.Based, rev: rev, version: version, seal: t.Seal}
	return nil
}

// outcomeOf describes a write under way.
func (c *Writer) outcomeOf(token driver.Token, w *Write) *Outcome {
	o := &Outcome{in: c.Name, Key: w.Key, Token: token}
	switch {
	case w.Known:
		o.based, o.rev, o.version = true, w.Old.Rev, w.Old.Version
	case w.Cond == driver.Absent:
		o.based = true
	}
	if len(c.Store.Opts.CursorKey) > 0 {
		o.seal, _ = c.sealOf(*o) // of strings and bools, which are always JSON
	}
	return o
}

// An Unknown is ErrUnknownOutcome with what Resolve needs.
type Unknown struct {
	Outcome *Outcome
	err     error
}

func (e *Unknown) Error() string { return e.err.Error() }
func (e *Unknown) Unwrap() error { return e.err }

// send commits what b has for some writes. Where the store can leave the outcome open it looks
// for it, in the first record that is written, and sends the same commit again as long as that is safe.
//
// The answer of a first sending that was refused is final, and so is one that a later
// reading explains (W4, W5). Since is from before what the commit is based on was read.
func (c *Writer) send(ctx context.Context, k *store.Call, b *change.Builder, writes []Write, since time.Time) (*driver.Refusal, error) {
	if err := notTooOld(writes, since); err != nil {
		return nil, err
	}
	token, ops, first := b.Token, b.Ops, &writes[b.Owner[0]]
	refusal, err := c.Store.Commit(ctx, k, token, ops)
	if !errors.Is(err, driver.ErrUnknownOutcome) {
		return refusal, err
	}
	o := c.outcomeOf(token, first)
	if c.Records.Ring > 0 {
		first.turn.Hold(first.Key)
	}
	for attempt := 0; attempt < 3 && c.Records.Ring > 0; attempt++ {
		if store.Pause(ctx, attempt) != nil || notTooOld(writes, since) != nil {
			break
		}
		row, verdict, readErr := c.look(ctx, k, o)
		switch {
		case readErr != nil:
			continue
		case verdict == Committed:
			if v, err := c.confirm(ctx, k, o, row); err == nil && v == Committed {
				return nil, nil
			}
			continue
		case verdict == NotCommitted && c.mayOutlast(row, o):
			return c.abandon(ctx, k, o, &driver.Refusal{Row: *row}, err)
		case verdict == NotCommitted:
			return &driver.Refusal{Row: *row}, nil
		}
		if !o.based || row.Rev != o.rev || notTooOld(writes, since) != nil { // which looking may have made it
			break
		}
		again, againErr := c.Store.Commit(ctx, k, token, ops)
		switch {
		case againErr == nil && again == nil:
			return nil, nil
		case againErr == nil && again.Op != 0:
			return c.abandon(ctx, k, o, again, err)
		}
	}
	return nil, &Unknown{o, err}
}

// notTooOld refuses a commit of writes that one of their collections must not be sent any more.
func notTooOld(writes []Write, since time.Time) error {
	for i := range writes {
		if err := writes[i].By.NotTooOld(since); err != nil {
			return err
		}
	}
	return nil
}

// clock returns the time where it is wanted for notTooOld.
func clock(writes []Write) (now time.Time) {
	for i := range writes {
		if now = writes[i].By.Clock(); !now.IsZero() {
			return now
		}
	}
	return now
}

// abandon makes sure that a write whose first sending may still be under way, and that was
// refused or is known not to be done so far, never happens.
func (c *Writer) abandon(ctx context.Context, k *store.Call, o *Outcome, refusal *driver.Refusal, cause error) (*driver.Refusal, error) {
	switch v, err := c.Resolve(ctx, k, o); {
	case err == nil && v == Committed:
		return nil, nil
	case err == nil && v == NotCommitted:
		return refusal, nil
	}
	return nil, &Unknown{o, cause}
}

// Age returns how old a token is, by the store's clock.
func (c *Writer) Age(t driver.Token) time.Duration {
	return c.Store.Opts.Now().Sub(time.UnixMilli(t.Millis()))
}

// isYoung reports whether no tombstone can have been forgotten that is younger than a
// token. One that comes from the future, by the clock that tokens are made with, was made
// by another one and may be old.
func (c *Writer) isYoung(t driver.Token) bool {
	return !fromFuture(t) && max(time.Since(time.UnixMilli(t.Millis())), c.Age(t)) < c.Retention-limit.ClockMargin
}

// mayOutlast reports whether o, which was not done while row, a tombstone, was there, can still
// be done when the tombstone is gone: an insert that was sent without reading wants nothing
// to be there, and may have been sent long after the delete. Where indexes are remote, inserts
// read: such a one is older than the tombstone.
func (c *Writer) mayOutlast(row *driver.Row, o *Outcome) bool {
	return !c.HasRemote && row.Dead && o.based && o.rev.IsZero()
}

// deletedBefore reports whether row is a tombstone whose delete was sent before the write of o
// was made. Then o was not committed: had it been before the delete, the delete would have
// read it, or what came after it, before it took its token; and after it, o would be in the ring.
// That is so of no other last write, because a patch may read nothing.
func deletedBefore(row *driver.Row, o *Outcome) bool {
	if !row.Dead || len(row.Ring) == 0 || fromFuture(o.Token) {
		return false
	}
	return o.Token.Millis()-row.Ring[0].Millis() > limit.ClockMargin.Milliseconds()
}

// fromFuture reports whether a token was made by a clock that differs from this program's by more
// than clocks may.
func fromFuture(t driver.Token) bool {
	return time.Since(time.UnixMilli(t.Millis())) <= -limit.ClockMargin
}

// look reads the record and says what it tells about o; unsettled may mean that
// the write can still happen.
func (c *Writer) look(ctx context.Context, k *store.Call, o *Outcome) (*driver.Row, verdict, error) {
	var rows [1]driver.Row
	if err := c.Store.Get(ctx, k, c.Records, []driver.Key{o.Key}, nil, rows[:]); err != nil {
		return nil, Unsettled, err
	}
	row := &rows[0]
	for _, t := range row.Ring {
		if t == o.Token {
			return row, Committed, nil
		}
	}
	if !o.based || row.Rev == o.rev {
		return row, Unsettled, nil
	}
	if deletedBefore(row, o) {
		return row, NotCommitted, nil
	}
	if o.version.IsZero() {
		if c.isYoung(o.Token) && len(row.Ring) < limit.RingSize {
			return row, NotCommitted, nil
		}
		return row, Unsettled, nil
	}
	for _, t := range row.Ring {
		if t == o.version {
			return row, NotCommitted, nil
		}
	}
	return row, Unsettled, nil
}

// confirm makes sure that o, which row says was done, is as durable as a commit that
// was acknowledged: what a Check saw is. Without it a write that reached one of several
// servers only would count as done, and could still be lost.
func (c *Writer) confirm(ctx context.Context, k *store.Call, o *Outcome, row *driver.Row) (verdict, error) {
	if !c.Store.Facts.Waits {
		return Committed, nil
	}
	for range limit.MaxAttempts {
		check := driver.Op{Do: driver.Check, Table: c.Records, Row: driver.Row{Key: o.Key}, If: driver.AtRev, Rev: row.Rev}
		refusal, err := c.Store.Commit(ctx, k, driver.NewToken(), []driver.Op{check})
		switch {
		case err != nil:
			return Unsettled, err
		case refusal == nil:
			return Committed, nil
		}
		if row = &refusal.Row; !slices.Contains(row.Ring, o.Token) {
			return Unsettled, nil // pushed out by later writes, or gone with a server
		}
	}
	return Unsettled, nil
}

// Resolve settles o: if the record is still what the write was based on, or a tombstone that
// the write may outlast, it fences the record, so that the write can never happen, and looks
// again. A tombstone that is fenced lasts as long as one that is new.
func (c *Writer) Resolve(ctx context.Context, k *store.Call, o *Outcome) (verdict, error) {
	if c.Records.Ring == 0 {
		return c.resolveNow(ctx, k, o)
	}
	var fenced driver.Token
	for attempt := 0; ; attempt++ {
		since := c.Clock()
		row, verdict, err := c.look(ctx, k, o)
		switch {
		case err != nil:
			return Unsettled, err
		case verdict == Committed:
			return c.confirm(ctx, k, o, row)
		case verdict == NotCommitted && (!c.mayOutlast(row, o) || row.Rev == fenced):
			return NotCommitted, nil
		case verdict == Unsettled && (!o.based || row.Rev != o.rev), attempt >= limit.MaxAttempts:
			return Unsettled, nil
		}
		if fenced, err = c.Fence(ctx, k, o.Key, row.Rev, since); err != nil {
			return Unsettled, err
		}
		if err := store.Pause(ctx, attempt); err != nil {
			return Unsettled, err
		}
	}
}

// resolveNow settles o in a store where nothing is under way once a commit has
// returned, so that what the record says now is final. A Check makes sure that
// what it says is durable.
func (c *Writer) resolveNow(ctx context.Context, k *store.Call, o *Outcome) (verdict, error) {
	row, _, err := c.look(ctx, k, o)
	if err != nil || row.Rev != o.Token && (!o.based || row.Rev != o.rev) {
		return Unsettled, err
	}
	check := driver.Op{Do: driver.Check, Table: c.Records, Row: driver.Row{Key: o.Key}, If: driver.AtRev, Rev: row.Rev}
	if row.Rev.IsZero() {
		check.If = driver.Absent
	}
	refusal, err := c.Store.Commit(ctx, k, driver.NewToken(), []driver.Op{check})
	switch {
	case err != nil || refusal != nil:
		return Unsettled, err
	case row.Rev == o.Token:
		return Committed, nil
	}
	return NotCommitted, nil
}

// IsOurs says why an outcome cannot be one that this collection, with this key, has given out.
func (c *Writer) IsOurs(o *Outcome) error {
	if o.in != c.Name {
		return failure.Invalid("the outcome is of a write to collection %.64q, not of this one", o.in)
	}
	if _, err := c.PartsOf(nil, o.Key); err != nil {
		return failure.Invalid("the outcome is of no record of this collection")
	}
	if len(c.Store.Opts.CursorKey) == 0 {
		return nil
	}
	want, err := c.sealOf(*o)
	if err != nil || !hmac.Equal([]byte(want), []byte(o.seal)) {
		return failure.Invalid("the outcome was changed, or comes from a program with another CursorKey or another store")
	}
	return nil
}

// sealOf returns the seal of an outcome. It names the kind of store, besides what the outcome says.
// No cursor has the same, whose body begins otherwise.
func (c *Writer) sealOf(o Outcome) (string, error) {
	o.seal = ""
	body, err := o.MarshalText()
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(scan.Seal(c.Store, body, []byte("outcome of "+c.Store.Facts.Name))), nil
}
