package simulate

import (
	"errors"
	"time"

	"github.com/polystore/polystore/repo"
)

// A judge checks, when all clients have stopped, what each was told, and what the store still holds.
type judge struct {
	scenario *Scenario
	story    *story
	store    *store
	history  *history
}

// judge checks what a client was told against what happened. In a calm run nothing went wrong.
func (j *judge) judge(e *entry, calm bool) {
	err := e.answer.err
	switch {
	case e.crashed || !e.ended:
		return // nobody was told anything; that it was not done twice was seen before
	case errors.Is(err, repo.ErrInternal), errors.Is(err, repo.ErrCorrupt), errors.Is(err, repo.ErrInvalid), errors.Is(err, repo.ErrClosed):
		j.story.fail("", "client %d: %s: %v", e.client.number, e.text(), err)
	case errors.Is(err, repo.ErrUnavailable), errors.Is(err, repo.ErrTimeout), errors.Is(err, repo.ErrUnknownOutcome):
		if calm {
			j.story.fail("", "client %d: %s fails, and nothing went wrong: %v", e.client.number, e.text(), err)
		}
	}
	switch {
	case e.op.Do == resolve:
		j.judgeVerdict(e)
	case e.op.Do.settles():
		j.judgeWrite(e)
	case err == nil && e.op.Do == Find:
		j.judgeFind(e)
	case err == nil && e.op.Do == One:
		j.judgeOne(e)
	case err == nil && e.op.Do == Get:
		j.judgeGet(e)
	}
}

// judgeWrite checks P1 for one write.
func (j *judge) judgeWrite(e *entry) {
	at := indexOf(e.op.Key)
	err := e.answer.err
	count := len(e.commits)
	switch {
	case errors.Is(err, repo.ErrUnknownOutcome):
		return
	case err != nil && count > 0:
		j.story.fail("P1", "client %d: %s was refused or failed with %v, and was done", e.client.number, e.text(), err)
	case err != nil:
		j.judgeRefusal(e)
	case count == 0 && e.op.Do == Delete && !e.op.Both:
		if j.history.always(e, func(m *moment) bool { return m.has(at) }) {
			j.story.fail("P1", "client %d: %s succeeded, and the record was there all the time", e.client.number, e.text())
		}
	case count == 0:
		j.story.fail("P1", "client %d: %s succeeded, and was never done", e.client.number, e.text())
	case e.commits[0] < e.start || e.commits[0] > e.end:
		j.story.fail("P1", "client %d: %s succeeded before it was done", e.client.number, e.text())
	case !e.answer.version.IsZero() && e.answer.version != e.token:
		j.story.fail("P1", "client %d: %s succeeded with the version %s, and the record has %s", e.client.number, e.text(),
			j.story.nameOf(e.answer.version), j.story.nameOf(e.token))
	}
}

// judgeRefusal checks that there was a reason.
func (j *judge) judgeRefusal(e *entry) {
	at := indexOf(e.op.Key)
	reason := true
	switch err := e.answer.err; {
	case errors.Is(err, repo.ErrExists):
		reason = j.history.ever(e, func(m *moment) bool {
			other := -1
			if e.op.Mail != "" && j.scenario.Unique {
				other = m.holder(e.op.Mail)
			}
			isClosed := m.closed[at].is && (e.op.Open || e.op.Do == Close || e.op.Both && e.op.Do == Delete)
			return isClosed || m.has(at) && (e.op.Do == Insert || e.op.Do == Close) || other >= 0 && other != at
		})
	case errors.Is(err, repo.ErrNotFound):
		reason = j.history.ever(e, func(m *moment) bool { return !m.has(at) })
	case errors.Is(err, repo.ErrConflict):
		reason = !e.seen.IsZero() && j.history.ever(e, func(m *moment) bool { return !m.has(at) || m.facts[at].version != e.seen })
	}
	if !reason {
		j.story.fail("P1", "client %d: %s was refused without a reason: %v", e.client.number, e.text(), e.answer.err)
	}
}

