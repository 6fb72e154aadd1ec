package repo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// A Group is several writes on records of one partition that are done together or
// not at all. It is for one goroutine and one Commit. Make one with [Repo.Group].
//
// A value of a unique index passes from one record of the group to another only where
// the index changes in the same commit. Where it is put before it ([Repo.ExplainWrites]
// says so), the value is taken as long as the one has it, and Commit fails with ErrExists:
// let the one give it up by a write of its own first.
type Group[T any] struct {
	repo   *Repo[T]
	writes []write
	fill   []*T // by write: the record whose version field is filled, or nil
	errs   []error
}

// Group returns an empty Group.
func (r *Repo[T]) Group() *Group[T] { return &Group[T]{repo: r} }

// Insert adds to the group what [Repo.Insert] does.
func (g *Group[T]) Insert(record *T) { g.add(doInsert, record, nil) }

// Replace adds to the group what [Repo.Replace] does.
func (g *Group[T]) Replace(record *T, opts ...WriteOption) { g.add(doReplace, record, opts) }

// Put adds to the group what [Repo.Put] does.
func (g *Group[T]) Put(record *T, opts ...WriteOption) { g.add(doPut, record, opts) }

// Update adds to the group what [Repo.Update] does. So a record can be a condition of the others: an
// error of fn, which sees the record as it is in the same commit, is that of Commit, and nothing is
// written. Where another writer was faster with a record of the group, fn is called again.
func (g *Group[T]) Update(key Key, fn func(*T) error, opts ...WriteOption) {
	rec, next := new(T), new(record)
	w, err := g.repo.writeOfKey(doUpdate, key, opts)
	if fn == nil {
		err = invalid("the function is nil")
	}
	w.derive = func(w *write) error {
		w.next = next
		return g.repo.derive(w, rec, fn)
	}
	g.push("update", w, rec, err)
}

// Patch adds to the group what [Repo.Patch] does.
func (g *Group[T]) Patch(key Key, edits ...Edit) {
	var w write
	err := g.repo.patchOf(&w, key, edits)
	g.push("patch", w, nil, err)
}

// Delete adds to the group what [Repo.Delete] does.
func (g *Group[T]) Delete(key Key, opts ...WriteOption) {
	w, err := g.repo.writeOfKey(doDelete, key, opts)
	g.push("delete", w, nil, err)
}

func (g *Group[T]) add(verb verb, record *T, opts []WriteOption) {
	var w write
	err := invalid("a record is a nil pointer")
	if record != nil {
		w, err = g.repo.writeOf(verb, record)
	}
	if err == nil {
		err = w.want(opts)
	}
	g.push("", w, record, err)
}

// push adds a write, or what is wrong with it; fill is the record whose version field is filled, or nil.
func (g *Group[T]) push(verb string, w write, fill *T, err error) {
	if err != nil {
		if verb != "" {
			verb += ", "
		}
		g.errs = append(g.errs, fmt.Errorf("%swrite %d of the group: %w", verb, len(g.writes)+len(g.errs), err))
		return
	}
	g.writes, g.fill = append(g.writes, w), append(g.fill, fill)
}

// Commit does all writes of the group, or none, and fills the version fields. All
// records must be of one partition, and each may be named once. A group that is too large
// for the store ([driver.Facts].MaxOps and MaxBytes) is ErrTooLarge: split it. The error of the
// first write that cannot be done is returned: of those whose key cannot be, because the
// record is there, or is not, or has another version, before those whose unique values are
// taken.
func (g *Group[T]) Commit(ctx context.Context) error {
	k := g.repo.begin("commit")
	err := errors.Join(g.errs...)
	if err == nil {
		err = g.check(ctx)
	}
	if err != nil || len(g.writes) == 0 {
		return g.repo.end(&k, nil, err)
	}
	version, err := g.repo.run(ctx, &k, g.writes)
	if err != nil {
		return g.repo.end(&k, nil, err)
	}
	for i, rec := range g.fill {
		if rec != nil {
			g.repo.written(rec, g.writes[i].next, version)
		}
	}
	return g.repo.end(&k, nil, nil)
}

