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
