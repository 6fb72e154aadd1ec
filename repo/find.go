package repo

import (
	"context"
	"iter"
	"reflect"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// A position is where in a run of rows a record was found: the row's Sort.
type position string

const batchSize = 256 // records read at once for an index that does not cover

// Find yields the records that a query finds. The query runs anew for each range
// loop, and lazily: leaving the loop ends it. An error comes once, last, with the
// zero T. A record is yielded as it is read: it met the conditions then.
func (r *Repo[T]) Find(ctx context.Context, q Query) iter.Seq2[T, error] {
	return r.whole().seq(ctx, "find", q)
}

func (v view[T]) seq(ctx context.Context, op string, q Query) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		k := v.c.store.begin(op)
		stopped := false
		err := v.find(ctx, &k, q, func(t *T, _ position) bool {
			stopped = !yield(*t, nil)
			return !stopped
		})
		if err = v.c.end(&k, nil, err); err != nil && !stopped {
			var zero T
			yield(zero, err)
		}
	}
}

// find calls yield for each record found until it returns false.
func (v view[T]) find(ctx context.Context, k *call, q Query, yield func(*T, position) bool) error {
	p, err := v.c.plan(q, v.by)
	if err != nil {
		return err
	}
	return v.findBy(ctx, k, &p, yield)
}

// findBy runs a plan.
func (v view[T]) findBy(ctx context.Context, k *call, p *plan, yield func(*T, position) bool) error {
	if p.empty() {
		return ctx.Err()
	}
	if p.covered {
		return v.findCovered(ctx, k, p, yield)
	}
	return v.findByKey(ctx, k, p, yield)
}

// findCovered yields what the rows themselves say.
func (v view[T]) findCovered(ctx context.Context, k *call, p *plan, yield func(*T, position) bool) error {
	b := newReadBuffer(0)
	defer b.release()
	var out T
	into := reflect.ValueOf(&out).Elem()
	n := 0
	for row, err := range v.c.rows(ctx, k, p, p.limit) {
		if err != nil {
			return err
		}
		if row.Dead || v.c.isPast(row.Expires) {
			continue
		}
		rec, err := v.c.recordOfRow(b, p, row)
		if err == nil {
			err = v.shape.decode(&rec, into)
		}
		if err != nil {
			return err
		}
		if n++; !yield(&out, position(row.Key.Sort)) || n == p.limit {
			return nil
		}
	}
	return nil
}

// recordOfRow returns the record that a row that covers it says.
func (c *collection) recordOfRow(b *readBuffer, p *plan, row *driver.Row) (record, error) {
	vals := b.vals[:0]
	key := row.Key
	var err error
	if p.x != nil {
		if key, err = c.recordKey(p.x, row); err != nil {
			return record{}, err
		}
	}
	if vals, err = c.partsOf(vals, key); err != nil {
		return record{}, err
	}
	for range len(c.cols) - len(c.key) {
		vals = append(vals, driver.Value{})
	}
	for i, f := range row.Fields {
		if at := p.place[i]; at >= 0 {
			vals[at] = f
		}
	}
	if p.keyed {
		if vals, err = c.keyValues(vals, p.x, row); err != nil {
			return record{}, err
		}
	}
	b.vals = vals
	return record{vals: vals, extra: row.Extra, expires: row.Expires, version: versionOf(row)}, nil
}

// keyValues takes fields of the record from the key columns of an index row.
func (c *collection) keyValues(vals []driver.Value, x *index, row *driver.Row) ([]driver.Value, error) {
	n := len(vals)
	vals, _, err := driver.ParseParts(vals, row.Key.Partition, x.table.Partition[:len(x.part)])
	if err != nil {
		return vals, err
	}
	if vals, _, err = driver.ParseParts(vals, row.Key.Sort, x.table.Sort[:len(x.sort)]); err != nil {
		return vals, err
	}
	for i, src := range x.part {
		if !src.elem {
			vals[src.at] = vals[n+i]
		}
	}
	for i, src := range x.sort {
		if !src.elem {
			vals[src.at] = vals[n+len(x.part)+i]
		}
	}
	return vals[:n], nil
}

