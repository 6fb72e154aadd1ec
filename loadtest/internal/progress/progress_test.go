package progress

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestProgressOnTerminal(t *testing.T) {
	var out bytes.Buffer
	p := &Log{Out: &out, Terminal: true}
	s := p.Begin("load", 1000, "records")
	s.n, s.began = 250, time.Now().Add(-2*time.Second)
	p.show(s.line(time.Now()))
	if got := out.String(); !strings.HasPrefix(got, "\rload: 250 of 1,000 records, 12") || !strings.HasSuffix(got, "/s, 6s left") {
		t.Errorf("status line %q", got)
	}
	s.End()
	if got := out.String(); !strings.Contains(got, "load: 250 records in 2") || !strings.HasSuffix(got, "\n") {
		t.Errorf("after the end %q", got)
	}
}

func TestLiveBlockIsRedrawn(t *testing.T) {
	var out bytes.Buffer
	p := &Log{Out: &out, Terminal: true, Columns: func() int { return 10 }}
	p.Live(time.Now(), "a line that is long", "short")
	p.Live(time.Now(), "two")
	p.Say("done")
	if got, want := out.String(), "\ra line th\nshort"+"\r\x1b[1A\x1b[Jtwo"+"\r\x1b[J"+"done\n"; got != want {
		t.Errorf("terminal %q, want %q", got, want)
	}
}

func TestLiveIsPlainWithoutTerminal(t *testing.T) {
	var out bytes.Buffer
	p, now := &Log{Out: &out, Columns: func() int { return 10 }}, time.Now()
	for _, after := range []time.Duration{0, time.Second, plainEvery} {
		p.Live(now.Add(after), "round 1: a", "5/s")
	}
	if got, want := out.String(), strings.Repeat("round 1: a; 5/s\n", 2); got != want {
		t.Errorf("log %q, want %q", got, want)
	}
}
