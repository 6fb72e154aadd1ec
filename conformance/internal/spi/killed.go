package spi

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/repo/driver"
)

// KilledWriters is how many writers a process has that is to be killed.
const KilledWriters = 4

// killedEnv returns an env by which the process that is killed, and the one that kills it, have the
// same keys.
func killedEnv(s *rule.Suite) *env { return newEnv(&rule.Env{Suite: s, Tag: "killed"}) }

// WriteUntilKilled makes a table and writes to it until all writers have failed. It says which
// writer had a commit acknowledged.
func WriteUntilKilled(ctx context.Context, store driver.Store, name string, acknowledged func(writer int)) error {
	t, e := table.Named(name), killedEnv(&rule.Suite{})
	if err := store.Define(ctx, []*driver.Table{t}); err != nil {
		return fmt.Errorf("define: %w", err)
	}
	errs := make([]error, KilledWriters)
	var wg sync.WaitGroup
	for w := range KilledWriters {
		wg.Go(func() {
			for n := 0; errs[w] == nil; n++ {
				if errs[w] = commitTo(ctx, store, t, e.at(t, fmt.Sprint(w), fmt.Sprintf("%06d", n)), "x"); errs[w] == nil {
					acknowledged(w)
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// LostOfKilled opens the store again and returns which rows are not there of those that were
// acknowledged to the writers, "" for none. The table is dropped.
func LostOfKilled(ctx context.Context, s *rule.Suite, name string, acked []int) (lost string, err error) {
	err = finding.Caught(func() error {
		t, e := table.Named(name), killedEnv(s)
		e.Reopened(ctx, t, func(store driver.Store) { lost = lostRows(ctx, e, store, t, acked) })
		return nil
	})
	return lost, err
}
