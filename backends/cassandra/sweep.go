package cassandra

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// sweepRows is how many rows a page of a sweep has: of a few small columns. Where a server fails over
// it, as it may over what an earlier release deleted, a shorter one is tried, and one of wholeRows where
// all columns must be seen.
const (
	sweepRows = 2000
	wholeRows = 250
)

// shortestRun is how many remains, one after the other and no dead record among them, are removed:
// fewer are left alone, since they end by themselves.
const shortestRun = 10

// rested is how old must be what is removed as a range: longer than a read takes, and than clocks
// differ.
const rested = 10 * time.Minute

// Sweep removes dead records that are old, and what is left of rows of indexes among them, from
// one page of a table and of those that lie in it. What it removes it has read, and it
// removes that as of a time when it was there: whatever came after has a later one.
//
// It removes a partition of which nothing is left as a whole, and else all between two rows that stay: so
// however often it comes, a partition keeps two tombstones for each row that stays, and not one for each that
// is gone.
//
// A range takes nothing away that was not read, although the replicas of a page answer each at its own
// time. A range removes as of the time of a row that has rested. That is a ballot, and
// a partition takes one only when what has an earlier one is at a quorum or never will be. So
// all that is not newer was at a quorum minutes before the page was asked for. A partition of several
// pages goes as a whole if all of it had rested when the first was.
//
// An insert may find nothing where only some replicas have been swept, and a later read asks the
// others. So without a condition only that is removed of which nothing shows through what is
// inserted: fields that have no values. Other dead records go by commits like any.
func (s *Store) Sweep(ctx context.Context, t *driver.Table, mark string, old func(*driver.Row) bool) (driver.Swept, error) {
	return frame.Read(ctx, s.in.frame, t, nil, func(v *view) (driver.Swept, error) { return s.sweep(ctx, v, t, mark, old) })
}

func (s *Store) sweep(ctx context.Context, v *view, t *driver.Table, mark string, old func(*driver.Row) bool) (driver.Swept, error) {
	if v.Class != driver.Records {
		return driver.Swept{}, who.Invalid("sweep %s: its rows are those of an index; sweep the records", v.Name)
	}
	sw, err := s.in.findSwept(ctx, v, mark, old)
	if err != nil {
		return driver.Swept{}, err
	}
	if err := sw.removeRuns(ctx); err != nil {
		return driver.Swept{}, err
	}
	if err := s.removeAlone(ctx, t, sw); err != nil {
		return driver.Swept{}, err
	}
	sw.swept.Read = sw.n
	return sw.swept, sw.unread.Err()
}

// findSwept reads a page.
func (s *store) findSwept(ctx context.Context, v *view, mark string, old func(*driver.Row) bool) (*sweep, error) {
	columns, whole := v.sweptColumns(), false
	for n := s.sweepRows; ; {
		sw := &sweep{store: s, v: v, old: old, most: n, columns: columns, whole: whole, before: time.Now().Add(-s.rested).UnixMicro()}
		err := sw.read(ctx, mark)
		switch {
		case errors.Is(err, errMore):
			p, err := s.conn.physical(ctx, "sweep "+v.Name, v.physical)
			if err != nil {
				return nil, err
			}
			n, columns, whole = min(n, wholeRows), v.allColumns(p), true
		case isTooMuch(err) && n/4 > 0:
			n /= 4
		default:
			return sw, err
		}
	}
}

// errMore says that all columns of a page must be seen.
var errMore = errors.New("more columns")

// A sweep is a page of a sweep.
type sweep struct {
	store   *store
	v       *view
	old     func(*driver.Row) bool
	most    int // rows of the page
	columns string
	whole   bool  // they are all
	before  int64 // when what has rested was written, at the latest
	swept   driver.Swept
	unread  driver.Unread
	parts   []sweptPartition
	alone   []driver.Row
	n       int
	last    place // of the last row in a partition that has a name
}

// read reads what is left of the partition of a mark or, when that is nothing, of those
// after it.
func (sw *sweep) read(ctx context.Context, mark string) error {
	v := sw.v
	m, where, args, err := v.after(sweepName(v), mark)
	if err != nil {
		return err
	}
	text := "SELECT " + sw.columns + " FROM " + v.table
	if m.within {
		p := sw.partition(m.partition)
		m.sort, p.past = cutPast(m.sort)
		p.after = m.sort
		if err := sw.page(ctx, text+" WHERE "+v.where+` AND "_sort" > ? LIMIT ?`, append(slices.Clip(args), m.sort, sw.most)); err != nil {
			return err
		}
		if sw.n > 0 {
			sw.goesOn(v, sw.n == sw.most)
			return nil
		}
	}
	if where != "" {
		text += " WHERE " + strings.TrimSuffix(where, " AND ")
	}
	if err := sw.page(ctx, text+" LIMIT ?", append(args, sw.most)); err != nil || sw.n < sw.most {
		return err
	}
	if sw.last.partition == "" {
		return sw.unread[0] // there is no name for where the sweep would go on
	}
	sw.goesOn(v, true)
	return nil
}

