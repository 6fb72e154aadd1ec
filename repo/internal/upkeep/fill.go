package upkeep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/catalog"
	"github.com/polystore/polystore/repo/internal/change"
	"github.com/polystore/polystore/repo/internal/commit"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/scan"
	"github.com/polystore/polystore/repo/internal/store"
)

// An index is filled when all programs keep it in step: each record is read, and one commit that depends on what was
// read gives it another Rev, by which late writers of before are refused, and its rows. What else there is to it
// internal/evolution says.

// A filler fills indexes, as a view of the repository has them.
type filler struct {
	*Keeper
	rate  *int      // records a second; nil is what leaves room for writers
	since time.Time // before the records of the chunk under way were read
}

// Build takes the indexes of a collection that are not ready to their end, at a rate. Now returns the view of the
// repository.
func Build(ctx context.Context, k *store.Call, rate *int, now func() *Keeper) error {
	for {
		began, c := time.Now(), &filler{Keeper: now(), rate: rate}
		me := c.Shared.Builder
		e, err := catalog.ReadCatalog(ctx, c.Store, k, c.Store.Cat, c.Name)
		if err != nil || e == nil || e.Dropping {
			return err
		}
		x := e.Unfinished()
		if x == nil {
			return nil
		}
		if x.By != "" && x.By != me {
			if rests, err := c.rests(ctx, k, x); err != nil || !rests {
				if err != nil {
					return err
				}
				continue
			}
		}
		if err := c.Shared.OutlastViews(ctx, c.Store, began); err != nil {
			return err
		}
		if x.State == catalog.IndexDeclared {
			err = c.advance(ctx, k, x, catalog.IndexWritten)
		} else {
			err = c.fillAll(ctx, k, x, me, now)
		}
		if err != nil {
			return fmt.Errorf("build index %s: %w", x.Name, err)
		}
	}
}

// A build that is not heard of for some time is one that was stopped.
const buildFor = 15 * time.Second

// rests reports whether nobody is at an index any more: nothing becomes of it for some time.
func (c *filler) rests(ctx context.Context, k *store.Call, x *catalog.IndexEntry) (bool, error) {
	for until := time.Now().Add(buildFor); time.Now().Before(until); {
		if err := store.SleepUntil(ctx, time.Now().Add(time.Second)); err != nil {
			return false, err
		}
		e, err := catalog.ReadCatalog(ctx, c.Store, k, c.Store.Cat, c.Name)
		if err != nil || e == nil {
			return false, err
		}
		if o := e.Unfinished(); o == nil || o.Name != x.Name || o.Turn != x.Turn || o.State != x.State || o.Mark != x.Mark || o.Filled != x.Filled {
			return false, nil
		}
	}
	return true, nil
}

// errOvertaken is the error of a change to an index that another program has changed.
var errOvertaken = failure.Contention("another program has changed the index")

// advance brings an index that is in a state to the next one, unless another program has done so.
func (c *filler) advance(ctx context.Context, k *store.Call, x *catalog.IndexEntry, to string) error {
	_, err := c.changeOf(k, x).step(ctx, func(_ *catalog.Entry, o *catalog.IndexEntry) {
		if o.Turn == x.Turn && o.State == x.State {
			o.To(to)
			o.By, o.Mark = "", ""
			if to == catalog.IndexReady {
				c.beganAt(o)
			}
		}
	})
	return err
}

// beganAt notes when the filling of an index began, unless that is known. A later time costs Maintain work alone.
func (c *filler) beganAt(x *catalog.IndexEntry) {
	if x.Since == 0 && !c.Store.Facts.OneProcess {
		x.Since = time.Now().UnixMilli()
	}
}

func (c *filler) changeOf(k *store.Call, x *catalog.IndexEntry) *indexChange {
	return &indexChange{c.Store, k, c.Shared, c.Name, x.Name, x.Turn}
}

