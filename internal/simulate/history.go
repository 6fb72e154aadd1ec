package simulate

import (
	"slices"
	"sync"
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

func (m *moment) has(record int) bool { return m.facts[record].live(m.now) }

// holder returns the record that has a unique value, or -1.
func (m *moment) holder(mail string) int {
	for i, f := range m.facts {
		if f.live(m.now) && f.mail == mail {
			return i
		}
	}
	return -1
}

// shows reports whether a record is what a client was shown.
func (m *moment) shows(record int, v values) bool {
	f := m.facts[record]
	return f.live(m.now) && f.version == v.version && f.says(v)
}

// A closure says whether a key is closed.
type closure struct {
	is      bool
	version driver.Token // of the record that says so, dead or not
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

// A history keeps what the store held at each moment of a run, and the calls of the clients with what they were told.
type history struct {
	story *story

	mu      sync.Mutex
	moments []moment
	entries []*entry
}

// begin keeps that a client begins a call.
func (h *history) begin(c *client, op Op, of *entry, seen driver.Token) *entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := &entry{client: c, op: op, of: of, seen: seen, start: len(h.moments) - 1}
	h.entries = append(h.entries, e)
	c.enter(e)
	if h.story.tell {
		h.story.noteOf(c, "begins to "+e.text())
	}
	return e
}

// end keeps what the client was told.
func (h *history) end(c *client, e *entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e.end, e.ended, e.crashed = len(h.moments)-1, true, c.isCrashed()
	if h.story.tell && !e.crashed {
		h.story.noteOf(c, e.text()+": "+h.story.answerText(e))
	}
}

// tock keeps that time has passed.
func (h *history) tock() {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := moment{now: time.Now().UnixMilli()}
	if len(h.moments) == 0 {
		for i := range m.facts {
			m.facts[i] = &fact{}
		}
	} else {
		m.facts, m.closed = h.moments[len(h.moments)-1].facts, h.moments[len(h.moments)-1].closed
	}
	h.moments = append(h.moments, m)
}

// last returns the moment that is now.
func (h *history) last() *moment { return &h.moments[len(h.moments)-1] }

// ever reports whether something held at a moment of a call.
func (h *history) ever(e *entry, holds func(m *moment) bool) bool {
	for i := e.start; i <= e.end; i++ {
		if holds(&h.moments[i]) {
			return true
		}
	}
	return false
}

// always reports whether something held at every moment of a call.
func (h *history) always(e *entry, holds func(m *moment) bool) bool {
	return !h.ever(e, func(m *moment) bool { return !holds(m) })
}

// wasLive reports whether a record was there when a call began or later, with the Rev
// that it still has: what expires between the read of a write and its commit, which
// tests the Rev alone, is written all the same.
func (h *history) wasLive(e *entry, record int, before *fact) bool {
	return slices.ContainsFunc(h.moments[e.start:], func(m moment) bool {
		f := m.facts[record]
		return f.rev == before.rev && f.live(m.now)
	})
}

// others returns how many writes other than that of an entry the record that is asked for its outcome
// saw since the entry began, up to a moment.
func (h *history) others(e *entry, end int) (n int) {
	at := indexOf(e.op.Key)
	version := func(m *moment) driver.Token { return m.facts[at].version }
	if e.asksClosed() {
		version = func(m *moment) driver.Token { return m.closed[at].version }
	}
	for i := e.start + 1; i <= end; i++ {
		if version(&h.moments[i-1]) != version(&h.moments[i]) && !slices.Contains(e.commits, i) {
			n++
		}
	}
	return n
}

// indexOf returns the number of a record.
func indexOf(id string) int { return slices.Index(Keys[:], id) }
