package simulate

import (
	"context"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// retention is longer than a tombstone stays, anywhere.
const retention = 8 * 24 * time.Hour

const sweeps = 3 // a sweep may leave tombstones of its own, which the next one removes

// finish checks what is left when all clients have stopped.
func (w *world) finish() {
	if err := w.openFor(w.keeper); err != nil { // as a process that has just begun
		w.fail("", "the store cannot be opened any more: %v", err)
		return
	}
	slices.SortStableFunc(w.entries, func(a, b *entry) int { return a.client.number - b.client.number })
	asked := w.resolveAll()
	w.sweep()
	if asked {
		w.resolveAll()
		w.sweep()
	}
	w.lookups()
	w.serve(func() {
		if err := w.keeper.door.close(); err != nil {
			w.fail("", "the keeper cannot close its store: %v", err)
		}
	})
	for _, e := range w.entries {
		w.judge(e)
	}
	w.garbage()
}

// sweep runs Maintain until it has nothing more to do.
func (w *world) sweep() {
	for range sweeps {
		before := w.done()
		w.pass(retention)
		w.again(Op{Do: Maintain})
		if w.done() == before {
			return
		}
	}
}

// done returns how many commits were done.
func (w *world) done() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.commits
}

// again makes a call of the keeper, which must succeed.
func (w *world) again(op Op) {
	if e := w.keeperCall(op, nil); e.answer.err != nil {
		w.fail("", "when all have stopped, %s fails: %v", op, e.answer.err)
	}
}

// resolveAll asks what became of every write whose outcome is unknown, if any.
func (w *world) resolveAll() (any bool) {
	for _, e := range w.entries {
		if !e.crashed && e.op.Do.settles() && unknown(e.answer.err) != nil {
			w.keeperCall(Op{Do: resolve, Key: e.op.Key}, e)
			any = true
		}
	}
	w.tock()
	return any
}

// lookups looks for every value.
func (w *world) lookups() {
	for _, n := range []string{"0", "1", "2"} {
		if w.s.Index {
			w.again(Op{Do: Find, Kind: "k" + n})
		}
		if w.s.Unique {
			w.again(Op{Do: One, Mail: "m" + n})
		}
	}
}

// garbage checks P5: every row and claim belongs to a record, every record has its
// own, and nothing else is left.
func (w *world) garbage() {
	now := time.Now().UnixMilli()
	facts := w.history[len(w.history)-1].facts
	rows, claims := map[string]string{}, map[string]string{} // by record: what they say
	for _, t := range w.tables {
		if t.Name != closed && !strings.HasPrefix(t.Name, collection) {
			continue
		}
		for chunk, err := range w.mem.Walk(context.Background(), t, "") {
			if err != nil {
				w.fail("", "table %s cannot be read: %v", t.Name, err)
				return
			}
			for i := range chunk.Rows {
				w.sort(t, &chunk.Rows[i], rows, claims)
			}
		}
	}
	for i, f := range facts {
		var kind, mail string
		if f.live(now) {
			kind, mail = f.kind, f.mail
		} else if f.row {
			w.fail("P5", "the record %s is dead or has expired, and is still there after Maintain", Keys[i])
		}
		if w.s.Index && rows[Keys[i]] != kind {
			w.fail("P5", "after Maintain the record %s has kind %q, and the index the row %q", Keys[i], kind, rows[Keys[i]])
		}
		if w.s.Unique && claims[Keys[i]] != mail {
			w.fail("P5", "after Maintain the record %s has mail %q, and the claim %q", Keys[i], mail, claims[Keys[i]])
		}
	}
}

// sort puts a row of an index, or a claim, to the record that it names. Two of one
// record are two texts. Of the keys that are closed none is dead.
func (w *world) sort(t *driver.Table, row *driver.Row, rows, claims map[string]string) {
	vals := columns(t, row.Key)
	switch t.Class {
	case driver.Records:
		if t.Name == closed && row.Dead {
			w.fail("P5", "that %s was closed is dead, and is still there after Maintain", vals["id"])
		}
	case driver.Rows:
		rows[vals["id"]] += vals["kind"]
	case driver.Claims:
		owner := "nobody"
		for i, k := range w.keys {
			if len(row.Fields) > 0 && row.Fields[0].Str() == k.Partition+k.Sort {
				owner = Keys[i]
			}
		}
		claims[owner] += vals["mail"]
		if owner == "nobody" {
			w.fail("P5", "the claim on %s names no record", vals["mail"])
		}
	}
}

// columns returns the text values of a key, by column.
func columns(t *driver.Table, key driver.Key) map[string]string {
	out := map[string]string{}
	for _, part := range []struct {
		cols []driver.Column
		text string
	}{{t.Partition, key.Partition}, {t.Sort, key.Sort}} {
		vals, _, err := driver.ParseParts(nil, part.text, part.cols)
		for i := 0; err == nil && i < len(vals); i++ {
			out[part.cols[i].Name] = vals[i].Str()
			if part.cols[i].Kind == driver.Bytes { // a token
				out[part.cols[i].Name] = hex.EncodeToString([]byte(vals[i].Str()))
			}
		}
	}
	return out
}
