package gate_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/polystore/polystore/repo/driver"
)

// racing lets writers change one record at once, each on what it has read, and
// insert records that want the same unique value.
func racing(ctx context.Context, p *play) error {
	if err := p.raceForRecord(ctx, 6, 4); err != nil {
		return err
	}
	return p.raceForClaim(ctx, 6)
}

func (p *play) raceForRecord(ctx context.Context, writers, rounds int) error {
	k := p.post(p.author, "counter")
	first := postOp(p, driver.Put, k, driver.Absent, driver.Token{})
	first.Row.Fields = values(map[int]driver.Value{views: driver.IntValue(0)})
	if _, err := p.store.Commit(ctx, driver.NewToken(), []driver.Op{first}); err != nil {
		return err
	}
	var done, unknown atomic.Int64
	err := atOnce(writers, func(int) error {
		for range rounds {
			if err := p.increment(ctx, k); err != nil {
				unknown.Add(1) // a busy server may not have answered in time
				return err
			}
			done.Add(1)
		}
		return nil
	})
	if done.Load() < int64(rounds) {
		return fmt.Errorf("%d of %d changes were done: %w", done.Load(), writers*rounds, err)
	}
	var rows [1]driver.Row
	if err := p.store.Get(ctx, p.posts, []driver.Key{k}, nil, rows[:]); err != nil {
		return err
	}
	if n := rows[0].Fields[views].Int(); n < done.Load() || n > done.Load()+unknown.Load() {
		return differs("%d changes were done, %d perhaps, and the sum is %d", done.Load(), unknown.Load(), n)
	}
	return nil
}

// increment reads a record and writes it back until nobody was faster.
func (p *play) increment(ctx context.Context, k driver.Key) error {
	var rows [1]driver.Row
	for {
		if err := p.store.Get(ctx, p.posts, []driver.Key{k}, nil, rows[:]); err != nil {
			return err
		}
		op := driver.Op{Do: driver.Put, Table: p.posts, If: driver.AtRev, Rev: rows[0].Rev, Row: driver.Row{Key: k, Ring: rows[0].Ring,
			Fields: values(map[int]driver.Value{views: driver.IntValue(rows[0].Fields[views].Int() + 1)})}}
		refusal, err := p.store.Commit(ctx, driver.NewToken(), []driver.Op{op})
		if err != nil || refusal == nil {
			return err
		}
	}
}

func (p *play) raceForClaim(ctx context.Context, writers int) error {
	var mu sync.Mutex
	won := 0
	err := atOnce(writers, func(i int) error {
		refusal, err := p.store.Commit(ctx, driver.NewToken(), p.inserted(p.post(p.author, fmt.Sprint(i)), "wanted", int64(i)))
		mu.Lock()
		defer mu.Unlock()
		if err == nil && refusal == nil {
			won++
		}
		return err
	})
	if err == nil && won != 1 {
		return differs("%d of %d writers have one unique value", won, writers)
	}
	return err
}

// atOnce calls do n times at once.
func atOnce(n int, do func(int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = do(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
