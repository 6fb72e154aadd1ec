package spi

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/repo/driver"
)

// writeSkew lets commits at once each check the row that the other kind writes. In any
// order of them the first kind that is done refuses the other.
func writeSkew(ctx context.Context, e *env) {
	t := e.Tables.Ringed
	for round := range 15 {
		p := fmt.Sprint("p", round%5)
		keys := [2]driver.Key{e.at(t, p, fmt.Sprint("a", round)), e.at(t, p, fmt.Sprint("b", round))}
		cond := [2]driver.Op{{If: driver.Absent}, {If: driver.Absent}}
		if round%2 == 0 {
			for i, key := range keys {
				cond[i] = driver.Op{If: driver.AtRev, Rev: e.commit(ctx, put(t, row(key, "old")))}
			}
		}
		var done [2][]int
		for _, i := range groupWinners(ctx, e, 6, func(i int) []driver.Op {
			written, checked := i%2, 1-i%2
			check := driver.Op{Do: driver.Check, Table: t, Row: driver.Row{Key: keys[checked]}, If: cond[checked].If, Rev: cond[checked].Rev}
			ops := []driver.Op{check, put(t, row(keys[written], fmt.Sprint(i)))}
			if i > 2 { // a Check may stand anywhere
				ops[0], ops[1] = ops[1], ops[0]
			}
			return ops
		}) {
			done[i%2] = append(done[i%2], i)
		}
		e.That(len(done[0]) == 0 || len(done[1]) == 0, "no two commits to be done that each check what the other one writes", "commits %v and %v", done[0], done[1])
		e.That(len(done[0])+len(done[1]) > 0, "one of the commits to be done, which is the first", "none")
	}
}