// goesOn sets where the next page begins: within the last partition, if there may be more of it, or behind it.
func (sw *sweep) goesOn(v *view, within bool) {
	at, p := sw.last, &sw.parts[len(sw.parts)-1]
	if at.within, p.more = within, within; within {
		at.sort += p.upToHere().text()
	}
	sw.swept.Mark = v.mark(sweepName(v), at)
}

// sweepName is the name of a table in the marks of its sweeps, whose places are not those of
// its walks.
func sweepName(v *view) string { return v.Name + " sweep" }

func (v *view) sweptColumns() string {
	return strings.Join(append([]string{v.selection([]int{}), writtenAt}, quotedNames(v.Partition)...), ", ")
}

// allColumns is sweptColumns with all that the server has.
func (v *view) allColumns(p *physical) string {
	text := v.sweptColumns()
	for _, name := range slices.Sorted(maps.Keys(p.regular)) {
		if !isOwn(name) || name == "_extra" {
			text += ", " + quoted(name)
		}
	}
	return text
}

// page reads the rows that a statement asks for.
func (sw *sweep) page(ctx context.Context, text string, args []any) error {
	answer, err := sw.store.conn.ask(ctx, "sweep "+sw.v.Name, sw.store.conn.query(sw.store.conn.level, text, args...).PageSize(sw.most).PageState(nil))
	if err != nil {
		return err
	}
	r := sw.store.newReader(sw.v, []int{}, answer, "")
	for ; r.next(); sw.n++ {
		partition, ok := r.partition()
		if !ok {
			sw.unread = append(sw.unread, r.bad(sw.v.Partition[0].Name))
			continue
		}
		sw.last = place{partition: partition, sort: r.sortText()}
		at, _ := r.cells[slices.Index(r.names, writtenColumn)].word(gocql.TypeBigInt)
		row := sweptRow{r.sortText(), int64(at), strings.HasPrefix(r.sortText(), sw.v.head)}
		gone, err := sw.isGone(ctx, r, partition, row)
		if err != nil {
			return errors.Join(err, answer.Close())
		}
		sw.partition(partition).take(row, gone, row.at <= sw.before)
	}
	return sw.store.conn.failed(ctx, "sweep "+sw.v.Name, answer.Close())
}

// isGone reports whether the row of which next has read the cells may be removed.
func (sw *sweep) isGone(ctx context.Context, r *reader, partition string, row sweptRow) (bool, error) {
	switch {
	case row.record:
		return sw.isOld(ctx, r, partition)
	case row.at == 0 && !sw.whole:
		return false, errMore
	}
	return row.at <= sw.before && r.isEmpty(), nil
}

// isOld reports whether a record may be removed without a condition. Records that stay it keeps.
func (sw *sweep) isOld(ctx context.Context, r *reader, partition string) (bool, error) {
	var row driver.Row
	err := r.keyed(ctx, &row, partition)
	switch {
	case errors.Is(err, driver.ErrCorrupt):
		sw.unread = append(sw.unread, err)
		return false, nil
	case err != nil:
		return false, err
	case !row.Dead || !sw.old(&row):
		sw.swept.Rows = append(sw.swept.Rows, row)
		return false, nil
	case !r.isHusk() && !sw.whole:
		return false, errMore
	case !r.isBare():
		sw.alone = append(sw.alone, row)
		return false, nil
	}
	return true, nil
}

// partition returns what is known of the partition of the next row.
func (sw *sweep) partition(name string) *sweptPartition {
	if n := len(sw.parts); n == 0 || sw.parts[n-1].name != name {
		sw.parts = append(sw.parts, sweptPartition{name: name, past: past{rested: sw.before}})
	}
	return &sw.parts[len(sw.parts)-1]
}

// removeRuns removes what was found, several partitions at once.
func (sw *sweep) removeRuns(ctx context.Context) error {
	var batches []*gocql.Batch
	for i := range sw.parts {
		batch := sw.store.conn.batch(gocql.UnloggedBatch)
		dead, err := sw.parts[i].remove(sw.v, batch)
		if err != nil {
			return err
		}
		if sw.swept.Dead += dead; batch.Size() > 0 {
			batches = append(batches, batch)
		}
	}
	return atOnce(ctx, len(batches), func(ctx context.Context, i int) error {
		answer, err := run(ctx, batches[i])
		if err == nil {
			err = answer.Close()
		}
		return sw.store.conn.failed(ctx, "sweep "+sw.v.Name, err)
	})
}

// removeAlone removes records by commits.
func (s *Store) removeAlone(ctx context.Context, t *driver.Table, sw *sweep) error {
	for _, row := range sw.alone {
		op := driver.Op{Do: driver.Delete, Table: t, If: driver.AtRev, Rev: row.Rev, Row: driver.Row{Key: row.Key}}
		refusal, err := s.Commit(ctx, driver.NewToken(), []driver.Op{op})
		if err != nil {
			return err
		}
		if refusal == nil {
			sw.swept.Dead++
		}
	}
	return nil
}
