package cassandra

import (
	"context"
	"strings"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// Gather reads the partition by one range, page by page. The server leaves out the rows of indexes that lie between
// the records.
func (s *Store) Gather(ctx context.Context, tables []*driver.Table, partition string, yield func(i int, row *driver.Row) bool) error {
	g, err := frame.Call(ctx, s.in.frame, func(context.Context) (*gathering, error) { return s.in.gathering(tables, partition) })
	for more := len(tables) > 0; more && err == nil; {
		more, err = frame.Call(ctx, s.in.frame, g.page)
		for i := range g.rows {
			if row := &g.rows[i]; !yield(row.of, &row.Row) {
				return nil
			}
		}
	}
	if isTooMuch(err) {
		return s.gatherApart(ctx, g, tables, yield)
	}
	return err
}

// A gathering reads the records that several tables have in one partition.
type gathering struct {
	store     *store
	views     []*view
	partition string
	args      []any    // that the partition binds
	from, to  string   // what is left
	last      []string // the Sort of the last row that was read of each table, and whether there was one
	any       []bool
	size      int // of the next page
	rows      []gathered
}

// gathered is a row, and the index of its table.
type gathered struct {
	driver.Row
	of int
}

func (s *store) gathering(tables []*driver.Table, partition string) (*gathering, error) {
	g := &gathering{store: s, partition: partition, size: firstPage, last: make([]string, len(tables)), any: make([]bool, len(tables))}
	for i, t := range tables {
		v, err := s.frame.View(t, nil)
		if err != nil {
			return nil, err
		}
		if v.Class != driver.Records || v.physical != physicalName(tables[0].Root().Name) {
			return nil, who.Invalid("gather: the table %s is not one of records that lie with those of %s", t.Name, tables[0].Name)
		}
		if g.views = append(g.views, v); i == 0 || v.head < g.from {
			g.from = v.head
		}
		g.to = max(g.to, driver.After(v.head))
	}
	if len(tables) == 0 {
		return g, nil
	}
	args, err := g.views[0].partition(nil, partition)
	g.args = args
	return g, err
}

// page reads the next page, and reports whether there may be more.
func (g *gathering) page(ctx context.Context) (more bool, err error) {
	v, conn, doing := g.views[0], g.store.conn, "gather from "+g.views[0].physical
	g.rows = g.rows[:0]
	args := append(g.args[:len(g.args):len(g.args)], g.from, g.to, g.size)
	answer, err := conn.ask(ctx, doing, conn.query(conn.level, v.forward, args...).PageSize(g.size).PageState(nil))
	if err != nil {
		return false, err
	}
	n, bytes, err := g.read(ctx, answer)
	if err != nil {
		return false, err
	}
	more = n == g.size || len(answer.PageState()) > 0
	p := frame.Pager{Size: g.size}
	p.Resize(bytes)
	g.size = p.Size
	return more, conn.failed(ctx, doing, answer.Close())
}

// read takes the rows of an answer, and says how many they are, of any table.
func (g *gathering) read(ctx context.Context, answer *gocql.Iter) (n, bytes int, err error) {
	readers := make([]*reader, len(g.views))
	for i, v := range g.views {
		readers[i] = g.store.newReader(v, nil, answer, g.partition)
		readers[i].cells = readers[0].cells
	}
	for ; readers[0].next(); n++ {
		text := readers[0].sortText()
		g.from = text + "\x00"
		for i, v := range g.views {
			if !strings.HasPrefix(text, v.head) {
				continue
			}
			var row gathered
			for c := range readers[i].cells {
				bytes += len(readers[i].cells[c].data)
			}
			if err := readers[i].keyed(ctx, &row.Row, g.partition); err != nil {
				return n, bytes, err
			}
			row.of, g.last[i], g.any[i] = i, row.Key.Sort, true
			g.rows = append(g.rows, row)
			break
		}
	}
	return n, bytes, nil
}

// gatherApart gathers by a range of each table what is left where a server gave up.
func (s *Store) gatherApart(ctx context.Context, g *gathering, tables []*driver.Table, yield func(i int, row *driver.Row) bool) error {
	for i, t := range tables {
		span := driver.Span{Table: t, Key: driver.Key{Partition: g.partition}}
		if g.any[i] {
			if len(t.Sort) == 0 {
				continue
			}
			span.From = driver.After(g.last[i])
		}
		for row, err := range s.Range(ctx, span) {
			if err != nil {
				return err
			}
			if !yield(i, row) {
				return nil
			}
		}
	}
	return nil
}
