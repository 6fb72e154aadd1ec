package report

import (
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A weaker class is never taken instead of a stronger one, however fast it is. The
// control: the same figures in one class make the fast one the choice.
func TestFasterWeakerClassIsNotTaken(t *testing.T) {
	result := func(weak driver.Durability) *Result {
		return small(made{"swift", weak, fast / 10, 0, 10 * time.Microsecond, 100, 0}, made{"solid", driver.Power, fast, 0, 100 * time.Microsecond, 200, 0})
	}
	r := result(driver.Process)
	got := words(r)
	if len(r.Verdicts) != 2 || r.Verdicts[0].Take != "solid" || r.Verdicts[0].Class != "power" || len(r.Verdicts[0].Ranked) != 1 {
		t.Fatalf("%d verdicts, the first on %s takes %s", len(r.Verdicts), r.Verdicts[0].Class, r.Verdicts[0].Take)
	}
	for _, want := range []string{
		"Class power (made, made so): Take solid, alone in its class.",
		"Class process (made, made so): Take swift, alone in its class.",
		"An acknowledged write survives in class power a loss of power; in class process the end of the store's process, but not a loss of power. A class that promises less",
		"a read takes 1 ms in class power (solid) and 100 µs in class process (swift).",
		"solid power 1 ms", "swift process 100 µs",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the text has no %q:\n%s", want, got)
		}
	}
	for _, never := range []string{"less CPU", "too close", "fewer bytes", "more bytes", "does what is asked, too", "class and store together"} {
		if strings.Contains(got, never) {
			t.Errorf("the text compares classes: %q:\n%s", never, got)
		}
	}
	r = result(driver.Power)
	if got = words(r); len(r.Verdicts) != 1 || !strings.Contains(got, "Take swift. The objective is met; 10 times less CPU for the mix than solid") {
		t.Errorf("in one class the fast one is not taken:\n%s", got)
	}
}

// A class that misses its objectives is not saved by another one.
func TestEachClassHasToMeet(t *testing.T) {
	r := small(made{"a", driver.Memory, fast, 0, 10 * time.Microsecond, 100, 0}, made{"b", driver.Power, slow, 0, 100 * time.Microsecond, 100, 0})
	if text := words(r); r.Exit != Missed || !strings.Contains(text, "Class power (made, made so): b does not do what is asked") {
		t.Errorf("exit %d, want %d\n%s", r.Exit, Missed, text)
	}
}

// What is not known is not the same: each store that does not tell what an
// acknowledged write survives is a class of its own, and said to be.
func TestUnknownClassIsComparedWithNothing(t *testing.T) {
	a, b := made{"a", 0, fast, 0, 10 * time.Microsecond, 100, 0}, made{"b", 0, fast, 0, 20 * time.Microsecond, 100, 0}
	silent := func(list ...made) *Result {
		r := small(list...)
		for i := range 2 {
			r.Stores[i].Name, r.Stores[i].Setting, r.Stores[i].InProcess = "silent", "appendonly unknown", false
		}
		return r
	}
	r := silent(a, b, made{"c", driver.Memory, fast, 0, 10 * time.Microsecond, 100, 0})
	text := words(r)
	if len(r.Verdicts) != 3 || r.Verdicts[0].Class != "memory" {
		t.Fatalf("%d verdicts, the first on class %s; want 3, the known one first", len(r.Verdicts), r.Verdicts[0].Class)
	}
	if want := "Class unknown (silent, appendonly unknown): Take a, alone in its class."; !strings.Contains(text, want) {
		t.Errorf("the text has no %q:\n%s", want, text)
	}
	if strings.Count(text, "in class unknown nobody knows what: the store does not tell") != 1 || strings.Contains(text, "The price") {
		t.Errorf("the unknown class is not told, or has a price:\n%s", text)
	}
	r = silent(a, b)
	r.Candidates[1].StoreAt = 0
	if text = words(r); len(r.Verdicts) != 1 || !strings.Contains(text, "Class unknown (silent, appendonly unknown): Take a") {
		t.Errorf("two models on one such store are not compared, or the class is not told:\n%s", text)
	}
}

// Stores of one class are compared in one figure: by time as soon as one of them is
// outside this process. Bytes are compared within one kind of store.
func TestStoresOfOneClassAreComparedInOneFigure(t *testing.T) {
	r := small(made{"near", driver.Power, fast, 0, 900 * time.Microsecond, 100, 0}, made{"far", driver.Power, fast, 0, 100 * time.Microsecond, 900, 0})
	r.Stores[0].Name = "embedded"
	r.Stores[1].Name, r.Stores[1].InProcess, r.Stores[1].CPUOf = "server", false, "this process alone, as the server does not tell its own"
	for i, work := range []time.Duration{fast, 3 * fast} {
		for j := range r.Candidates[i].Rounds {
			q := &r.Candidates[i].Rounds[j].Queries[0]
			q.Calls, q.Work = 1000, work+time.Duration(j)
		}
	}
	text := words(r)
	if want := "Take near. The objective is met; 3 times less time for the mix than far"; len(r.Verdicts) != 1 || !strings.Contains(text, want) {
		t.Errorf("the text has no %q:\n%s", want, text)
	}
	if strings.Contains(text, "more bytes") || strings.Contains(text, "fewer bytes") {
		t.Errorf("bytes of two kinds of stores are compared:\n%s", text)
	}
	if want := "CPU: on embedded that of this process (store, callers and clock); on server that of this process alone, as the server does not tell its own."; !strings.Contains(text, want) {
		t.Errorf("the text has no %q:\n%s", want, text)
	}
}

// Delayed stores that may lose the last of different times do not promise the same. Each is told with
// its time, the shorter one first, after those that lose nothing.
func TestDelayedStoresAreComparedByTheirDelay(t *testing.T) {
	r := small(made{"a", driver.Delayed, fast, 0, 10 * time.Microsecond, 100, 0}, made{"b", driver.Delayed, fast, 0, 10 * time.Microsecond, 100, 0},
		made{"c", driver.Delayed, fast, 0, 20 * time.Microsecond, 100, 0}, made{"d", driver.Process, fast, 0, 10 * time.Microsecond, 100, 0})
	for i, d := range []time.Duration{15 * time.Second, 2 * time.Second, 2 * time.Second} {
		r.Stores[i].Delay = d
	}
	text := words(r)
	if len(r.Verdicts) != 3 || r.Verdicts[0].Class != "process" || len(r.Verdicts[1].Ranked) != 2 || r.Verdicts[2].Take != "a" {
		t.Fatalf("%d verdicts: %+v", len(r.Verdicts), r.Verdicts)
	}
	for _, want := range []string{
		"in class process the end of the store's process, but not a loss of power;",
		"in class delayed the end of the store's process, but for the last 2s before it;",
		"in class delayed the end of the store's process, but for the last 15s before it.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text has no %q:\n%s", want, text)
		}
	}
}
