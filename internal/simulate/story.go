package simulate

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A line is one of the story of a run.
type line struct {
	step, client int
	now          time.Duration
	text         string
}

// note adds what the scheduler does.
func (w *world) note(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.story = append(w.story, line{w.step, -1, time.Since(after(0)), text})
}

// noteOf adds what a client sees. The caller has the lock.
func (w *world) noteOf(c *client, text string) {
	who := fmt.Sprintf("  client %d ", c.number)
	if c == w.keeper {
		who = "  keeper "
	}
	w.story = append(w.story, line{w.step, c.number, time.Since(after(0)), who + text})
}

// fail keeps the first promise that is broken.
func (w *world) fail(promise, format string, args ...any) {
	text := w.named(fmt.Sprintf(format, args...))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure != nil {
		return
	}
	w.failure = &Failure{Promise: promise, Text: text}
	w.story = append(w.story, line{w.step, -1, time.Since(after(0)), "BROKEN " + w.failure.String()})
}

// tale returns the story in the order in which it happened.
func (w *world) tale() string {
	slices.SortStableFunc(w.story, func(a, b line) int {
		if a.step != b.step {
			return a.step - b.step
		}
		if a.client < 0 || b.client < 0 {
			return 0
		}
		return a.client - b.client
	})
	var b strings.Builder
	for _, l := range w.story {
		fmt.Fprintf(&b, "%12s  %s\n", l.now.Round(tick), l.text)
	}
	return b.String()
}

// nameOf returns a short name for a token.
func (w *world) nameOf(t driver.Token) string {
	if t.IsZero() {
		return "none"
	}
	return w.nameOfHex(t.String())
}

func (w *world) nameOfHex(hex string) string {
	hex = strings.ToLower(hex)
	if w.names[hex] == 0 {
		w.names[hex] = len(w.names) + 1
	}
	return fmt.Sprintf("t%d", w.names[hex])
}

// named returns a text with names for the tokens in it.
func (w *world) named(text string) string {
	return regexp.MustCompile(hexToken).ReplaceAllStringFunc(text, w.nameOfHex)
}

// keyText returns a key in words.
func (w *world) keyText(t *driver.Table, key driver.Key) string {
	var parts []string
	vals := columns(t, key)
	for _, col := range slices.Concat(t.Partition, t.Sort) {
		if v := vals[col.Name]; v != "" && v != home {
			parts = append(parts, v)
		}
	}
	return w.named(strings.Join(parts, "/"))
}

// text returns an entry in words.
func (e *entry) text() string {
	if e.op.Do == resolve {
		return fmt.Sprintf("resolve (%s of client %d)", e.of.op, e.of.client.number)
	}
	return e.op.String()
}

// answerText returns what a client was told.
func (w *world) answerText(e *entry) string {
	a := e.answer
	switch {
	case a.err != nil:
		return w.named(a.err.Error())
	case e.op.Do == resolve:
		return a.verdict.String()
	case e.op.Do.settles():
		return "done, version " + w.nameOf(a.version)
	case len(a.found) == 0:
		return "none"
	}
	var list []string
	for _, v := range a.found {
		list = append(list, fmt.Sprintf("%s (kind %s mail %q n %d version %s)", v.id, v.kind, v.mail, v.n, w.nameOf(v.version)))
	}
	return strings.Join(list, ", ")
}

// A Failure is a promise that a run breaks.
type Failure struct {
	Promise string // "P1" to "P6", or "" for something else
	Text    string

	Scenario Scenario
	Choices  []int
	Story    string
}

// String returns what is broken.
func (f *Failure) String() string { return strings.TrimSpace(f.Promise + " " + f.Text) }

// count adds what happened in the run to seen.
func (w *world) count(seen map[string]int) {
	for f, n := range w.fates {
		seen["fate: "+fate(f).String()] += n
	}
	for _, e := range w.entries {
		kinds := []error{repo.ErrExists, repo.ErrNotFound, repo.ErrConflict, repo.ErrUnknownOutcome, repo.ErrUnavailable}
		i := slices.IndexFunc(kinds, func(kind error) bool { return errors.Is(e.answer.err, kind) })
		switch {
		case e.crashed:
			seen["told: nothing"]++
		case i >= 0:
			seen["told: "+kinds[i].Error()]++
		case e.op.Do == resolve:
			seen["verdict: "+e.answer.verdict.String()]++
		case e.op.Do.writes():
			seen["told: done"]++
		case len(e.answer.found) > 0:
			seen["told: found"]++
		}
	}
}