// fillAll fills an index that all programs keep in step.
func (c *filler) fillAll(ctx context.Context, k *store.Call, x *catalog.IndexEntry, me string, now func() *Keeper) error {
	view, of, err := viewOf(ctx, x, now)
	if err != nil || view == nil {
		return err
	}
	c = &filler{Keeper: view, rate: c.rate, since: time.Now()}
	next := c.since
	var f scan.Faults
	u := &upkeep{Keeper: view, call: k, faults: &f}
	w := store.Way{Mark: x.Mark}
	if c.rate != nil {
		w.Rate = *c.rate
	}
	if w.Mark != "" {
		w.Table = c.Records.Name
	}
	p := &progress{mark: x.Mark, filled: x.Filled}
	p.note = func(ctx context.Context, k *store.Call, mark string, filled int) error {
		return c.note(ctx, k, x, me, mark, filled)
	}
	w.Note = func(_, at string) { p.reach(at) }
	w.Save = func(ctx context.Context) error { return p.tell(ctx, k) }
	w.Start()
	k.Way = &w
	defer func() { k.Way = nil }()
	k.Tick(c.Store)
	err = w.Save(ctx)
	if err == nil {
		err = u.EachChunk(ctx, k, &f, c.Records, func(rows []driver.Row) error {
			c.since, next = next, time.Now() // they were read after the former ones came
			return c.fillRows(ctx, u, of, rows, p)
		})
	}
	switch err = f.With(err); {
	case err != nil && view.IsBefore(now().Collection):
		return nil // by the view that has followed it is to be seen what is left to do
	case w.Lost: // the store knows the mark no more
		return c.note(ctx, k, x, me, "", 0)
	case scan.IsOfRow(err) && !errors.Is(err, driver.ErrConflict):
		return c.changeOf(k, x).drop(ctx, err)
	case err != nil:
		return err
	}
	return c.advance(ctx, k, x, catalog.IndexReady)
}

// viewOf returns the view that keeps an index in step, and the index in it. It returns none if another program has gone
// on with the index meanwhile, or dropped it: the views of before are over.
func viewOf(ctx context.Context, x *catalog.IndexEntry, now func() *Keeper) (*Keeper, *layout.Index, error) {
	if err := now().Told(ctx); err != nil {
		return nil, nil, err
	}
	c := now()
	at := slices.IndexFunc(c.Indexes, func(o *layout.Index) bool { return o.ID == x.Name && o.Turn == x.Turn && o.Stage == layout.Written })
	if at < 0 {
		return nil, nil, store.SleepUntil(ctx, time.Now().Add(50*time.Millisecond))
	}
	return c, c.Indexes[at], nil
}

// note says how far the filling has come.
func (c *filler) note(ctx context.Context, k *store.Call, x *catalog.IndexEntry, me, mark string, filled int) error {
	e, err := catalog.ReadCatalog(ctx, c.Store, k, c.Store.Cat, c.Name)
	if err != nil || e == nil {
		return err
	}
	o := e.Unfinished()
	if o == nil || o.Name != x.Name || o.Turn != x.Turn || o.State != x.State || o.By != x.By && o.By != me {
		return errOvertaken
	}
	o.By, o.Mark, o.Filled = me, mark, filled
	c.beganAt(o)
	_, err = catalog.WriteCatalog(ctx, c.Store, k, c.Store.Cat, e) // who was faster noted something else
	return err
}

// fillRow writes the rows of x for one record. One that has expired needs none: who writes over it, or removes it, knows
// that it may have none.
func (c *filler) fillRow(ctx context.Context, k *store.Call, x *layout.Index, row *driver.Row) error {
	for attempt := 0; c.IsLive(k, row); attempt++ {
		err := c.fillOnce(ctx, k, x, row)
		if err == nil {
			return nil
		}
		if !errors.Is(err, errMoved) || attempt == limit.MaxAttempts {
			return failure.OfKeyOnce(row.Key, err)
		}
		if err := store.Pause(ctx, attempt); err != nil {
			return err
		}
		var now [1]driver.Row
		if err := c.Store.Get(ctx, k, c.Records, []driver.Key{row.Key}, nil, now[:]); err != nil {
			return failure.OfKey(row.Key, err)
		}
		now[0].Key = row.Key
		row = &now[0]
	}
	return nil
}

