package cassandra

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/repo/driver"
)

// sweepRows is how many rows a page of a sweep has: of a few small columns. Where a server fails over
// it, as it may over what an earlier release deleted, a shorter one is tried.
const sweepRows = 2000

// shortestRun is how many deleted rows, one after the other, one statement removes: as a range,
// which is two tombstones. Dead records of a shorter run leave one each, so that a page of live
// rows never passes many, and remains are left alone: they end by themselves.
const shortestRun = 10

// Sweep removes dead records that are old, and what is left of rows of indexes among them, from
// one page of a table and of those that lie in it. What it removes it has read, and
// removes as of the time when that was written: whatever came after has a later one.
//
// A range, too, takes nothing away that was not read. The time of a write is its ballot, and a
// partition takes a ballot only when that before it is committed at a quorum, as which the
// page was read. So what is not newer than the latest row of a run had been read, and
// whatever comes is newer.
func (s *Store) Sweep(ctx context.Context, t *driver.Table, mark string, old func(*driver.Row) bool) (driver.Swept, error) {
	if err := s.enter(ctx); err != nil {
		return driver.Swept{}, err
	}
	defer s.leave()
	v, err := s.view(t)
	if err != nil {
		return driver.Swept{}, err
	}
	if v.class != driver.Records {
		return driver.Swept{}, invalid("sweep %s: its rows are those of an index; sweep the records", v.name)
	}
	for n := sweepRows; ; n /= 4 {
		sw := sweeping{v: v, old: old, most: n}
		err := s.readSwept(ctx, &sw, mark)
		if isTooMuch(err) && n/4 > 0 {
			continue
		}
		if err == nil {
			err = s.removeRuns(ctx, &sw)
		}
		if err != nil {
			return driver.Swept{}, err
		}
		sw.swept.Read = sw.n
		return sw.swept, sw.unread.Err()
	}
}

// A sweeping is a page of a sweep.
type sweeping struct {
	v      *view
	old    func(*driver.Row) bool
	most   int // rows of the page
	swept  driver.Swept
	unread driver.Unread
	runs   []sweptRun
	open   bool // the last run goes on with the next row
	n      int
	last   place // of the last row in a partition that has a name
}

// A sweptRun is deleted rows of a partition with no other between them.
type sweptRun struct {
	partition string
	rows      []sweptRow
}

type sweptRow struct {
	sort   string // its clustering text
	at     int64  // when it was written
	record bool
}

// readSwept reads what is left of the partition of a mark or, when that is nothing, of those
// after it.
func (s *Store) readSwept(ctx context.Context, sw *sweeping, mark string) error {
	v := sw.v
	m, ok := v.parseMark(sweepName(v), mark)
	if !ok {
		return errMark(v)
	}
	where, args, err := v.after(m)
	if err != nil {
		return errMark(v)
	}
	text := "SELECT " + v.sweptColumns() + " FROM " + v.table
	if m.within {
		if err := s.sweptPage(ctx, sw, text+" WHERE "+v.where+` AND "_sort" > ? LIMIT ?`, append(slices.Clip(args), m.sort, sw.most)); err != nil {
			return err
		}
		if sw.n > 0 {
			sw.last.within = sw.n == sw.most
			sw.swept.Mark = v.mark(sweepName(v), sw.last)
			return nil
		}
	}
	if where != "" {
		text += " WHERE " + strings.TrimSuffix(where, " AND ")
	}
	if err := s.sweptPage(ctx, sw, text+" LIMIT ?", append(args, sw.most)); err != nil || sw.n < sw.most {
		return err
	}
	if sw.last.partition == "" {
		return sw.unread[0] // there is no name for where the sweep would go on
	}
	sw.last.within = true
	sw.swept.Mark = v.mark(sweepName(v), sw.last)
	return nil
}

// sweepName is the name of a table in the marks of its sweeps, whose places are not those of
// its walks.
func sweepName(v *view) string { return v.name + " sweep" }

func (v *view) sweptColumns() string {
	text := v.selection([]int{}) + `, WRITETIME("_rev") AS ` + quoted(writtenColumn)
	for _, p := range v.parts {
		text += ", " + quoted(p.Name)
	}
	return text
}