func (g *Group[T]) check(ctx context.Context) error {
	if ctx == nil {
		return errNoContext
	}
	if f := &g.repo.store.facts; f.MaxOps > 0 && len(g.writes) > max(f.MaxOps, 1) {
		return tooManyRows(f, len(g.writes), len(g.writes))
	}
	if f := &g.repo.store.facts; len(g.writes) > 1 && f.Unit == driver.UnitRecord {
		return fmt.Errorf("%s changes one record at a time, and the group has %d; commit them one by one: %w", f.Name, len(g.writes), ErrUnsupported)
	}
	seen := make(map[string]bool, len(g.writes))
	for i := range g.writes {
		key := g.writes[i].key
		if key.Partition != g.writes[0].key.Partition {
			return ofKey(key, invalid("a group changes records of one partition, and this one is in another than the first"))
		}
		if seen[key.Sort] {
			return ofKey(key, invalid("the record is named twice in the group"))
		}
		if seen[key.Sort] = true; i%1000 == 0 && ctx.Err() != nil {
			return fmt.Errorf("%w: %w", ErrTimeout, context.Cause(ctx))
		}
	}
	return nil
}

// fits refuses a commit of several records that is so large that others would wait for the store.
func (c *collection) fits(writes []write, ops []driver.Op) error {
	f := &c.store.facts
	if len(writes) < 2 {
		return nil
	}
	if f.MaxOps > 0 && len(ops) > f.MaxOps {
		return tooManyRows(f, len(writes), len(ops))
	}
	if n := bytesOf(ops); f.MaxBytes > 0 && n > f.MaxBytes {
		return fmt.Errorf("%d records with about %d bytes, those of indexes included, and %s takes at most %d in one commit, or others would wait; split the group: %w",
			len(writes), n, f.Name, f.MaxBytes, ErrTooLarge)
	}
	return nil
}

func tooManyRows(f *driver.Facts, records, rows int) error {
	return fmt.Errorf("%d records with %d rows, those of indexes included, and %s takes at most %d in one commit, or others would wait; split the group: %w",
		records, rows, f.Name, f.MaxOps, ErrTooLarge)
}

// bytesOf returns about how many bytes the keys and values of ops have.
func bytesOf(ops []driver.Op) (n int) {
	for i := range ops {
		n += bytesIn(ops[i].Row.Key, ops[i].Row.Fields, ops[i].Row.Extra)
	}
	return n
}

// A BatchError says which records of [Repo.InsertAll] were not inserted.
type BatchError struct {
	Inserted int       // records that were
	Failed   []Failure // those that were not, in order; at most 100 are kept
	More     int       // further ones that were not
}

// A Failure is one record that was not inserted.
type Failure struct {
	Index int // in the sequence, from 0
	Err   error
}

// Error returns the numbers and the first failure.
func (e *BatchError) Error() string {
	return fmt.Sprintf("%d records inserted, %d not; the first, record %d: %v", e.Inserted, len(e.Failed)+e.More, e.Failed[0].Index, e.Failed[0].Err)
}

// Unwrap returns the failures' errors.
func (e *BatchError) Unwrap() []error {
	errs := make([]error, len(e.Failed))
	for i, f := range e.Failed {
		errs[i] = f.Err
	}
	return errs
}

func (e *BatchError) add(index int, err error) {
	if len(e.Failed) >= 100 {
		e.More++
		return
	}
	e.Failed = append(e.Failed, Failure{index, err})
}

// bulkSize is how many records InsertAll commits at once where the store can.
const bulkSize = 64