// judgeFind checks P2 and P3.
func (j *judge) judgeFind(e *entry) {
	times := map[string]int{}
	for _, v := range e.answer.found {
		times[v.id]++
		at := indexOf(v.id)
		held := at >= 0 && j.history.ever(e, func(m *moment) bool { return m.shows(at, v) && v.kind == e.op.Kind })
		if !held {
			j.story.fail("P3", "client %d: %s returns %s, which did not match as returned at any moment of the call", e.client.number, e.text(), v.id)
		}
	}
	for i, id := range Keys {
		matched := j.history.always(e, func(m *moment) bool { return m.has(i) && m.facts[i].kind == e.op.Kind })
		switch {
		case matched && times[id] == 0:
			j.story.fail("P2", "client %d: %s misses %s, which matched during the whole call", e.client.number, e.text(), id)
		case times[id] > 1:
			j.story.fail("P3", "client %d: %s returns %s %d times", e.client.number, e.text(), id, times[id])
		}
	}
}

// judgeOne checks that a lookup by a unique value has a moment.
func (j *judge) judgeOne(e *entry) {
	ok := j.history.ever(e, func(m *moment) bool {
		at := m.holder(e.op.Mail)
		if len(e.answer.found) == 0 {
			return at < 0
		}
		return at >= 0 && e.answer.found[0].id == Keys[at] && m.shows(at, e.answer.found[0])
	})
	if !ok {
		j.story.fail("P4", "client %d: %s answers %s, which was so at no moment of the call", e.client.number, e.text(), j.story.answerText(e))
	}
}

// judgeGet checks that a read of a record has a moment.
func (j *judge) judgeGet(e *entry) {
	at := indexOf(e.op.Key)
	ok := j.history.ever(e, func(m *moment) bool {
		if len(e.answer.found) == 0 {
			return !m.has(at)
		}
		return m.shows(at, e.answer.found[0])
	})
	if !ok {
		j.story.fail("P1", "client %d: %s answers %s, which was so at no moment of the call", e.client.number, e.text(), j.story.answerText(e))
	}
}

// judgeVerdict checks P6.
func (j *judge) judgeVerdict(e *entry) {
	if e.answer.err != nil {
		return
	}
	of := e.of
	switch {
	case e.answer.verdict == repo.Committed && (len(of.commits) == 0 || of.commits[0] > e.end):
		j.story.fail("P6", "client %d resolves %s of client %d: committed, and it was not", e.client.number, of.text(), of.client.number)
	case e.answer.verdict == repo.NotCommitted && len(of.commits) > 0:
		j.story.fail("P6", "client %d resolves %s of client %d: not committed, and it is", e.client.number, of.text(), of.client.number)
	case e.answer.verdict == repo.Unknown && of.readsFirst():
		soon := j.history.moments[e.end].now-j.history.moments[of.start].now < soonEnough.Milliseconds()
		if n := j.history.others(of, e.end); soon && n < ringSize {
			j.story.fail("P6", "client %d resolves %s of client %d: unknown, after %d other writes", e.client.number, of.text(), of.client.number, n)
		}
	}
}

// ringSize is how many tokens a record keeps, and soonEnough how long a tombstone stays, less what
// clocks may differ. As long as fewer others wrote it since, Resolve knows in that time what became of
// a write that read the record. An insert may not have, and PatchBlind has not.
const (
	ringSize   = 4
	soonEnough = 14 * time.Minute
)

// asksClosed reports whether the outcome of a write is asked of the key that it closes or opens.
func (e *entry) asksClosed() bool { return unknown(e.answer.err).Collection == closed }

// readsFirst reports whether a write reads, before it is sent, the record that is asked for its outcome.
func (e *entry) readsFirst() bool {
	if e.asksClosed() {
		return e.op.Do != Delete && e.op.Do != Close // which insert it
	}
	return e.op.Do != Blind && e.op.Do != Insert
}
