package simulate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A line is one of the story of a run.
type line struct {
	step, client int
	now          time.Duration
	text         string
}

// A story tells a run in words, each token by a short name, and keeps the first promise that the run breaks.
type story struct {
	tell bool // keep what happens, too

	mu      sync.Mutex
	lines   []line
	step    int // of the run
	failure *Failure
	names   map[string]int // of tokens
}

// advance begins another step of the story.
func (s *story) advance() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.step++
}

// note adds what the scheduler does.
func (s *story) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, line{s.step, -1, time.Since(after(0)), text})
}

// noteOf adds what a client sees.
func (s *story) noteOf(c *client, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who := fmt.Sprintf("  client %d ", c.number)
	if c.number == 0 {
		who = "  keeper "
	}
	s.lines = append(s.lines, line{s.step, c.number, time.Since(after(0)), who + text})
}

// fail keeps the first promise that is broken.
func (s *story) fail(promise, format string, args ...any) {
	text := s.named(fmt.Sprintf(format, args...))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure != nil {
		return
	}
	s.failure = &Failure{Promise: promise, Text: text}
	s.lines = append(s.lines, line{s.step, -1, time.Since(after(0)), "BROKEN " + s.failure.String()})
}

// tale returns the story in the order in which it happened.
func (s *story) tale() string {
	slices.SortStableFunc(s.lines, func(a, b line) int {
		if a.step != b.step {
			return a.step - b.step
		}
		if a.client < 0 || b.client < 0 {
			return 0
		}
		return a.client - b.client
	})
	var b strings.Builder
	for _, l := range s.lines {
		fmt.Fprintf(&b, "%12s  %s\n", l.now.Round(tick), l.text)
	}
	return b.String()
}

// nameOf returns a short name for a token.
func (s *story) nameOf(t driver.Token) string {
	if t.IsZero() {
		return "none"
	}
	return s.nameOfHex(t.String())
}

func (s *story) nameOfHex(hex string) string {
	hex = strings.ToLower(hex)
	if s.names[hex] == 0 {
		s.names[hex] = len(s.names) + 1
	}
	return fmt.Sprintf("t%d", s.names[hex])
}

// named returns a text with names for the tokens in it.
func (s *story) named(text string) string {
	return regexp.MustCompile(hexToken).ReplaceAllStringFunc(text, s.nameOfHex)
}

// keyText returns a key in words.
func (s *story) keyText(t *driver.Table, key driver.Key) string {
	var parts []string
	vals := columns(t, key)
	for _, col := range slices.Concat(t.Partition, t.Sort) {
		if v := vals[col.Name]; v != "" && v != home {
			parts = append(parts, v)
		}
	}
	return s.named(strings.Join(parts, "/"))
}

// eventText returns an event in words.
func (s *story) eventText(e event) string {
	switch e.fate {
	case leap:
		return fmt.Sprintf("%s pass", e.leap)
	case rest, wait:
		return e.fate.String()
	case deliver, release:
		return fmt.Sprintf("client %d: %s: %s", e.call.client.number, e.fate, s.words(e.call))
	}
	return fmt.Sprintf("client %d: %s: %s", e.call.client.number, s.words(e.call), e.fate)
}

// words returns a call in words.
func (s *story) words(k *call) string {
	if k.verb != "commit" {
		var keys []string
		for _, key := range k.keys {
			keys = append(keys, s.keyText(k.table, key))
		}
		return strings.TrimSpace(fmt.Sprintf("%s of %s %s", k.verb, k.table.Name, strings.Join(keys, " and ")))
	}
	var ops []string
	for i := range k.ops {
		ops = append(ops, s.opText(&k.ops[i]))
	}
	return fmt.Sprintf("commit %s: %s", s.nameOf(k.token), strings.Join(ops, ", "))
}

func (s *story) opText(op *driver.Op) string {
	text := op.Do.String()
	if op.Row.Dead {
		text = "bury"
	}
	text += " " + op.Table.Name + " " + s.keyText(op.Table, op.Row.Key)
	switch op.If {
	case driver.AtRev:
		text += " if at rev " + s.nameOf(op.Rev)
	case driver.Absent, driver.Present:
		text += " if " + op.If.String()
	}
	return text
}

// text returns an entry in words.
func (e *entry) text() string {
	if e.op.Do == resolve {
		return fmt.Sprintf("resolve (%s of client %d)", e.of.op, e.of.client.number)
	}
	return e.op.String()
}

// answerText returns what a client was told.
func (s *story) answerText(e *entry) string {
	a := e.answer
	switch {
	case a.err != nil:
		return s.named(a.err.Error())
	case e.op.Do == resolve:
		return a.verdict.String()
	case e.op.Do.settles():
		return "done, version " + s.nameOf(a.version)
	case len(a.found) == 0:
		return "none"
	}
	var list []string
	for _, v := range a.found {
		list = append(list, fmt.Sprintf("%s (kind %s mail %q n %d version %s)", v.id, v.kind, v.mail, v.n, s.nameOf(v.version)))
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