// fillOnce is one attempt of fillRow, by a record as it was read.
func (c *filler) fillOnce(ctx context.Context, k *store.Call, x *layout.Index, row *driver.Row) error {
	next, err := c.RecordOf(row)
	if err != nil {
		return err
	}
	if x.Remote {
		return c.rewrite(ctx, k, row.Key, next.Vals[:len(c.Key)], row, c.since)
	}
	b := change.NewBuilder(c.Store)
	defer b.Release()
	if err := c.add(ctx, k, b, x, row, next); err != nil {
		return err
	}
	refusal, err := c.send(ctx, k, b)
	if errors.Is(err, driver.ErrUnknownOutcome) {
		return errMoved // the record tells when it is read again
	}
	switch {
	case err != nil || refusal == nil:
		return err
	case refusal.Op == 0 || refusal.Row.Rev.IsZero():
		return errMoved
	case k.IsPast(refusal.Row.Expires):
		owner, err := c.RecordKey(x, &refusal.Row)
		if err == nil {
			_, err = c.Reclaim(ctx, k, owner)
		}
		return cmp.Or(err, errMoved)
	}
	return c.twoOwners(x, row.Key, next, &refusal.Row)
}

// add appends the ops that give a record, as it was read, its rows of x.
func (c *filler) add(ctx context.Context, k *store.Call, b *change.Builder, x *layout.Index, row *driver.Row, rec *record.Record) (err error) {
	op := c.touch(x, row)
	b.Ops = append(b.Ops, op)
	ch := change.Change{Key: row.Key, Next: rec}
	if x.Unique {
		if ch.Claims, err = commit.ClaimsOf(ctx, k, c.Writer, b, x, &ch); err != nil {
			return err
		}
	}
	if err := b.AddRowsOf(c.Layout, x, &ch); err != nil {
		return err
	}
	if op.Do == driver.Put { // the record has another version, which rows that stand for it have, too
		return c.addWhole(b, x, row, rec)
	}
	return nil
}

// send commits what b has.
func (c *filler) send(ctx context.Context, k *store.Call, b *change.Builder) (*driver.Refusal, error) {
	if err := c.Enter(ctx, k); err != nil { // another program may have taken over, and the index have gone since
		return nil, err
	}
	defer c.Leave(k)
	return c.Store.Commit(ctx, k, driver.NewToken(), b.Ops)
}

// touch returns the op by which a commit depends on a record as it was read, and refuses those that depend on it
// hereafter.
func (c *Keeper) touch(x *layout.Index, row *driver.Row) driver.Op {
	op := driver.Op{Table: c.Records, Row: driver.Row{Key: row.Key}, If: driver.AtRev, Rev: row.Rev}
	switch {
	case c.Store.Facts.OneProcess && !x.All: // nobody writes late
		op.Do = driver.Check
	case c.Records.Ring > 0 && !x.All:
		op.Do = driver.Fence
		op.Row.Expires = c.Store.NowMillis() + c.Retention.Milliseconds()
	default:
		op.Do = driver.Put
		op.Row.Fields, op.Row.Extra, op.Row.Expires, op.Row.Meta, op.Row.Ring, op.Row.Hint = row.Fields, row.Extra, row.Expires, row.Meta, row.Ring, row.Hint
	}
	return op
}

// addWhole adds the rows of other indexes than x that stand for a record that is written anew.
func (c *Keeper) addWhole(b *change.Builder, x *layout.Index, row *driver.Row, rec *record.Record) error {
	ch := change.Change{Key: row.Key, Known: true, Old: change.Stored{Record: *rec, Row: true, Live: true, Rev: row.Rev}, Next: rec}
	for _, o := range c.Indexes {
		if o == x || !o.All || o.Native || o.Remote || slices.Contains(c.Unsettled, o) {
			continue
		}
		if err := b.AddRows(c.Layout, o, &ch); err != nil {
			return err
		}
	}
	return nil
}
