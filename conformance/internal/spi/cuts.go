package spi

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo/driver"
)

// A commit that is cut has so many ops, unless the store takes fewer: more than it may send,
// or do, in one piece.
const (
	cutOps   = 600
	cutTries = 24
)

// cutCommits ends the contexts of commits of many ops while they are under way.
func cutCommits(ctx context.Context, e *env) {
	r := rand.New(rand.NewPCG(uint64(e.Base), 0))
	took := time.Hour
	for n := range 3 { // the first may find all cold, and another one the machine busy
		began := time.Now()
		cutCommit(ctx, e, -n, time.Hour)
		took = min(took, time.Since(began))
	}
	var tries []rule.Attempt
	for n := range cutTries {
		tries = append(tries, cutCommit(ctx, e, n+1, time.Duration(r.Int64N(int64(took)+1))))
	}
	for n := range tries {
		var there int
		all := settles(ctx, func() bool {
			there = len(e.rows(ctx, span(e.Tables.Sorted, cutKey(e, n+1, 0))))
			return there == 0 || there == cutSize(e)
		})
		e.That(all, fmt.Sprintf("a commit of %d rows to be done whole or not at all, which ended with %v", cutSize(e), tries[n].Err), "%d rows", there)
		tries[n].Fits(e, "some time later", there > 0)
	}
}

func cutSize(e *env) int { return min(cutOps, cmp.Or(e.Facts.MaxOps, cutOps)) }

func cutKey(e *env, n, i int) driver.Key {
	return e.at(e.Tables.Sorted, fmt.Sprint(n), fmt.Sprintf("%04d", i))
}

// cutCommit inserts the rows of one commit within some time.
func cutCommit(ctx context.Context, e *env, n int, within time.Duration) rule.Attempt {
	var ops []driver.Op
	for i := range cutSize(e) {
		op := put(e.Tables.Sorted, row(cutKey(e, n, i), "x"))
		op.If = driver.Absent
		ops = append(ops, op)
	}
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	refusal, err := e.Store.Commit(limited, driver.NewToken(), ops)
	e.That(refusal == nil && (err == nil || finding.IsSentinel(err)), "a commit in a hurry to be done, or an error of package driver", "%v, refused %v", err, refusal != nil)
	return rule.Attempt{ID: fmt.Sprintf("commit %d", n), Err: err}
}

// settles asks until ok: what was sent before a context ended may be done after it.
func settles(ctx context.Context, ok func() bool) bool {
	for range 20 {
		if ok() {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		time.Sleep(rule.AfterHurry)
	}
	return ok()
}
