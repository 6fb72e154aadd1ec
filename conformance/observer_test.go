package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo/driver"
)

// dieInARule is a program whose backend ends the process amid a rule.
func dieInARule() {
	b := newBroken(driver.UnitStore)
	b.commit = func(context.Context, driver.Token, []driver.Op) (*driver.Refusal, error) {
		go func() { panic("as ordered") }()
		select {}
	}
	_, err := Check(context.Background(), func(context.Context) (driver.Store, error) { return b, nil }, Options{Only: "unique/taken"})
	fmt.Println("not dead:", err)
}

// When the process dies the rule that was running is named.
func TestRuleOfADeath(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childWay+"=dies")
	out, err := cmd.CombinedOutput() // which the observer holds open, too
	if want := "the process died while these ran: unique/taken\n"; err == nil || !strings.Contains(string(out), want) || !strings.Contains(string(out), "panic: as ordered") {
		t.Errorf("%v; no %q in\n%s", err, want, out)
	}
}

func TestTestimony(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"+a\n+b\n-a\n+c d\n": `these ran: b, c d
conformance: one of them is the cause, most likely; run them alone, with --only "b,c d"`,
		"+a\n-a\n":        "died between two rules",
		"+a\n-a\n.\n":     "",
		"+a\n+b\n-a\n.\n": "",
	} {
		if got := testimony(strings.NewReader(said)); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}

// One cause of very many failures is named, once.
func TestOneCause(t *testing.T) {
	t.Parallel()
	b := newBroken(driver.UnitStore)
	b.commit = func(context.Context, driver.Token, []driver.Op) (*driver.Refusal, error) {
		return nil, fmt.Errorf("memory: connection %d to 10.0.0.7:6379 refused: %w", time.Now().UnixNano(), driver.ErrUnavailable)
	}
	report, err := Check(t.Context(), func(context.Context) (driver.Store, error) { return b, nil }, Options{Only: "records and fields,conditions,keys and order,unique", Ops: -1, Histories: -1})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil || report.Failed < 30 || !strings.Contains(report.Cause, "could not be reached\n  got    ") || !strings.Contains(report.Cause, "connection ") {
		t.Fatalf("%v, %s, cause %q", err, report.Summary(), report.Cause)
	}
	if n := strings.Count(text.String(), "refused"); n > report.Failed/3 {
		t.Errorf("the cause is told %d times:\n%s", n, text.String())
	}
	few := Report{Groups: []Group{{Failed: []Failure{{Got: "a"}, {Got: "b"}}}}}
	if few.findCause(); few.Cause != "" {
		t.Errorf("two failures have one cause: %q", few.Cause)
	}
}

// A store of which Drop, Close, Define or a random operation never returns is reported.
func TestHangs(t *testing.T) {
	t.Parallel()
	hangs := func() { select {} }
	for name, tt := range map[string]struct {
		hang func(b *broken)
		want string
	}{
		"drop": {func(b *broken) {
			b.drop = func(context.Context, []*driver.Table) error { hangs(); return nil }
		}, "want Drop to return; got it did not within 2s"},
		"close": {func(b *broken) { b.close = func() error { hangs(); return nil } }, "want Close to return; got it did not within 2s"},
		"define": {func(b *broken) {
			b.define = func(context.Context, []*driver.Table) error { hangs(); return nil }
		}, "no rule was run: define the tables of the suite: want Define to return"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBroken(driver.UnitStore)
			tt.hang(b)
			report, err := checkWithin(t.Context(), 2*time.Second, func(context.Context) (driver.Store, error) { return b, nil }, Options{Only: "unique/taken"})
			if err != nil || !strings.Contains(strings.Join(report.Problems, "\n"), tt.want) {
				t.Errorf("%v, %+v", err, report)
			}
		})
	}
}

// What makes no progress is left behind.
func TestNoProgress(t *testing.T) {
	t.Parallel()
	s := &suite{stall: 50 * time.Millisecond}
	never := make(chan struct{})
	tell := func(string, int, int) {}
	err := s.watched(t.Context(), "x", tell, func(context.Context, progress) error { <-never; return nil })
	if m, ok := errors.AsType[*mismatch](err); !ok || !strings.Contains(m.got, "no progress within 50ms") {
		t.Errorf("%v", err)
	}
	s.stall = time.Hour
	if err := s.watched(t.Context(), "x", tell, func(_ context.Context, tell progress) error { tell("x", 1, 1); return nil }); err != nil {
		t.Error(err)
	}
}

// An open that fails has no report: nothing is known of the store.
func TestOpenFails(t *testing.T) {
	t.Parallel()
	report, err := Check(t.Context(), func(context.Context) (driver.Store, error) { return memory.New(nil), driver.ErrUnavailable }, Options{})
	if report != nil || !errors.Is(err, driver.ErrUnavailable) {
		t.Errorf("%+v, %v", report, err)
	}
}
