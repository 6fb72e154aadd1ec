package repo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/commit"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/store"
)

const (
	bulkSize   = 64   // records that are committed at once where the store can
	bulkGather = 4096 // records that it has at hand where one commit cannot have them all, and their bytes
	bulkBytes  = 8 << 20
	bulkAtOnce = 32 // and commits that it then has under way
)

// InsertAll inserts records as they come from a sequence, and returns how many were inserted. It
// inserts many records in one commit where the store can, and runs several commits at once where a
// commit changes a single partition or record. Each record is inserted or not by itself: a record
// that fails does not keep others out, and a *BatchError says which records failed and why. Of two
// records with one key, or one unique value, the first is inserted. Version fields are not filled.
// A record whose version field is set fails, as with [Repo.Insert]: clear this field in records
// that were read.
//
// An error of the sequence, or an error of the store that is about no record, ends InsertAll.
// Commits under way are done first, and the error comes with the *BatchError of the records that
// failed before. If several commits were under way, the inserted records need not be the first of
// the sequence: some records behind the one that the error names may be inserted, and some before
// it may not have been tried. A caller that inserts all records again gets ErrExists for those that
// are there.
func (r *Repo[T]) InsertAll(ctx context.Context, records iter.Seq2[T, error]) (int, error) {
	return writeAll(ctx, r.on().c, "insert", records, func(c *collection, rec *T) (commit.Write, error) {
		return c.WriteOf(commit.DoInsert, reflect.ValueOf(rec).Elem())
	})
}

// PutAll is [Repo.InsertAll] with [Repo.Put]: it writes records whether or not they are there. Of
// two records with one key the last one stays. A caller whose PutAll ended early may put all records
// again. A unique value that one record gives up and another one takes may be refused: put them one
// after the other, or in a group.
func (r *Repo[T]) PutAll(ctx context.Context, records iter.Seq2[T, error]) (int, error) {
	return writeAll(ctx, r.on().c, "put", records, func(c *collection, rec *T) (commit.Write, error) {
		return c.WriteOf(commit.DoPut, reflect.ValueOf(rec).Elem())
	})
}

// DeleteAll is [Repo.InsertAll] with [Repo.Delete]: it removes the records under keys, such as
// [Repo.Keys] yields, and counts keys without a record, too.
func (r *Repo[T]) DeleteAll(ctx context.Context, keys iter.Seq2[Key, error]) (int, error) {
	return writeAll(ctx, r.on().c, "delete", keys, func(c *collection, key *Key) (commit.Write, error) {
		return c.WriteOfKey(commit.DoDelete, *key)
	})
}

// PatchAll is [Repo.InsertAll] with [Repo.Patch]: it makes the same edits to the records under keys.
// A record that is not there is a failure of the *BatchError. Patches that were made stay when
// PatchAll ends early: an [Add] is done twice by a caller that patches all records again.
func (r *Repo[T]) PatchAll(ctx context.Context, keys iter.Seq2[Key, error], edits ...Edit) (int, error) {
	defs := defsOf(nil, edits)
	return writeAll(ctx, r.on().c, "patch", keys, func(c *collection, key *Key) (w commit.Write, err error) {
		return w, c.PatchOf(&w, *key, slices.Clone(defs))
	})
}

// writeAll makes a write of each item of a sequence, and does them.
func writeAll[E any](ctx context.Context, c *collection, verb string, items iter.Seq2[E, error], write func(*collection, *E) (commit.Write, error)) (int, error) {
	c = c.current(ctx)
	ctx, k := c.begin(ctx, verb+" all")
	defer k.Leave()
	if ctx == nil || items == nil {
		return 0, c.end(&k, nil, cmp.Or(failure.NoContext(ctx), failure.Invalid("the sequence is nil")))
	}
	b := bulk{c: c, k: &k, verb: verb}
	n := 0
	for item, err := range items {
		if err != nil {
			return b.end(errors.Join(fmt.Errorf("record %d: %w", n, err), b.flush(ctx)))
		}
		if c := b.c.current(ctx); c != b.c {
			if err := b.flush(ctx); err != nil { // by what the writes were made for, which holds for a moment
				return b.end(err)
			}
			b.c = c
		}
		w, err := write(b.c, &item)
		if err == nil {
			err = b.add(ctx, bulkWrite{w, n})
		} else {
			err = b.leaveOut(ctx, Failure{n, b.c.annotate(verb, nil, err)})
		}
		if err != nil {
			return b.end(err)
		}
		n++
		k.Takes(n)
	}
	return b.end(b.flush(ctx))
}

