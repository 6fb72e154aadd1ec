package spi

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/repo/driver"
)

// Each of some hurried writers writes so many rows.
const (
	hurriedWriters = 16
	hurriedWrites  = 24
)

func shortDeadlines(ctx context.Context, e *env) {
	t := e.Tables.Ringed
	var tries [hurriedWriters][]rule.Attempt
	e.Parallel(len(tries), func(w int) error {
		r, sum := rand.New(rand.NewPCG(uint64(e.Base), uint64(w))), hurriedSumKey(e, w)
		e.commit(ctx, put(t, row(sum, "sum")))
		for n := range hurriedWrites {
			a := rule.Attempt{ID: fmt.Sprintf("%03d", n)}
			ops := []driver.Op{put(t, row(e.at(t, fmt.Sprint(w), a.ID), a.ID))}
			ops[0].If = driver.Absent
			if e.Facts.Scope > driver.ScopeRecord {
				ops = append(ops, driver.Op{Do: driver.Patch, Table: t, If: driver.Present, Row: driver.Row{Key: sum}, Edits: []driver.Edit{addTo(table.Int, 1)}})
			}
			limited, cancel := rule.Soon(ctx, r)
			refusal, err := e.Store.Commit(limited, driver.NewToken(), ops)
			cancel()
			if refusal != nil || err != nil && !finding.IsSentinel(err) {
				return finding.Wanted("a commit in a hurry to be done, or an error of package driver", fmt.Sprintf("%v, refused %v", err, refusal != nil))
			}
			a.Err = err
			tries[w] = append(tries[w], a)
		}
		return nil
	})
	for _, when := range []string{"when all have answered", "some time later"} {
		for w := range tries {
			hurriedRows(ctx, e, when, w, tries[w])
		}
		time.Sleep(rule.AfterHurry)
	}
	if e.Facts.Scope == driver.ScopeRecord {
		return // its commits add to no sum
	}
	for w := range tries {
		var sum, rows int64
		whole := settles(ctx, func() bool {
			there, total := hurriedThere(ctx, e, w)
			sum, rows = total, int64(len(there))
			return sum == rows
		})
		e.That(whole, "the sum to be the number of rows, since each commit adds a row and 1", "a sum of %d with %d rows", sum, rows)
	}
}

// hurriedThere returns the rows of a writer that are there, and their sum.
func hurriedThere(ctx context.Context, e *env, writer int) (there map[string]bool, sum int64) {
	there = map[string]bool{}
	for _, r := range e.rows(ctx, span(e.Tables.Ringed, hurriedSumKey(e, writer))) {
		if textOf(&r) == "sum" {
			sum = field(&r, table.Int).Int()
			continue
		}
		there[textOf(&r)] = true
	}
	return there, sum
}

// hurriedSumKey returns the key of the row to which each commit of a writer adds 1.
func hurriedSumKey(e *env, writer int) driver.Key {
	return e.at(e.Tables.Ringed, fmt.Sprint(writer), "sum")
}

// hurriedRows compares what a writer was told with the rows that are there.
func hurriedRows(ctx context.Context, e *env, when string, writer int, tries []rule.Attempt) {
	there, sum := hurriedThere(ctx, e, writer)
	least, most := int64(0), int64(0)
	for i := range tries {
		tries[i].Fits(e, when, there[tries[i].ID])
		switch {
		case tries[i].Err == nil:
			least, most = least+1, most+1
		case !tries[i].Known():
			most++
		}
	}
	if e.Facts.Scope > driver.ScopeRecord {
		e.That(least <= sum && sum <= most, fmt.Sprintf("a sum of %d to %d %s", least, most, when), "%d", sum)
	}
}
