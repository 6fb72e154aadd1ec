package simulate

import (
	"context"
	"slices"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A fact is what the store holds under the key of a record.
type fact struct {
	values
	row, dead bool
	rev       driver.Token
	ring      []driver.Token
}

// live reports whether there is a record at a time.
func (f *fact) live(now int64) bool { return f.row && !f.dead && (f.expires == 0 || now < f.expires) }

// says reports whether two facts have the same fields.
func (f *fact) says(v values) bool {
	return f.kind == v.kind && f.mail == v.mail && f.n == v.n && f.expires == v.expires
}

// A moment is the truth after a commit, or after time has passed.
type moment struct {
	now   int64
	facts [len(Keys)]*fact

	closed [len(Keys)]closure
}

// A closure says whether a key is closed.
type closure struct {
	is      bool
	version driver.Token // of the record that says so, dead or not
}

// A mark is a token that a record has had: as its version, or as its Rev.
type mark struct {
	record  int
	token   driver.Token
	version bool
}

// An entry is a call of a client on package repo.
type entry struct {
	client     *client
	op         Op
	of         *entry // that a resolve asks about
	seen       driver.Token
	start, end int // the moments between which it was under way
	ended      bool
	crashed    bool
	answer     answer
	commits    []int // moments at which it changed its record
	token      driver.Token
}

// begin keeps that a client begins a call.
func (w *world) begin(c *client, op Op, of *entry, seen driver.Token) *entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := &entry{client: c, op: op, of: of, seen: seen, start: len(w.history) - 1}
	w.entries = append(w.entries, e)
	c.current = e
	if w.tell {
		w.noteOf(c, "begins to "+e.text())
	}
	return e
}

// end keeps what the client was told.
func (w *world) end(c *client, e *entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e.end, e.ended, e.crashed = len(w.history)-1, true, c.crashed
	if w.tell && !e.crashed {
		w.noteOf(c, e.text()+": "+w.answerText(e))
	}
}

// tock keeps that time has passed.
func (w *world) tock() {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := moment{now: time.Now().UnixMilli()}
	if len(w.history) == 0 {
		for i := range m.facts {
			m.facts[i] = &fact{}
		}
	} else {
		m.facts, m.closed = w.history[len(w.history)-1].facts, w.history[len(w.history)-1].closed
	}
	w.history = append(w.history, m)
}

// look keeps what a commit has changed, and checks what must hold at every moment.
func (w *world) look(k *call) {
	if !slices.ContainsFunc(k.ops, func(op driver.Op) bool { return op.Table.Name == collection || op.Table.Name == closed }) {
		return
	}
	rows := make([]driver.Row, len(w.keys))
	if err := w.mem.Get(context.Background(), w.tables[collection], w.keys, nil, rows); err != nil {
		w.fail("", "the records cannot be read: %v", err)
		return
	}
	w.tock()
	m := &w.history[len(w.history)-1]
	if w.s.Closes {
		w.lookAtClosed(m, k)
	}
	for i := range rows {
		before := m.facts[i]
		after := w.factOf(Keys[i], &rows[i])
		if before.row == after.row && before.rev == after.rev {
			continue
		}
		m.facts[i] = after
		w.checkChange(k, i, before, after)
	}
	w.checkUnique(m)
	w.checkClosed(m)
}

// lookAtClosed keeps which keys a commit has closed or opened.
func (w *world) lookAtClosed(m *moment, k *call) {
	rows := make([]driver.Row, len(w.keys))
	if err := w.mem.Get(context.Background(), w.tables[closed], w.keys, nil, rows); err != nil {
		w.fail("", "the keys that are closed cannot be read: %v", err)
		return
	}
	for i := range rows {
		before := m.closed[i]
		m.closed[i] = closure{is: !rows[i].Rev.IsZero() && !rows[i].Dead}
		if len(rows[i].Ring) > 0 {
			m.closed[i].version = rows[i].Ring[0]
		}
		if m.closed[i] != before {
			w.checkClosing(k, i, before, m.closed[i])
		}
	}
}

// factOf reads a row of the records.
func (w *world) factOf(id string, row *driver.Row) *fact {
	f := &fact{row: !row.Rev.IsZero(), dead: row.Dead, rev: row.Rev, ring: slices.Clone(row.Ring)}
	f.id, f.expires = id, row.Expires
	for i, col := range w.tables[collection].Fields {
		if i >= len(row.Fields) {
			break
		}
		switch v := row.Fields[i]; col.Name {
		case "kind":
			f.kind = v.Str()
		case "mail":
			f.mail = v.Str()
		case "n":
			f.n = v.Int()
		}
	}
	if len(f.ring) > 0 {
		f.version = f.ring[0]
	}
	return f
}

// ever reports whether something held at a moment of a call.
func (w *world) ever(e *entry, holds func(m *moment) bool) bool {
	for i := e.start; i <= e.end; i++ {
		if holds(&w.history[i]) {
			return true
		}
	}
	return false
}

// always reports whether something held at every moment of a call.
func (w *world) always(e *entry, holds func(m *moment) bool) bool {
	return !w.ever(e, func(m *moment) bool { return !holds(m) })
}

func (m *moment) has(record int) bool { return m.facts[record].live(m.now) }

// indexOf returns the number of a record.
func indexOf(id string) int { return slices.Index(Keys[:], id) }

// holder returns the record that has a unique value, or -1.
func (m *moment) holder(mail string) int {
	for i, f := range m.facts {
		if f.live(m.now) && f.mail == mail {
			return i
		}
	}
	return -1
}