// sweptPage reads the rows that a statement asks for.
func (s *Store) sweptPage(ctx context.Context, sw *sweeping, text string, args []any) error {
	answer, err := s.ask(ctx, "sweep "+sw.v.name, s.query(s.level, text, args...).PageSize(sw.most).PageState(nil))
	if err != nil {
		return err
	}
	r := s.newReader(sw.v, []int{}, answer, "")
	written := slices.Index(r.names, writtenColumn)
	for ; r.next(); sw.n++ {
		partition, ok := r.partition()
		if !ok {
			sw.unread, sw.open = append(sw.unread, r.bad(sw.v.parts[0].Name)), false
			continue
		}
		sw.last = place{partition: partition, sort: r.sortText()}
		gone, err := sw.isGone(ctx, r, partition)
		if err != nil {
			return err
		}
		if gone {
			at, _ := r.cells[written].word(gocql.TypeBigInt)
			sw.add(partition, sweptRow{r.sortText(), int64(at), strings.HasPrefix(r.sortText(), sw.v.head)})
		}
		sw.open = gone
	}
	return s.failed(ctx, "sweep "+sw.v.name, answer.Close())
}

// isGone reports whether the row of which next has read the cells may be removed. Records that
// stay it keeps.
func (sw *sweeping) isGone(ctx context.Context, r *reader, partition string) (bool, error) {
	if !strings.HasPrefix(r.sortText(), sw.v.head) {
		return r.cells[r.rev].isNothing(), nil
	}
	var row driver.Row
	err := r.keyed(ctx, &row, partition)
	switch {
	case errors.Is(err, driver.ErrCorrupt):
		sw.unread = append(sw.unread, err)
		return false, nil
	case err != nil || row.Dead && sw.old(&row):
		return err == nil, err
	}
	sw.swept.Rows = append(sw.swept.Rows, row)
	return false, nil
}

// add adds a row to the run that is open in its partition, or begins one.
func (sw *sweeping) add(partition string, row sweptRow) {
	if n := len(sw.runs); sw.open && sw.runs[n-1].partition == partition {
		sw.runs[n-1].rows = append(sw.runs[n-1].rows, row)
		return
	}
	sw.runs = append(sw.runs, sweptRun{partition, []sweptRow{row}})
}

// removeRuns removes what was found, several partitions at once.
func (s *Store) removeRuns(ctx context.Context, sw *sweeping) error {
	var batches []*gocql.Batch
	for i := range sw.runs {
		run := &sw.runs[i]
		if i == 0 || run.partition != sw.runs[i-1].partition {
			batches = append(batches, s.session.Batch(gocql.UnloggedBatch).SetKeyspace(s.keyspace).Consistency(s.level).
				RetryPolicy(nil).SpeculativeExecutionPolicy(once).DefaultTimestamp(false))
		}
		dead, err := run.remove(sw.v, batches[len(batches)-1])
		if err != nil {
			return err
		}
		sw.swept.Dead += dead
	}
	batches = slices.DeleteFunc(batches, func(b *gocql.Batch) bool { return b.Size() == 0 })
	return atOnce(ctx, len(batches), func(ctx context.Context, i int) error {
		answer, err := run(ctx, func() *gocql.Iter { return batches[i].IterContext(ctx) })
		if err == nil {
			err = answer.Close()
		}
		return s.failed(ctx, "sweep "+sw.v.name, err)
	})
}

// remove adds to a batch what removes a run, and returns how many records that are.
func (run *sweptRun) remove(v *view, batch *gocql.Batch) (records int, err error) {
	args, err := v.partition(nil, run.partition)
	if err != nil {
		return 0, err
	}
	text, latest := "DELETE FROM "+v.table+" USING TIMESTAMP ? WHERE "+v.where, int64(0)
	for _, row := range run.rows {
		latest = max(latest, row.at)
		if row.record {
			records++
		}
	}
	if len(run.rows) >= shortestRun && latest > 0 {
		args = append(append([]any{latest}, args...), run.rows[0].sort, run.rows[len(run.rows)-1].sort)
		batch.Query(text+` AND "_sort" >= ? AND "_sort" <= ?`, args...)
		return records, nil
	}
	for _, row := range run.rows {
		if row.record {
			batch.Query(text+` AND "_sort" = ?`, append(append([]any{row.at}, args...), row.sort)...)
		}
	}
	return records, nil
}

var _ driver.Sweeper = (*Store)(nil)