// A bulk is writes of a sequence under way.
type bulk struct {
	c       *collection
	k       *store.Call
	verb    string
	pending []bulkWrite
	bytes   int                  // of the pending
	values  map[uniqueValue]bool // that the pending want, as far as no commit looks after them
	failed  []Failure            // since the last flush
	report  BatchError
}

// A bulkWrite is the write of a record with its place in the sequence.
type bulkWrite struct {
	commit.Write
	index int
}

// size returns how many bytes a record has.
func (w *bulkWrite) size() int {
	if w.Next == nil {
		return record.BytesIn(w.Key, nil, nil)
	}
	return record.BytesIn(w.Key, w.Next.Vals, w.Next.Extra)
}

// A uniqueValue is the entry of a record in a unique index.
type uniqueValue struct {
	x   *layout.Index
	key driver.Key
}

// add takes a record. It writes those before it if they are many, or if one of them wants a
// unique value of this one.
func (b *bulk) add(ctx context.Context, w bulkWrite) error {
	most := bulkSize
	if b.c.Store.Facts.Scope < driver.ScopeStore {
		most = bulkGather
	}
	values := b.valuesOf(&w)
	bytes := w.size()
	shared := slices.ContainsFunc(values, func(v uniqueValue) bool { return b.values[v] })
	if shared || len(b.pending) == most || len(b.pending) > 0 && b.bytes+bytes > bulkBytes {
		if err := b.flush(ctx); err != nil {
			return err
		}
	}
	b.pending, b.bytes = append(b.pending, w), b.bytes+bytes
	for _, v := range values {
		if b.values == nil {
			b.values = map[uniqueValue]bool{}
		}
		b.values[v] = true
	}
	return nil
}

// leaveOut takes the failure of a record that no commit can have. Of many the report is made now, and the end
// of the context is seen, which no commit sees.
func (b *bulk) leaveOut(ctx context.Context, f Failure) error {
	if b.failed = append(b.failed, f); len(b.failed) < bulkGather {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("record %d: %w: %w", f.Index, driver.ErrTimeout, ctx.Err())
	}
	return b.flush(ctx)
}

// valuesOf returns the unique values of a record for which records of other commits compete.
func (b *bulk) valuesOf(w *bulkWrite) (values []uniqueValue) {
	if b.c.Store.Facts.Scope == driver.ScopeStore || w.Next == nil {
		return nil
	}
	bld := layout.NewEntryMaker()
	defer bld.Release()
	for _, x := range b.c.Indexes {
		if !x.Unique || !x.Remote && !x.Native {
			continue
		}
		keys, err := bld.Entries(nil, b.c.Layout, x, &w.Key, w.Next.Vals)
		if err != nil {
			continue // the write will say so
		}
		for _, key := range keys {
			values = append(values, uniqueValue{x, key})
		}
	}
	return values
}

// flush writes the pending records, and adds to the report what became of them. Its error
// is about no record.
func (b *bulk) flush(ctx context.Context) error {
	chains := b.chains()
	var next atomic.Int64
	var stop atomic.Bool
	b.k.AtOnce(min(len(chains), bulkAtOnce), func(_ int, k *store.Call) {
		for i := int(next.Add(1)) - 1; i < len(chains); i = int(next.Add(1)) - 1 {
			if chains[i].write(ctx, k, &stop); chains[i].err != nil {
				stop.Store(true)
			}
		}
	})
	var fatal []Failure
	for i := range chains {
		ch := &chains[i]
		b.report.Done += ch.done
		b.failed = append(b.failed, ch.failed...)
		if ch.err != nil {
			fatal = append(fatal, Failure{ch.rest[0].index, ch.err})
		}
	}
	inOrder := func(a, b Failure) int { return cmp.Compare(a.Index, b.Index) }
	slices.SortFunc(b.failed, inOrder)
	b.report.add(b.failed)
	clear(b.pending) // what they hold may be large
	b.pending, b.bytes, b.failed = b.pending[:0], 0, nil
	clear(b.values)
	slices.SortFunc(fatal, inOrder)
	return firstOf(fatal)
}

