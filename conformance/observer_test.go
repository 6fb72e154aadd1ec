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
	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo/driver"
)

// dieInARule is a program whose backend ends the process amid a rule.
func dieInARule() {
	b := newBroken(driver.ScopeStore)
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
	left := "conformance: what it left in the store has names that begin with cf01234567; Clean, or polystore conform --clean, removes that\n"
	for said, want := range map[string]string{
		"+a\n+unique/taken\n-a\n+close/closed\n": `conformance: the process died while these ran: unique/taken, close/closed
conformance: one of them is the cause, most likely; run them alone, with --only "unique/taken,close/closed"
` + left,
		"+a\n-a\n":        "conformance: the process died between two rules\n" + left,
		"+Drop\n":         "conformance: the process died while these ran: Drop\n" + left,
		"+a\n-a\n.\n":     "",
		"+a\n+b\n-a\n.\n": "",
	} {
		if got := testimony(strings.NewReader("=cf01234567\n" + said)); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}

// One cause of very many failures is named, once.
func TestOneCause(t *testing.T) {
	t.Parallel()
	b := newBroken(driver.ScopeStore)
	b.commit = func(_ context.Context, _ driver.Token, ops []driver.Op) (*driver.Refusal, error) {
		return nil, fmt.Errorf("memory: connection %d to 10.0.0.7:6379 for %s refused: %w", time.Now().UnixNano(), ops[0].Row.Key.Partition, driver.ErrUnavailable)
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

// Of many failures whose answers differ, the one is named on which the others build.
func TestFirstOfMany(t *testing.T) {
	t.Parallel()
	for what, tt := range map[string]struct {
		fault fault
		want  string
	}{
		"ranges lose a row":    {withoutFirst(), " rules fail: mend keys and order/case first, on which others build\n  got    0"},
		"gets have no fields":  {gotFault(func(_ *driver.Table, r *driver.Row) { r.Fields = nil }), " rules fail: mend keys and order/case first, on which others build\n  got    \"expires 0\""},
		"present never holds":  {forgets(driver.Present, driver.Absent, driver.Patch), " most likely: mend records and fields/long lists first"},
		"refusals are another": {answered(func(r *driver.Refusal) { r.Row = driver.Row{Rev: driver.NewToken()} }), "mend conditions/absent first"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := newBroken(driver.ScopeStore)
			tt.fault(b)
			report, err := Check(t.Context(), func(context.Context) (driver.Store, error) { return b, nil }, Options{Ops: -1, Histories: -1, Only: "keys,records,conditions,index,unique"})
			if err != nil || report.Failed < 15 || !strings.Contains(report.Cause, tt.want) {
				t.Errorf("%v, %s, cause %q", err, report.Summary(), report.Cause)
			}
		})
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
			b := newBroken(driver.ScopeStore)
			tt.hang(b)
			report, err := checkWithin(t.Context(), limits{time.Minute, 2 * time.Second}, func(context.Context) (driver.Store, error) { return b, nil }, Options{Only: "unique/taken"})
			if err != nil || !strings.Contains(strings.Join(report.Problems, "\n"), tt.want) {
				t.Errorf("%v, %+v", err, report)
			}
		})
	}
}

// hangsInCollections is a store of which a Define never returns that is for a collection, and
// not for the tables of the suite.
func hangsInCollections() *broken {
	b := newBroken(driver.ScopeStore)
	b.define = func(ctx context.Context, tables []*driver.Table) error {
		if strings.HasSuffix(tables[0].Name, "_items") || strings.HasSuffix(tables[0].Name, "_people") {
			select {}
		}
		return b.Store.Define(ctx, tables)
	}
	return b
}

// A collection that cannot be opened keeps rules neither from their work nor from their end
// that do not need it.
func TestCollectionHangs(t *testing.T) {
	t.Parallel()
	only := "keys and order/case,keys and order/nul,conditions/insert,conditions/put,unique/taken"
	report, err := checkWithin(t.Context(), limits{2 * time.Second, 5 * time.Second}, func(context.Context) (driver.Store, error) { return hangsInCollections(), nil }, Options{Only: only})
	if err != nil || len(report.Problems) != 1 || !strings.Contains(report.Problems[0], "--clean") || report.Passed != 2 {
		t.Fatalf("%v, %+v; want two rules to pass, and the Drop, which waits for the Open, to say what to do", err, report)
	}
	for _, g := range report.Groups {
		for _, f := range g.Failed {
			if !strings.Contains(f.Got, "none within 3s") && !strings.Contains(f.Want, "to return, which another rule has begun") {
				t.Errorf("%+v", f)
			}
		}
	}
}

// No rule is begun when many have not returned.
func TestManyHang(t *testing.T) {
	t.Parallel()
	b := newBroken(driver.ScopeStore)
	b.commit = func(context.Context, driver.Token, []driver.Op) (*driver.Refusal, error) { select {} }
	report, err := checkWithin(t.Context(), limits{time.Second, 5 * time.Second}, func(context.Context) (driver.Store, error) { return b, nil }, Options{})
	if err != nil || len(report.Problems) != 1 || !strings.HasSuffix(report.Problems[0], "rules never returned, and no more were begun") {
		t.Fatalf("%v, %+v", err, report)
	}
	if report.Failed < fewHang || report.Failed > fewHang+2*workers || report.Cause == "" {
		t.Errorf("%s, cause %q", report.Summary(), report.Cause)
	}
	for _, g := range report.Groups {
		if g.Name == rule.Close && g.Note != "not run" {
			t.Errorf("%+v", g)
		}
	}
}

// A run that is broken off comes to its end, whatever hangs.
func TestBrokenOffAmidHang(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	b := newBroken(driver.ScopeStore)
	b.commit = func(context.Context, driver.Token, []driver.Op) (*driver.Refusal, error) { cancel(); select {} }
	report, err := checkWithin(ctx, limits{time.Hour, time.Hour}, func(context.Context) (driver.Store, error) { return b, nil }, Options{})
	if !errors.Is(err, context.Canceled) || report == nil || !report.BrokenOff {
		t.Errorf("%v, %+v", err, report)
	}
}

// What makes no progress is left behind.
func TestNoProgress(t *testing.T) {
	t.Parallel()
	s := &suite{limits: limits{stall: 50 * time.Millisecond}}
	never := make(chan struct{})
	tell := func(string, int, int) {}
	err := s.watched(t.Context(), "x", tell, func(context.Context, progress) error { <-never; return nil })
	if m, ok := errors.AsType[*finding.Mismatch](err); !ok || !strings.Contains(m.Got, "no progress within 50ms") {
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
