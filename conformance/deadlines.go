package conformance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// Hurried writers give each write some thousandths of a second: about what it takes, so that
// many end in the middle.
const (
	hurriedWriters = 16
	hurriedWrites  = 24 // of each
	hurry          = 5 * time.Millisecond
	afterHurry     = 300 * time.Millisecond // for a server to do what was sent to it
)

// An attempt is a write, and what its caller was told.
type attempt struct {
	id  string
	err error
}

// fate is what the caller knows: that the write was done, that it was not, or neither.
func (a *attempt) fate() repo.Verdict {
	switch {
	case a.err == nil:
		return repo.Committed
	case errors.Is(a.err, driver.ErrUnknownOutcome):
		return repo.Unknown
	}
	return repo.NotCommitted
}

// fits sees that an attempt whose caller knows its fate had it.
func (a *attempt) fits(e *env, when string, there bool) {
	switch a.fate() {
	case repo.Committed:
		e.that(there, "a write that succeeded to be there "+when, "it is not: %s", a.id)
	case repo.NotCommitted:
		e.that(!there, fmt.Sprintf("a write to be not there %s that failed with %q", when, a.err), "it is: %s", a.id)
	}
}

// soon returns a context that ends within the time of a hurried write: by a deadline, or
// because it is cancelled.
func soon(ctx context.Context, r *rand.Rand) (context.Context, context.CancelFunc) {
	wait := time.Duration(r.Int64N(int64(hurry)))
	if r.IntN(2) == 0 {
		return context.WithTimeout(ctx, wait)
	}
	ctx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(wait, cancel)
	return ctx, func() { timer.Stop(); cancel() }
}

func shortDeadlines(ctx context.Context, e *env) {
	t := e.tables.ringed
	var tries [hurriedWriters][]attempt
	e.parallel(len(tries), func(w int) error {
		r, sum := rand.New(rand.NewPCG(uint64(e.base), uint64(w))), hurriedSumKey(e, w)
		e.commit(ctx, put(t, row(sum, "sum")))
		for n := range hurriedWrites {
			a := attempt{id: fmt.Sprintf("%03d", n)}
			ops := []driver.Op{put(t, row(e.at(t, fmt.Sprint(w), a.id), a.id))}
			ops[0].If = driver.Absent
			if e.facts.Unit > driver.UnitRecord {
				ops = append(ops, driver.Op{Do: driver.Patch, Table: t, If: driver.Present, Row: driver.Row{Key: sum}, Edits: []driver.Edit{addTo(fInt, 1)}})
			}
			limited, cancel := soon(ctx, r)
			refusal, err := e.store.Commit(limited, driver.NewToken(), ops)
			cancel()
			if refusal != nil || err != nil && !finding.IsSentinel(err) {
				return finding.Wanted("a commit in a hurry to be done, or an error of package driver", fmt.Sprintf("%v, refused %v", err, refusal != nil))
			}
			a.err = err
			tries[w] = append(tries[w], a)
		}
		return nil
	})
	for _, when := range []string{"when all have answered", "some time later"} {
		for w := range tries {
			hurriedRows(ctx, e, when, w, tries[w])
		}
		time.Sleep(afterHurry)
	}
	if e.facts.Unit == driver.UnitRecord {
		return // its commits add to no sum
	}
	for w := range tries {
		var sum, rows int64
		whole := settles(ctx, e, func() bool {
			there, total := hurriedSeen(ctx, e, w)
			sum, rows = total, int64(len(there))
			return sum == rows
		})
		e.that(whole, "the sum to be the number of rows, since each commit adds a row and 1", "a sum of %d with %d rows", sum, rows)
	}
}

// hurriedSeen returns the rows of a writer that are there, and their sum.
func hurriedSeen(ctx context.Context, e *env, writer int) (there map[string]bool, sum int64) {
	there = map[string]bool{}
	for _, r := range e.rows(ctx, span(e.tables.ringed, hurriedSumKey(e, writer))) {
		if textOf(&r) == "sum" {
			sum = field(&r, fInt).Int()
			continue
		}
		there[textOf(&r)] = true
	}
	return there, sum
}

// hurriedSumKey returns the key of the row to which each commit of a writer adds 1.
func hurriedSumKey(e *env, writer int) driver.Key {
	return e.at(e.tables.ringed, fmt.Sprint(writer), "sum")
}

// hurriedRows compares what a writer was told with the rows that are there.
func hurriedRows(ctx context.Context, e *env, when string, writer int, tries []attempt) {
	there, sum := hurriedSeen(ctx, e, writer)
	least, most := int64(0), int64(0)
	for i := range tries {
		tries[i].fits(e, when, there[tries[i].id])
		if fate := tries[i].fate(); fate != repo.NotCommitted {
			most++
			if fate == repo.Committed {
				least++
			}
		}
	}
	if e.facts.Unit > driver.UnitRecord {
		e.that(least <= sum && sum <= most, fmt.Sprintf("a sum of %d to %d %s", least, most, when), "%d", sum)
	}
}

// shortDeadlinesOfRecords is the same for records, where an unknown outcome is resolved.
func shortDeadlinesOfRecords(ctx context.Context, e *env) {
	items := e.items(ctx)
	var tries [8][]attempt
	verdicts := map[string]repo.Verdict{}
	e.parallel(len(tries), func(w int) error {
		r := rand.New(rand.NewPCG(uint64(e.base), uint64(w)))
		for n := range 12 {
			a := attempt{id: fmt.Sprint(w, "-", n)}
			it := e.item(a.id)
			limited, cancel := soon(ctx, r)
			a.err = items.Insert(limited, &it)
			cancel()
			if errors.Is(a.err, repo.ErrExists) {
				return finding.Wanted("an insert in a hurry not to find what it inserted itself", a.err.Error())
			}
			tries[w] = append(tries[w], a)
		}
		return nil
	})
	for _, list := range tries {
		for _, a := range list {
			if facts, ok := errors.AsType[*repo.Error](a.err); ok && a.fate() == repo.Unknown {
				e.that(facts.Outcome != nil, "an error of unknown outcome with its Outcome", "%v", a.err)
				verdict, err := items.Resolve(ctx, facts.Outcome)
				e.ok("resolve", err)
				verdicts[a.id] = verdict
			}
		}
	}
	for _, list := range tries {
		for _, a := range list {
			_, err := items.Get(ctx, e.itemKey(a.id))
			e.that(err == nil || errors.Is(err, repo.ErrNotFound), "get to find the record, or none", "%v", err)
			a.fits(e, "when all have answered", err == nil)
			if verdict, ok := verdicts[a.id]; ok && verdict != repo.Unknown {
				e.that((verdict == repo.Committed) == (err == nil), fmt.Sprintf("the verdict %s to be true", verdict), "a record that is there: %v", err == nil)
			}
		}
	}
}
