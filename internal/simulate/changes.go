package simulate

import (
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// A mark is a token that a record has had: as its version, or as its Rev.
type mark struct {
	record  int
	token   driver.Token
	version bool
}

// A watcher looks at the store after every commit, keeps what has changed, and checks what must hold at every moment.
type watcher struct {
	scenario *Scenario
	story    *story
	store    *store
	history  *history
	used     map[mark]bool // tokens that records had
}

// look keeps what a commit has changed, and checks what must hold at every moment.
func (w *watcher) look(k *call) {
	if !slices.ContainsFunc(k.ops, func(op driver.Op) bool { return op.Table.Name == collection || op.Table.Name == closed }) {
		return
	}
	rows, err := w.store.rows(collection)
	if err != nil {
		w.story.fail("", "the records cannot be read: %v", err)
		return
	}
	w.history.tock()
	m := w.history.last()
	if w.scenario.Closes {
		w.lookAtClosed(m, k)
	}
	for i := range rows {
		before := m.facts[i]
		after := w.store.factOf(Keys[i], &rows[i])
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
func (w *watcher) lookAtClosed(m *moment, k *call) {
	rows, err := w.store.rows(closed)
	if err != nil {
		w.story.fail("", "the keys that are closed cannot be read: %v", err)
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

// checkChange checks one change of a record as it happens: P1.
func (w *watcher) checkChange(k *call, record int, before, after *fact) {
	m := w.history.last()
	id := Keys[record]
	w.use(record, after)
	switch {
	case !after.row:
		if !before.dead || before.expires > m.now {
			w.story.fail("P1", "the row of %s is removed, and was no tombstone whose time is over", id)
		}
	case slices.Equal(before.ring, after.ring):
		w.checkFence(id, before, after)
	default:
		w.checkWrite(k, record, before, after)
	}
}

// use sees that neither version nor Rev of a record comes back.
func (w *watcher) use(record int, after *fact) {
	if after.row && w.used[mark{record, after.rev, false}] {
		w.story.fail("P1", "the Rev %s of %s comes back", w.story.nameOf(after.rev), Keys[record])
	}
	if after.row {
		w.used[mark{record, after.rev, false}] = true
	}
}

// checkFence checks a change that is no write of a user.
func (w *watcher) checkFence(id string, before, after *fact) {
	if before.row && (before.dead != after.dead || !before.dead && !before.says(after.values)) {
		w.story.fail("P1", "what %s says changes, and its version does not", id)
	}
	if !before.row && !after.dead {
		w.story.fail("P1", "%s comes to be without a version", id)
	}
}

// checkWrite checks a change that made a version.
func (w *watcher) checkWrite(k *call, record int, before, after *fact) {
	id, m := Keys[record], w.history.last()
	ring := append([]driver.Token{after.rev}, before.ring...)
	if !slices.Equal(after.ring, ring[:min(len(ring), max(len(after.ring), 1))]) {
		w.story.fail("P1", "the ring of %s is not the one before with the new version in front", id)
	}
	if w.used[mark{record, after.version, true}] {
		w.story.fail("P1", "the version %s of %s comes back", w.story.nameOf(after.version), id)
	}
	w.used[mark{record, after.version, true}] = true
	e := k.entry
	past := before.row && !before.live(m.now)
	switch {
	case after.dead && past && (e == nil || e.op.Do != Delete || e.op.Key != id):
		return // whoever finds that a record has expired may remove it, even twice
	case e == nil || e.op.Key != id || !e.op.Do.writes():
		w.story.fail("P1", "%s changes by a call that does not write it", id)
		return
	}
	w.did(e)
	e.token = after.version
	w.checkEffect(e, m, before, after)
}

// did keeps that a call was done, now. All that a group does is done at one moment.
func (w *watcher) did(e *entry) {
	now := len(w.history.moments) - 1
	if n := len(e.commits); n > 0 && e.commits[n-1] == now {
		return
	}
	if e.commits = append(e.commits, now); len(e.commits) > 1 {
		w.story.fail("P1", "client %d: %s is done twice", e.client.number, e.text())
	}
}

// checkClosing checks a key that a commit closes or opens.
func (w *watcher) checkClosing(k *call, record int, before, after closure) {
	e, id := k.entry, Keys[record]
	switch {
	case after.version.IsZero() && !before.is:
		return // a tombstone is gone
	case e == nil || e.op.Key != id || !e.op.Both && e.op.Do != Close:
		w.story.fail("P1", "that %s is closed changes by a call that does not write it", id)
		return
	case after.is != (e.op.Do == Close || e.op.Do == Delete):
		w.story.fail("P1", "client %d: %s leaves the key closed or open, and should not", e.client.number, e.text())
	}
	w.did(e)
}

// checkClosed checks that no record is there whose key is closed: each group that writes one of the
// two collections writes or checks the other one.
func (w *watcher) checkClosed(m *moment) {
	for i, c := range m.closed {
		if c.is && m.has(i) {
			w.story.fail("P1", "%s is closed, and there is a record", Keys[i])
		}
	}
}

// checkEffect checks what a write of a user makes of what was there.
func (w *watcher) checkEffect(e *entry, m *moment, before, after *fact) {
	live := before.live(m.now)
	needs := e.op.Do != Insert && e.op.Do != Put && e.op.Do != Delete || !e.seen.IsZero()
	switch {
	case e.op.Do == Insert && live:
		w.story.fail("P1", "client %d: %s overwrites a record", e.client.number, e.text())
	case needs && !live && !w.history.wasLive(e, indexOf(after.id), before):
		w.story.fail("P1", "client %d: %s is done, and there was no record", e.client.number, e.text())
	case !e.seen.IsZero() && e.seen != before.version && e.op.Do != Insert:
		w.story.fail("P1", "client %d: %s is done, and the record had another version", e.client.number, e.text())
	case e.op.Both && m.closed[indexOf(after.id)].is != (e.op.Do == Delete):
		w.story.fail("P1", "client %d: %s changes the record alone", e.client.number, e.text())
	case after.dead != (e.op.Do == Delete):
		w.story.fail("P1", "client %d: %s leaves a record that is dead or not, and should not", e.client.number, e.text())
	case !after.dead && !after.says(e.next(before)):
		w.story.fail("P1", "client %d: %s makes kind %q mail %q n %d of kind %q mail %q n %d", e.client.number, e.text(),
			after.kind, after.mail, after.n, before.kind, before.mail, before.n)
	}
}

// next returns what the record says after the entry's write.
func (e *entry) next(before *fact) values {
	v := valuesOf(e.op)
	if slices.Contains([]Verb{Update, Patch, Blind, Move}, e.op.Do) {
		v = changed(before.values, e.op)
	}
	if !e.client.w.scenario.Expires {
		v.expires = 0
	}
	return v
}

// checkUnique checks P4 at a moment.
func (w *watcher) checkUnique(m *moment) {
	if !w.scenario.Unique {
		return
	}
	for i, f := range m.facts {
		if f.live(m.now) && f.mail != "" && m.holder(f.mail) != i {
			w.story.fail("P4", "%s and %s both have the mail %s", Keys[m.holder(f.mail)], Keys[i], f.mail)
		}
	}
}

// writes reports whether a verb writes a record, and settles whether its outcome can be asked for.
func (v Verb) writes() bool {
	return slices.Contains([]Verb{Insert, Put, Replace, Update, Patch, Blind, Move, Delete}, v)
}
func (v Verb) settles() bool { return v.writes() || v == Close }