// findByKey reads the index rows in batches, and the records of each batch at
// once. A record that no longer meets the conditions is left out.
func (v view[T]) findByKey(ctx context.Context, k *call, p *plan, yield func(*T, position) bool) error {
	run := *p
	for {
		size := batchSize
		if run.limit > 0 {
			size = min(run.limit, size)
		}
		keys, sorts, err := v.c.keysOf(ctx, k, &run, size)
		if err != nil || len(keys) == 0 {
			return err
		}
		n, more, err := v.yieldKeys(ctx, k, &run, keys, sorts, yield)
		if err != nil || !more || len(keys) < size {
			return err
		}
		run.limit = max(run.limit-n, 0)
		run.after(sorts[len(sorts)-1])
	}
}

// after moves the run behind the row with a Sort.
func (p *plan) after(sort string) {
	if p.reverse {
		p.to = sort
	} else {
		p.from = driver.After(sort)
	}
}

// keysOf returns the record keys, and the Sorts, of the next live rows of a run.
func (c *collection) keysOf(ctx context.Context, k *call, p *plan, size int) ([]driver.Key, []string, error) {
	keys, sorts := make([]driver.Key, 0, min(size, 32)), make([]string, 0, min(size, 32))
	for row, err := range c.rows(ctx, k, p, size) {
		if err != nil {
			return nil, nil, err
		}
		if c.isPast(row.Expires) {
			continue
		}
		key := row.Key
		if p.x != nil {
			if key, err = c.recordKey(p.x, row); err != nil {
				return nil, nil, err
			}
		}
		keys, sorts = append(keys, key), append(sorts, row.Key.Sort)
		if len(keys) == size {
			break
		}
	}
	return keys, sorts, nil
}

// yieldKeys reads records and yields those that meet the conditions; more is
// false when the loop was left.
func (v view[T]) yieldKeys(ctx context.Context, k *call, p *plan, keys []driver.Key, sorts []string, yield func(*T, position) bool) (n int, more bool, err error) {
	b := newReadBuffer(len(keys))
	defer b.release()
	if err := v.c.store.get(ctx, k, v.c.records, keys, v.mask, b.rows); err != nil {
		return 0, false, err
	}
	var out T
	into := reflect.ValueOf(&out).Elem()
	for i := range keys {
		if !v.c.isLive(&b.rows[i]) {
			continue
		}
		rec, err := v.c.valuesOf(b, &b.rows[i], keys[i], v.mask)
		if err != nil {
			return n, false, v.c.ofText(keys[i], err)
		}
		if !p.matches(rec.vals) {
			continue
		}
		if err := v.shape.decode(&rec, into); err != nil {
			return n, false, v.c.ofText(keys[i], err)
		}
		if n++; !yield(&out, position(sorts[i])) || n == p.limit {
			return n, false, nil
		}
	}
	return n, true, nil
}

// rows yields the rows of a run, those of several buckets merged in order. Limit
// bounds the rows of each partition; 0 leaves that to the loop.
func (c *collection) rows(ctx context.Context, k *call, p *plan, limit int) iter.Seq2[*driver.Row, error] {
	seqs := make([]iter.Seq2[*driver.Row, error], len(p.parts))
	if c.expires || c.records.Ring > 0 {
		limit = 0 // some of the rows may be of dead or expired records
	}
	for i, part := range p.parts {
		seqs[i] = c.store.driver.Range(ctx, driver.Span{Table: p.table, Key: part, From: p.from, To: p.to,
			Reverse: p.reverse, Limit: limit, Mask: p.mask})
	}
	k.depth += len(seqs)
	k.requests += len(seqs)
	if len(seqs) == 1 {
		return counted(seqs[0], k)
	}
	return counted(merged(seqs, p.reverse), k)
}

func counted(seq iter.Seq2[*driver.Row, error], k *call) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		for row, err := range seq {
			k.rows++
			if !yield(row, err) {
				return
			}
		}
	}
}

