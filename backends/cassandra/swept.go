package cassandra

import (
	"fmt"
	"strings"

	"github.com/apache/cassandra-gocql-driver/v2"
)

// A sweptPartition is what a page of a sweep has of a partition.
type sweptPartition struct {
	name   string
	after  string // the last row of the page before, "" for none
	past   past   // what is known of the pages before
	more   bool   // there may be rows after the page
	stays  bool   // a row of it does
	latest int64  // when the youngest row was written that has rested
	runs   []sweptRun
	open   bool // the last run goes on with the next row
}

// A past is what is known of a partition up to a place: that nothing of it is left.
type past struct {
	rested int64 // all of it was written until then, ten minutes before the first of it was read; 0 if something is left
	latest int64 // when the youngest was, 0 if there was nothing
}

// text returns it as what follows the clustering text in a mark.
func (p past) text() string { return fmt.Sprintf("\x00%d %d", p.rested, p.latest) }

// cutPast cuts it off. Marks of earlier releases have none.
func cutPast(text string) (sort string, p past) {
	sort, text, _ = strings.Cut(text, "\x00")
	if _, err := fmt.Sscanf(text, "%d %d", &p.rested, &p.latest); err != nil {
		return sort, past{}
	}
	return sort, p
}

// upToHere is the past of the page after this one.
func (p *sweptPartition) upToHere() past {
	if p.stays || p.latest > p.past.rested {
		return past{}
	}
	return past{p.past.rested, max(p.past.latest, p.latest)}
}

// A sweptRun is deleted rows with no other between them.
type sweptRun struct {
	after, until string // the rows beside it, "" for none that is known
	first, last  string
	at           int64 // when the first was written
	rows         int
	records      int
	rests        bool // all of them; else it is one row
}

type sweptRow struct {
	sort   string // its clustering text
	at     int64  // when it was written
	record bool
}

// take adds the next row to what is to be removed if it is gone. Only what has rested is part of a
// range.
func (p *sweptPartition) take(row sweptRow, gone, rests bool) {
	if rests {
		p.latest = max(p.latest, row.at)
	}
	if !p.open || !gone || !rests {
		p.begin(row, gone, rests)
	}
	if gone {
		run := &p.runs[len(p.runs)-1]
		run.last = row.sort
		run.rows++
		if row.record {
			run.records++
		}
	}
	p.after, p.stays = row.sort, p.stays || !gone || !rests
}

// begin ends the run that is open and, with a row that is gone, begins one.
func (p *sweptPartition) begin(row sweptRow, gone, rests bool) {
	if p.open {
		p.runs[len(p.runs)-1].until = row.sort
	}
	if p.open = gone && rests; gone {
		p.runs = append(p.runs, sweptRun{after: p.after, first: row.sort, at: row.at, rests: rests})
	}
}

// remove adds to a batch what removes the runs, and returns how many records that are.
func (p *sweptPartition) remove(v *view, batch *gocql.Batch) (records int, err error) {
	args, err := v.partition(nil, p.name)
	if err != nil {
		return 0, err
	}
	text := "DELETE FROM " + v.table + " USING TIMESTAMP ? WHERE " + v.where
	here := p.upToHere()
	whole := !p.more && here.latest > 0
	if whole {
		batch.Query(text, append([]any{here.latest}, args...)...)
	}
	for i := range p.runs {
		run := &p.runs[i]
		if records += run.records; !whole {
			run.remove(batch, text, p.latest, args)
		}
	}
	return records, nil
}

func (run *sweptRun) remove(batch *gocql.Batch, text string, latest int64, args []any) {
	switch {
	case run.records == 0 && run.rows < shortestRun:
		return
	case !run.rests || latest == 0:
		batch.Query(text+` AND "_sort" = ?`, append(append([]any{run.at}, args...), run.first)...)
		return
	}
	from, to := run.first, run.last
	if text += ` AND "_sort" >`; run.after != "" {
		from = run.after
	} else {
		text += "="
	}
	if text += ` ? AND "_sort" <`; run.until != "" {
		to = run.until
	} else {
		text += "="
	}
	batch.Query(text+" ?", append(append([]any{latest}, args...), from, to)...)
}
