package cassandra

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/repo/driver"
)

// getsAtOnce is how many statements one Get sends at once at most.
const getsAtOnce = 64

// keysTogether is how many keys of one partition a statement asks for at most.
const keysTogether = 128

// Get reads the rows under keys into rows, by a statement for each partition, at once.
func (s *store) Get(ctx context.Context, v *view, keys []driver.Key, mask []int, rows []driver.Row) error {
	if len(keys) == 1 {
		return s.get(ctx, v, s.conn.level, &keys[0], mask, &rows[0])
	}
	parts := together(keys)
	return atOnce(ctx, len(parts), func(ctx context.Context, i int) error {
		if places := parts[i]; len(places) > 1 {
			return s.getSome(ctx, v, keys, places, mask, rows)
		}
		at := parts[i][0]
		return s.get(ctx, v, s.conn.level, &keys[at], mask, &rows[at])
	})
}

// together returns the places of keys that one statement can ask for.
func together(keys []driver.Key) [][]int {
	if len(keys) == 0 {
		return nil
	}
	if len(keys) <= keysTogether && !slices.ContainsFunc(keys, func(k driver.Key) bool { return k.Partition != keys[0].Partition }) {
		all := make([]int, len(keys))
		for i := range all {
			all[i] = i
		}
		return [][]int{all}
	}
	var parts [][]int
	open := map[string]int{} // the part of a partition that has room
	for i := range keys {
		at, ok := open[keys[i].Partition]
		if !ok || len(parts[at]) == keysTogether {
			at = len(parts)
			open[keys[i].Partition], parts = at, append(parts, nil)
		}
		parts[at] = append(parts[at], i)
	}
	return parts
}

// getSome reads the rows under some keys of one partition.
func (s *store) getSome(ctx context.Context, v *view, keys []driver.Key, places []int, mask []int, rows []driver.Row) error {
	width := v.Shape(mask).Width
	sorts := make([]string, 0, len(places))
	bySort := func(at int, sort string) int { return strings.Compare(keys[at].Sort, sort) }
	slices.SortFunc(places, func(a, b int) int { return bySort(a, keys[b].Sort) })
	for i, at := range places {
		rows[at].Reset()
		rows[at].Key = keys[at]
		rows[at].Fields = append(rows[at].Fields, make([]driver.Value, width)...)
		if i == 0 || keys[at].Sort != keys[places[i-1]].Sort {
			sorts = append(sorts, v.head+keys[at].Sort)
		}
	}
	partition := keys[places[0]].Partition
	args, err := v.partition(make([]any, 0, len(v.Partition)+1), partition)
	if err != nil {
		return err
	}
	doing := "get rows of " + v.Name
	text := "SELECT " + v.selection(mask) + " FROM " + v.table + " WHERE " + v.where + ` AND "_sort" IN ?`
	iter, err := s.conn.ask(ctx, doing, s.conn.query(s.conn.level, text, append(args, sorts)...).PageSize(len(sorts)+1).PageState(nil))
	if err != nil {
		return err
	}
	r := s.newReader(v, mask, iter, partition)
	for i := 0; r.next(); {
		sort := strings.TrimPrefix(r.sortText(), v.head)
		if i == len(places) || keys[places[i]].Sort != sort {
			i, _ = slices.BinarySearchFunc(places, sort, bySort)
		}
		for ; i < len(places) && keys[places[i]].Sort == sort; i++ {
			if err := r.row(ctx, &rows[places[i]]); err != nil {
				return err
			}
		}
	}
	return s.conn.failed(ctx, doing, iter.Close())
}

// atOnce calls fn for all numbers below n, some at once, and returns the error of the
// lowest that has one.
func atOnce(ctx context.Context, n int, fn func(ctx context.Context, i int) error) error {
	if n == 1 {
		return fn(ctx, 0)
	}
	errs := make([]error, n)
	workers, t := min(n, getsAtOnce), driver.TallyOf(ctx)
	tallies := t.Split(workers)
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			ctx := ctx
			if t != nil {
				ctx = driver.WithTally(ctx, &tallies[worker])
			}
			for i := worker; i < n; i += getsAtOnce {
				if errs[i] = fn(ctx, i); errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	t.Join(tallies)
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *store) get(ctx context.Context, v *view, level gocql.Consistency, key *driver.Key, mask []int, row *driver.Row) error {
	row.Reset()
	row.Key = driver.Key{Partition: key.Partition, Sort: key.Sort}
	var room [4]any
	args, err := v.key(room[:0], key)
	if err != nil {
		return err
	}
	doing := "get a row of " + v.Name
	text := v.whole
	if mask != nil {
		text = v.getText(mask)
	}
	iter, err := s.conn.read(ctx, doing, level, text, args...)
	if err != nil {
		return err
	}
	r := s.newReader(v, mask, iter, key.Partition)
	if r.next() {
		return r.row(ctx, row)
	}
	row.Fields = append(row.Fields, make([]driver.Value, r.sh.Width)...)
	return s.conn.failed(ctx, doing, iter.Close())
}

// getText returns the statement that reads the fields of a mask of one row.
func (v *view) getText(mask []int) string {
	return "SELECT " + v.selection(mask) + " FROM " + v.table + " WHERE " + v.where + ` AND "_sort" = ?`
}