// firstOf returns the first error, and the others that are of unknown outcome: of each of them
// somebody must hear.
func firstOf(fatal []Failure) (err error) {
	for i, f := range fatal {
		switch {
		case i == 0:
			err = f.Err
		case errors.Is(f.Err, ErrUnknownOutcome):
			err = fmt.Errorf("%w; and %w", err, f.Err)
		}
	}
	return err
}

// A chain is records of which one commit can have several, in their order.
type chain struct {
	c      *collection
	verb   string
	rest   []bulkWrite // not yet written
	done   int
	failed []Failure
	err    error // about no record
}

// chains divides the pending records.
func (b *bulk) chains() (list []chain) {
	scope, at := b.c.Store.Facts.Scope, map[string]int{}
	for _, w := range b.pending {
		place := ""
		if scope < driver.ScopeStore {
			place = w.Key.Partition
		}
		if scope == driver.ScopeRecord {
			place += w.Key.Sort
		}
		i, there := at[place]
		if !there {
			i = len(list)
			at[place], list = i, append(list, chain{c: b.c, verb: b.verb})
		}
		list[i].rest = append(list[i].rest, w)
	}
	return list
}

// write writes the records of the chain, together where the store can, until another chain
// had to stop.
func (ch *chain) write(ctx context.Context, k *store.Call, stop *atomic.Bool) {
	for len(ch.rest) > 0 && ch.err == nil && !stop.Load() {
		ch.writeSome(ctx, k, ch.together())
	}
}

// together returns how many records the next commit has: no key twice, and no more bytes than the
// store takes. With their indexes they may still be too large.
func (ch *chain) together() int {
	f := &ch.c.Store.Facts
	if f.Scope < driver.ScopePartition {
		return 1
	}
	seen, bytes := map[driver.Key]bool{}, 0
	for i := range ch.rest {
		w := &ch.rest[i]
		bytes += w.size()
		if seen[w.Key] || i == bulkSize || i > 0 && f.MaxBytes > 0 && bytes > f.MaxBytes {
			return i
		}
		seen[w.Key] = true
	}
	return len(ch.rest)
}

// writeSome writes the next n records in one commit or, if one of them fails, one by one.
func (ch *chain) writeSome(ctx context.Context, k *store.Call, n int) {
	some := ch.rest[:n]
	ws := make([]commit.Write, n)
	for i := range some {
		ws[i] = some[i].Write
	}
	_, err := commit.Run(ctx, k, ws)
	var at *failure.Keyed
	switch {
	case err == nil:
		ch.done += n
	case n > 1 && !fatal(err):
		for range n { // the records before the one that failed are not written yet
			if ch.writeSome(ctx, k, 1); ch.err != nil {
				return
			}
		}
		return
	case n == 1 && errors.As(err, &at) && !fatal(err):
		ch.failed = append(ch.failed, Failure{some[0].index, ch.c.annotate(ch.verb, nil, err)})
	case n > 1:
		ch.err = fmt.Errorf("records %s, in one commit: %w", numbers(some), err)
		return
	default:
		ch.err = fmt.Errorf("record %d: %w", some[0].index, err)
		return
	}
	ch.rest = ch.rest[n:]
}

// numbers returns the places of records, for people.
func numbers(some []bulkWrite) string {
	first, last := some[0].index, some[len(some)-1].index
	if last-first == len(some)-1 {
		return fmt.Sprintf("%d to %d", first, last)
	}
	return fmt.Sprintf("%d to %d, %d of them", first, last, len(some))
}

// fatal reports whether an error is about the store and not about one record.
func fatal(err error) bool {
	for _, kind := range []error{ErrUnavailable, ErrThrottled, ErrTimeout, ErrClosed, ErrFull, ErrCorrupt, ErrInternal, ErrSchema, ErrUnknownOutcome} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// end ends the operation: err, if there is one, ended it early.
func (b *bulk) end(err error) (int, error) {
	batch := &b.report
	switch {
	case len(batch.Failed) == 0:
	case err == nil:
		err = batch
	default:
		err = fmt.Errorf("%w; before that, %w", err, batch)
	}
	err = b.c.end(b.k, nil, err)
	if e, ok := errors.AsType[*Error](err); ok {
		stays := func(f Failure) bool { return !failure.IsRetryable(f.Err) }
		e.Retryable = e.Retryable && batch.Done == 0 && batch.More == 0 && !slices.ContainsFunc(batch.Failed, stays)
	}
	return batch.Done, err
}