// merged yields the rows of ordered sequences in order of their Sort.
func merged(seqs []iter.Seq2[*driver.Row, error], reverse bool) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		heads := make([]*driver.Row, len(seqs))
		next := make([]func() (*driver.Row, error, bool), len(seqs))
		for i, seq := range seqs {
			var stop func()
			next[i], stop = iter.Pull2(seq)
			defer stop()
			var err error
			if heads[i], err, _ = next[i](); err != nil {
				yield(nil, err)
				return
			}
		}
		for {
			at := first(heads, reverse)
			if at < 0 || !yield(heads[at], nil) {
				return
			}
			var err error
			if heads[at], err, _ = next[at](); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// first returns the index of the row that comes first, -1 when none is left.
func first(heads []*driver.Row, reverse bool) int {
	at := -1
	for i, row := range heads {
		if row == nil {
			continue
		}
		if at < 0 || (strings.Compare(row.Key.Sort, heads[at].Key.Sort) < 0) != reverse {
			at = i
		}
	}
	return at
}

// Count returns the number of records that a query finds, at most its limit.
func (r *Repo[T]) Count(ctx context.Context, q Query) (int, error) {
	k := r.store.begin("count")
	n, err := r.count(ctx, &k, q)
	return n, r.end(&k, nil, err)
}

func (c *collection) count(ctx context.Context, k *call, q Query) (int, error) {
	p, err := c.plan(q, c.keyAccess)
	if err != nil || p.empty() {
		return 0, err
	}
	counter, ok := c.store.driver.(driver.Counter)
	if !ok || c.expires || c.records.Ring > 0 || !c.store.facts.Counts.Has {
		n := 0
		for row, err := range c.rows(ctx, k, &p, p.limit) {
			if err != nil {
				return 0, err
			}
			if !row.Dead && !c.isPast(row.Expires) {
				if n++; n == p.limit {
					break
				}
			}
		}
		return n, nil
	}
	n := 0
	for _, part := range p.parts {
		k.depth, k.requests = k.depth+1, k.requests+1
		m, err := counter.Count(ctx, driver.Span{Table: p.table, Key: part, From: p.from, To: p.to, Limit: p.limit})
		if err != nil {
			return 0, err
		}
		n += m
	}
	if p.limit > 0 {
		n = min(n, p.limit)
	}
	return n, nil
}

// Keys yields the keys of the records that a query finds, without reading the
// records. It is otherwise like [Repo.Find].
func (r *Repo[T]) Keys(ctx context.Context, q Query) iter.Seq2[Key, error] {
	return func(yield func(Key, error) bool) {
		k := r.store.begin("keys")
		stopped := false
		err := r.keys(ctx, &k, q, func(key Key) bool {
			stopped = !yield(key, nil)
			return !stopped
		})
		if err = r.end(&k, nil, err); err != nil && !stopped {
			yield(nil, err)
		}
	}
}

func (c *collection) keys(ctx context.Context, k *call, q Query, yield func(Key) bool) error {
	p, err := c.plan(q, c.keyAccess)
	if err != nil || p.empty() {
		return err
	}
	n := 0
	for row, err := range c.rows(ctx, k, &p, p.limit) {
		if err != nil {
			return err
		}
		if row.Dead || c.isPast(row.Expires) {
			continue
		}
		key := row.Key
		if p.x != nil {
			if key, err = c.recordKey(p.x, row); err != nil {
				return err
			}
		}
		vals, err := c.partsOf(nil, key)
		if err != nil {
			return err
		}
		if n++; !yield(keyFrom(vals)) || n == p.limit {
			return nil
		}
	}
	return nil
}

// keyFrom returns key values as a caller's Key.
func keyFrom(vals []driver.Value) Key {
	key := make(Key, len(vals))
	for i, v := range vals {
		key[i] = anyOf(v)
	}
	return key
}

// Explain says how a query is answered and what it costs, without running it.
func (r *Repo[T]) Explain(q Query) (Plan, error) {
	p, err := r.plan(q, r.by)
	if err != nil {
		return Plan{}, r.annotate("explain", nil, err)
	}
	return r.explain(&p), nil
}