// InsertAll inserts records as they come from a sequence, many in one commit
// where the store can, and returns how many were inserted. Each record is
// inserted or not by itself: one that fails does not keep others out, and a
// *BatchError says which failed and why. An error of the sequence, and one of the
// store that is about no record, ends it; it comes with the *BatchError of those
// that failed before. Version fields are not filled, and a record whose version field is set
// fails, as with [Repo.Insert]: clear it in records that were read.
func (r *Repo[T]) InsertAll(ctx context.Context, records iter.Seq2[T, error]) (int, error) {
	k := r.begin("insert all")
	batch := &BatchError{}
	if ctx == nil || records == nil {
		return 0, r.end(&k, nil, cmp.Or(noContext(ctx), invalid("the sequence is nil")))
	}
	var pending []write
	var index []int
	n := 0
	flush := func() error {
		err := r.insertSome(ctx, &k, pending, index, batch)
		pending, index = pending[:0], index[:0]
		return err
	}
	for rec, err := range records {
		if err != nil {
			err = errors.Join(fmt.Errorf("record %d: %w", n, err), flush())
			return batch.Inserted, r.endBatch(&k, batch, err)
		}
		w, err := r.writeOf(doInsert, &rec)
		if err != nil {
			batch.add(n, r.annotate("insert", nil, err))
		} else {
			pending, index = append(pending, w), append(index, n)
		}
		if n++; len(pending) == bulkSize {
			if err := flush(); err != nil {
				return batch.Inserted, r.endBatch(&k, batch, err)
			}
		}
	}
	return batch.Inserted, r.endBatch(&k, batch, flush())
}

// endBatch is end for InsertAll: err, if there is one, ended it early.
func (r *Repo[T]) endBatch(k *call, batch *BatchError, err error) error {
	switch {
	case len(batch.Failed) == 0:
	case err == nil:
		err = batch
	default:
		err = fmt.Errorf("%w; before that, %w", err, batch)
	}
	err = r.end(k, nil, err)
	if e, ok := errors.AsType[*Error](err); ok {
		stays := func(f Failure) bool { return !isRetryable(f.Err) }
		e.Retryable = e.Retryable && batch.Inserted == 0 && batch.More == 0 && !slices.ContainsFunc(batch.Failed, stays)
	}
	return err
}

// insertSome inserts records together, those that fail left out one by one.
func (r *Repo[T]) insertSome(ctx context.Context, k *call, ws []write, index []int, batch *BatchError) error {
	for len(ws) > 0 {
		n := r.together(ws)
		_, err := r.run(ctx, k, ws[:n])
		var at *keyed
		switch {
		case err == nil:
			batch.Inserted += n
			ws, index = ws[n:], index[n:]
		case n > 1 && !fatal(err):
			// One by one: the records before the one that failed are not written yet.
			for i := range n {
				ws[i].known = false
				if err := r.insertSome(ctx, k, ws[i:i+1], index[i:i+1], batch); err != nil {
					return err
				}
			}
			ws, index = ws[n:], index[n:]
		case n == 1 && errors.As(err, &at) && !fatal(err):
			batch.add(index[0], r.annotate("insert", nil, err))
			ws, index = ws[1:], index[1:]
		case n > 1:
			return fmt.Errorf("records %d to %d, in one commit: %w", index[0], index[n-1], err)
		default:
			return fmt.Errorf("record %d: %w", index[0], err)
		}
	}
	return nil
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

// together returns how many of ws the store can take in one commit. With their indexes they may
// still be too large.
func (c *collection) together(ws []write) int {
	f := &c.store.facts
	if f.Unit < driver.UnitPartition {
		return 1
	}
	seen, bytes := map[string]bool{}, 0
	for i := range ws {
		w := &ws[i]
		text := w.key.Partition + w.key.Sort
		bytes += bytesIn(w.key, w.next.vals, w.next.extra)
		if seen[text] || f.Unit == driver.UnitPartition && w.key.Partition != ws[0].key.Partition || i > 0 && f.MaxBytes > 0 && bytes > f.MaxBytes {
			return i
		}
		seen[text] = true
	}
	return len(ws)
}
