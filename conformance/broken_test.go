package conformance

import (
	"context"
	"iter"
	"slices"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/repo/driver"
)

// A broken store is the memory backend with some methods in the way of it. Each
// fault sets one or two of them.
type broken struct {
	*memory.Store

	facts   func(f *driver.Facts)
	key     func(t *driver.Table, k driver.Key) driver.Key // of keys on their way in
	value   func(v driver.Value) driver.Value              // of values on their way in
	op      func(op *driver.Op) bool                       // of ops on their way in; false leaves one out
	commit  func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error)
	answer  func(token driver.Token, ops []driver.Op, refusal *driver.Refusal, err error) (*driver.Refusal, error)
	get     func(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error
	got     func(t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row)
	span    func(s *driver.Span)
	ranged  func(ctx context.Context, s driver.Span) iter.Seq2[*driver.Row, error]
	row     func(s *driver.Span, n int, r *driver.Row) bool // of the nth row of a range; false leaves it out
	walk    func(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error]
	chunk   func(t *driver.Table, n int, c *driver.Chunk) bool
	define  func(ctx context.Context, tables []*driver.Table) error
	attach  func(ctx context.Context, tables []*driver.Table) error
	drop    func(ctx context.Context, tables []*driver.Table) error
	count   func(ctx context.Context, s driver.Span) (int, error)
	swept   func(op *driver.Op)                    // of what a sweep does
	gather  func(n int, i *int) bool               // of the nth row that is gathered, and its table; false leaves it out
	ranges  func(n int, i *int) bool               // of the nth row of several spans, and its span; false leaves it out
	greedy  bool                                   // yields rows of several spans that are not wanted
	follow  func(trail *driver.Trail, i *int) bool // of a trail, with nil, and of each of its rows; false leaves that out
	grouped func(g *driver.Group) bool             // of groups on their way out; false leaves one out
	size    func(ctx context.Context, t *driver.Table) (int64, error)
	close   func() error
	entry   func(key, text string) string // of entries of the catalog on their way out
	hidden  bool                          // Count and Size are not to be seen
}

func newBroken(scope driver.Scope) *broken {
	return &broken{Store: memory.New(&memory.Options{Scope: &scope})}
}

func (b *broken) Facts() driver.Facts {
	f := b.Store.Facts()
	if b.facts != nil {
		b.facts(&f)
	}
	return f
}

// in returns ops as they reach the memory backend.
func (b *broken) in(ops []driver.Op) []driver.Op {
	if b.key == nil && b.value == nil && b.op == nil {
		return ops
	}
	var kept []driver.Op
	for _, op := range double.CopyOps(ops) {
		if b.key != nil {
			op.Row.Key = b.key(op.Table, op.Row.Key)
		}
		if b.value != nil && op.Table.Name[0] != '_' {
			b.values(&op)
		}
		if b.op == nil || op.Table.Name[0] == '_' || b.op(&op) {
			kept = append(kept, op)
		}
	}
	return kept
}

func (b *broken) values(op *driver.Op) {
	for i := range op.Row.Fields {
		op.Row.Fields[i] = b.value(op.Row.Fields[i])
	}
	for i := range op.Row.Extra {
		op.Row.Extra[i].Value = b.value(op.Row.Extra[i].Value)
	}
	for i := range op.Edits {
		op.Edits[i].Value = b.value(op.Edits[i].Value)
	}
}

func (b *broken) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if b.commit != nil && len(ops) > 0 && ops[0].Table.Name[0] != '_' {
		return b.commit(ctx, token, ops)
	}
	refusal, err := b.Store.Commit(ctx, token, b.in(ops))
	if b.answer != nil && len(ops) > 0 && ops[0].Table.Name[0] != '_' {
		return b.answer(token, ops, refusal, err)
	}
	return refusal, err
}

// Sweep removes what is dead by commits.
func (b *broken) Sweep(ctx context.Context, t *driver.Table, mark string, old func(*driver.Row) bool) (s driver.Swept, err error) {
	for chunk, err := range b.Store.Walk(ctx, t, mark) {
		if err != nil {
			return driver.Swept{}, err
		}
		s.Mark = chunk.Mark
		for _, row := range chunk.Rows {
			if !row.Dead || !old(&row) {
				s.Rows = append(s.Rows, row)
				continue
			}
			op := driver.Op{Do: driver.Delete, Table: t, If: driver.AtRev, Rev: row.Rev, Row: driver.Row{Key: row.Key}}
			if b.swept != nil {
				b.swept(&op)
			}
			refusal, err := b.Store.Commit(ctx, driver.NewToken(), []driver.Op{op})
			if err != nil {
				return driver.Swept{}, err
			}
			if refusal == nil {
				s.Dead++
			}
		}
		break
	}
	return s, nil
}

// Gather reads a range of each table.
func (b *broken) Gather(ctx context.Context, tables []*driver.Table, partition string, yield func(i int, row *driver.Row) bool) error {
	n := 0
	for i, t := range tables {
		for row, err := range b.Store.Range(ctx, driver.Span{Table: t, Key: driver.Key{Partition: partition}}) {
			if err != nil {
				return err
			}
			of := i
			if n++; b.gather != nil && !b.gather(n, &of) {
				continue
			}
			if !yield(of, row) {
				return nil
			}
		}
	}
	return nil
}

