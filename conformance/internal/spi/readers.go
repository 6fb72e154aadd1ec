package spi

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"

	"github.com/polystore/polystore/repo/driver"
)

// readersAtOnce reads two rows that commits change together: one after the other, so that the
// second is no older than the first. Some commits are refused for a third row, and nothing of
// them is ever seen.
func readersAtOnce(ctx context.Context, e *env) {
	const rounds, mostReadings, refused = 100, 5000, "refused"
	t := e.Tables.Sorted
	keys := []driver.Key{e.at(t, "p", "a"), e.at(t, "p", "b")}
	write := func(text string, more ...driver.Op) []driver.Op {
		return append([]driver.Op{put(t, row(keys[0], text)), put(t, row(keys[1], text))}, more...)
	}
	e.commit(ctx, write("0")...)
	none := driver.Op{Do: driver.Check, Table: t, Row: driver.Row{Key: e.at(t, "p", "c")}, If: driver.Present}
	var over atomic.Bool
	e.Parallel(4, func(i int) error {
		if i > 0 {
			for n := 0; n < mostReadings && !over.Load(); n++ {
				readInTurn(ctx, e, t, keys[i%2], keys[1-i%2])
				runtime.Gosched() // the writer's turn, where readers keep every processor busy
			}
			return nil
		}
		defer over.Store(true)
		for n := range rounds {
			e.commit(ctx, write(fmt.Sprint(n+1))...)
			e.refused(ctx, write(refused, none)...)
		}
		return nil
	})
}

// readInTurn reads the one row and then the other, and all rows by a range.
func readInTurn(ctx context.Context, e *env, t *driver.Table, one, other driver.Key) {
	var seen [2]int
	for i, key := range []driver.Key{one, other} {
		seen[i] = writtenAs(e, e.text(ctx, t, key))
	}
	e.That(seen[1] >= seen[0], fmt.Sprintf("a row that commit %d changed with the row read before it", seen[0]), "that of commit %d", seen[1])
	for _, r := range e.rows(ctx, span(t, one)) {
		writtenAs(e, textOf(&r))
	}
}

// writtenAs returns the number of the commit that wrote a text.
func writtenAs(e *env, text string) int {
	n, err := strconv.Atoi(text)
	e.That(err == nil, "a row as a commit wrote it that was done", "%q", text)
	return n
}
