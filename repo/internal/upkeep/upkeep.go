package upkeep

import (
	"context"

	"github.com/polystore/polystore/repo/internal/scan"
	"github.com/polystore/polystore/repo/internal/store"
)

// An upkeep is a Maintain of one collection under way.
type upkeep struct {
	*Keeper
	call   *store.Call
	faults *scan.Faults
	done   reclaimed
}

// reclaimed says what an upkeep did: repo.Reclaimed.
type reclaimed struct {
	Expired int
	Dead    int
	Rows    int
	Mended  int
}

// upkeepAtOnce is how many calls of an upkeep are under way at the same time at most.
const upkeepAtOnce = 16

// atOnce calls do for all numbers below n, some at the same time, until one fails, and returns
// the error of the lowest that did.
func (u *upkeep) atOnce(ctx context.Context, n int, do func(ctx context.Context, k *store.Call, i int) error) error {
	return u.someAtOnce(ctx, upkeepAtOnce, n, do)
}

// someAtOnce is atOnce with another number of calls.
func (u *upkeep) someAtOnce(ctx context.Context, most, n int, do func(ctx context.Context, k *store.Call, i int) error) error {
	workers, errs := min(n, most), make([]error, n)
	u.call.AtOnce(workers, func(worker int, k *store.Call) {
		for i := worker; i < n; i += workers {
			if errs[i] = do(ctx, k, i); errs[i] != nil {
				return
			}
		}
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
