package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// runName is how collections of a run are named.
var runName = regexp.MustCompile(`^(cf[0-9a-f]{8})_[0-9a-z_]+$`)

// Clean removes from a store what runs left that were killed: collections whose names are
// those of a run, and the tables beside them. It says by tell what it removes. No other run
// may be at work on the store, since Clean cannot tell it from one that was killed.
func Clean(ctx context.Context, open Open, tell func(string)) error {
	s, err := openSuite(ctx, usual, open, nil)
	if err != nil {
		return err
	}
	return errors.Join(s.clean(ctx, tell), s.within(ctx, "Close", s.Store.Close))
}

// cleanTime is how long Clean may take: on MongoDB a killed program's transaction keeps what it
// wrote to from being dropped for a minute.
const cleanTime = 3 * time.Minute

func (s *suite) clean(ctx context.Context, tell func(string)) error {
	ctx, cancel := context.WithTimeout(ctx, cleanTime)
	defer cancel()
	names, err := repo.Collections(ctx, s.Repo)
	if err != nil {
		return err
	}
	runs := map[string][]string{}
	for _, name := range names {
		if m := runName.FindStringSubmatch(name); m != nil {
			runs[m[1]] = append(runs[m[1]], name)
		}
	}
	if len(runs) == 0 {
		tell("the store has nothing of a killed run")
	}
	for _, id := range slices.Sorted(maps.Keys(runs)) {
		s.Adopt(id, runs[id], leftTables(id, s.Facts))
		if err := s.within(ctx, "Drop", func() error { return s.dropAll(ctx) }); err != nil {
			return fmt.Errorf("drop what the run %s left: %w", id, err)
		}
		tell(fmt.Sprintf("removed: run %s: %s", id, strings.Join(runs[id], ", ")))
	}
	return nil
}

// mostNumbers is more than a run counts: see rule.Suite.Number.
const mostNumbers = 1500

// leftTables returns the tables that a run may have made beside its collections. Those that
// are not there cost little to drop.
func leftTables(id string, f driver.Facts) []*driver.Table {
	t := table.New(id)
	list := t.All(f)
	for n := range mostNumbers {
		list = append(list, &driver.Table{Name: fmt.Sprintf("%s.t%d", id, n)})
	}
	return list
}