// Ranges reads each span by itself.
func (b *broken) Ranges(ctx context.Context, spans []driver.Span, yield func(i int, row *driver.Row) bool) error {
	if err := b.Store.Ranges(ctx, spans, func(int, *driver.Row) bool { return false }); err != nil {
		return err
	}
	n := 0
	for i, s := range spans {
		for row, err := range b.Range(ctx, s) {
			if err != nil {
				return err
			}
			of := i
			if !b.greedy && !s.Wants(row.Key.Sort) {
				continue
			}
			if n++; b.ranges != nil && !b.ranges(n, &of) {
				continue
			}
			if !yield(of, row) {
				return nil
			}
		}
	}
	return nil
}

// Follow does as the memory backend does, but that it may lose rows, and reads what lies beside after the rest.
func (b *broken) Follow(ctx context.Context, trail driver.Trail, beside []*driver.Table, yield func(i int, row *driver.Row) bool) error {
	s, more := b.Store, true
	if b.follow == nil {
		return s.Follow(ctx, trail, beside, yield)
	}
	b.follow(&trail, nil)
	err := s.Follow(ctx, trail, nil, func(i int, row *driver.Row) bool {
		if b.follow(&trail, &i) {
			more = yield(i, row)
		}
		return more
	})
	if !more || err != nil {
		return err
	}
	return s.Follow(ctx, trail, beside, func(i int, row *driver.Row) bool { return i == 0 || yield(i, row) })
}

// Group does as the memory backend does, but that groups may be other ones.
func (b *broken) Group(ctx context.Context, g driver.Grouping, yield func(*driver.Group) bool) error {
	return b.Store.Group(ctx, g, func(found *driver.Group) bool {
		return b.grouped != nil && !b.grouped(found) || yield(found)
	})
}

func (b *broken) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	if b.get != nil && t.Name[0] != '_' {
		return b.get(ctx, t, keys, mask, rows)
	}
	if b.key != nil {
		keys = slices.Clone(keys)
		for i := range keys {
			keys[i] = b.key(t, keys[i])
		}
	}
	err := b.Store.Get(ctx, t, keys, mask, rows)
	if err == nil && b.got != nil && t.Name[0] != '_' {
		b.got(t, keys, mask, rows)
	}
	for i := range rows {
		if b.entry != nil && t.Name == "_catalog" && len(rows[i].Fields) > 0 {
			rows[i].Fields[0] = driver.StringValue(b.entry(keys[i].Partition, rows[i].Fields[0].Str()))
		}
	}
	return err
}

func (b *broken) Range(ctx context.Context, s driver.Span) iter.Seq2[*driver.Row, error] {
	if b.key != nil {
		s.Key = b.key(s.Table, s.Key)
	}
	if b.span != nil {
		b.span(&s)
	}
	if b.ranged != nil {
		return b.ranged(ctx, s)
	}
	if b.row == nil {
		return b.Store.Range(ctx, s)
	}
	return b.each(ctx, s)
}

// each passes rows on as the fault leaves them.
func (b *broken) each(ctx context.Context, s driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		n := 0
		for r, err := range b.Store.Range(ctx, s) {
			if err != nil {
				yield(nil, err)
				return
			}
			if b.row(&s, n, r) && !yield(r, nil) {
				return
			}
			n++
		}
	}
}

func (b *broken) Walk(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
	if b.walk != nil {
		return b.walk(ctx, t, mark)
	}
	return func(yield func(driver.Chunk, error) bool) {
		n := 0
		for c, err := range b.Store.Walk(ctx, t, mark) {
			if err == nil && b.chunk != nil && !b.chunk(t, n, &c) {
				continue
			}
			if !yield(c, err) {
				return
			}
			n++
		}
	}
}

func (b *broken) Define(ctx context.Context, tables []*driver.Table) error {
	if b.define != nil {
		return b.define(ctx, tables)
	}
	return b.Store.Define(ctx, tables)
}

func (b *broken) Attach(ctx context.Context, tables []*driver.Table) error {
	if b.attach != nil {
		return b.attach(ctx, tables)
	}
	return b.Store.Attach(ctx, tables)
}

func (b *broken) Drop(ctx context.Context, tables []*driver.Table) error {
	if b.drop != nil {
		return b.drop(ctx, tables)
	}
	return b.Store.Drop(ctx, tables)
}

func (b *broken) Count(ctx context.Context, s driver.Span) (int, error) {
	if b.key != nil {
		s.Key = b.key(s.Table, s.Key)
	}
	if b.count != nil {
		return b.count(ctx, s)
	}
	return b.Store.Count(ctx, s)
}

func (b *broken) Size(ctx context.Context, t *driver.Table) (int64, error) {
	if b.size != nil {
		return b.size(ctx, t)
	}
	return b.Store.Size(ctx, t)
}

func (b *broken) Close() error {
	if b.close != nil {
		return b.close()
	}
	return b.Store.Close()
}
