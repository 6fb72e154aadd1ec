// Package progress tells people what is going on. Steps and counts come in; lines go out, or one
// block of lines that changes on a terminal.
package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/polystore/polystore/loadtest/internal/format"
)

// A Log tells people what is going on: one block of lines that changes on a
// terminal, plain lines elsewhere. Nil tells nothing. It is for several goroutines.
type Log struct {
	Out      io.Writer
	Terminal bool
	Columns  func() int // the width of the terminal; nil asks it

	mu    sync.Mutex
	shown int       // lines that are shown until the next text
	lived time.Time // when a log that is no terminal was told of a round
}

// A Step is one long piece of work. It is for one goroutine.
type Step struct {
	p     *Log
	what  string
	unit  string
	total int // 0 when it is not known
	n     int
	began time.Time
	told  time.Time
	check int
}

const (
	plainEvery    = 5 * time.Second
	terminalEvery = 200 * time.Millisecond
)

// Begin begins a step. The total is 0 when it is not known.
func (p *Log) Begin(what string, total int, unit string) *Step {
	now := time.Now()
	return &Step{p: p, what: what, unit: unit, total: total, began: now, told: now}
}

// Idle says that nothing was done for a while, which does not count.
func (s *Step) Idle(d time.Duration) { s.began = s.began.Add(d) }

// Add counts n more done.
func (s *Step) Add(n int) {
	s.n += n
	if s.p == nil {
		return
	}
	if s.check++; s.check%64 != 0 && n < 64 {
		return // looking at the clock costs more than the work that is counted
	}
	every := plainEvery
	if s.p.Terminal {
		every = terminalEvery
	}
	if now := time.Now(); now.Sub(s.told) >= every {
		s.told = now
		s.p.show(s.line(now))
	}
}

// line says how far the step is, how fast, and how long it will take.
func (s *Step) line(now time.Time) string {
	took := now.Sub(s.began).Seconds()
	rate := float64(s.n) / max(took, 1e-9)
	text := fmt.Sprintf("%s: %s", s.what, format.Count(s.n))
	if s.total > 0 {
		text += " of " + format.Count(s.total)
	}
	text += fmt.Sprintf(" %s, %s/s", s.unit, format.Count(int(rate)))
	if left := float64(s.total-s.n) / max(rate, 1e-9); s.total > 0 && left >= 1 {
		text += fmt.Sprintf(", %s left", time.Duration(left*float64(time.Second)).Round(time.Second))
	}
	return text
}

// End says what was done, when that took a while, and ends the line.
func (s *Step) End() {
	if s.p == nil {
		return
	}
	took := time.Since(s.began)
	text := fmt.Sprintf("%s: %s %s in %s", s.what, format.Count(s.n), s.unit, took.Round(10*time.Millisecond))
	s.p.tell(text)
}

// Say tells one thing.
func (p *Log) Say(format string, args ...any) {
	if p == nil {
		return
	}
	p.tell(fmt.Sprintf(format, args...))
}

// tell writes a line that stays.
func (p *Log) tell(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.write("")
	fmt.Fprintln(p.Out, text)
}

// Status is what goes on now; only a terminal shows it, until the next text.
func (p *Log) Status(format string, args ...any) {
	if p != nil && p.Terminal {
		p.show(fmt.Sprintf(format, args...))
	}
}

// show shows text until the next one.
func (p *Log) show(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.write(text)
}

// Live shows a block of lines until the next text. A log that is no terminal gets them as one line, every few seconds.
func (p *Log) Live(now time.Time, lines ...string) {
	if p == nil {
		return
	}
	if p.Terminal {
		p.show(strings.Join(lines, "\n"))
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.lived) >= plainEvery {
		p.lived = now
		p.write(strings.Join(lines, "; "))
	}
}

// write writes text over the lines that are shown on a terminal, else as a line.
func (p *Log) write(text string) {
	if !p.Terminal {
		if text != "" {
			fmt.Fprintln(p.Out, text)
		}
		return
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if r := []rune(line); len(r) >= p.columns() { // a longer line would take two, and the block could not be redrawn
			lines[i] = string(r[:max(p.columns()-1, 0)])
		}
	}
	erase := "\r"
	if p.shown > 1 {
		erase += fmt.Sprintf("\x1b[%dA", p.shown-1)
	}
	if p.shown > 0 {
		erase += "\x1b[J" // to the end of the screen
	}
	fmt.Fprint(p.Out, erase+strings.Join(lines, "\n"))
	if p.shown = len(lines); text == "" {
		p.shown = 0
	}
}

// columns returns the width of the terminal.
func (p *Log) columns() int {
	if p.Columns != nil {
		return p.Columns()
	}
	if f, ok := p.Out.(interface{ Fd() uintptr }); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 80
}
