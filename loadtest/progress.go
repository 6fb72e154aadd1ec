package loadtest

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/polystore/polystore/loadtest/internal/format"
)

// A progress tells people what is going on: one line that changes on a terminal,
// plain lines elsewhere. Nil tells nothing.
type progress struct {
	w        io.Writer
	terminal bool
	width    int // of the line that is shown
}

// A step is one long piece of work. It is for one goroutine.
type step struct {
	p     *progress
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

func (p *progress) begin(what string, total int, unit string) *step {
	now := time.Now()
	return &step{p: p, what: what, unit: unit, total: total, began: now, told: now}
}

// add counts n more done.
func (s *step) add(n int) {
	s.n += n
	if s.p == nil {
		return
	}
	if s.check++; s.check%64 != 0 && n < 64 {
		return // looking at the clock costs more than the work that is counted
	}
	every := plainEvery
	if s.p.terminal {
		every = terminalEvery
	}
	if now := time.Now(); now.Sub(s.told) >= every {
		s.told = now
		s.p.show(s.line(now))
	}
}

// line says how far the step is, how fast, and how long it will take.
func (s *step) line(now time.Time) string {
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

// end says what was done, when that took a while, and ends the line.
func (s *step) end() {
	if s.p == nil {
		return
	}
	took := time.Since(s.began)
	text := fmt.Sprintf("%s: %s %s in %s", s.what, format.Count(s.n), s.unit, took.Round(10*time.Millisecond))
	s.p.show("")
	fmt.Fprintln(s.p.w, text)
}

// say tells one thing.
func (p *progress) say(format string, args ...any) {
	if p == nil {
		return
	}
	p.show("")
	fmt.Fprintf(p.w, format+"\n", args...)
}

// status is what goes on now; only a terminal shows it, until the next text.
func (p *progress) status(format string, args ...any) {
	if p != nil && p.terminal {
		p.show(fmt.Sprintf(format, args...))
	}
}

// show writes text over the line that is shown on a terminal, else as a line.
func (p *progress) show(text string) {
	if !p.terminal {
		if text != "" {
			fmt.Fprintln(p.w, text)
		}
		return
	}
	n := len([]rune(text))
	fmt.Fprint(p.w, "\r"+text+strings.Repeat(" ", max(p.width-n, 0)))
	if p.width = n; n == 0 {
		fmt.Fprint(p.w, "\r")
	}
}
