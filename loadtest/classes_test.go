package loadtest

import (
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A weaker class is never taken instead of a stronger one, however fast it is. The
// control: the same figures in one class make the fast one the choice.
func TestFasterWeakerClassIsNotTaken(t *testing.T) {
	w := mustParse(t, small)
	text := func(weak driver.Durability) (string, []*verdict) {
		list := []*candidate{
			made{"swift", weak, fast / 10, 0, 10 * time.Microsecond, 100, 0}.candidate(w),
			made{"solid", driver.Power, fast, 0, 100 * time.Microsecond, 200, 0}.candidate(w),
		}
		verdicts := decide(list)
		return words(w, list, verdicts), verdicts
	}
	got, verdicts := text(driver.Process)
	if len(verdicts) != 2 || verdicts[0].best().label != "solid" || verdicts[0].class != driver.Power || len(verdicts[0].ranked) != 1 {
		t.Fatalf("%d verdicts, the first on %s takes %s", len(verdicts), verdicts[0].class, verdicts[0].best().label)
	}
	for _, want := range []string{
		"Class power (made, made so): Take solid, alone in its class.",
		"Class process (made, made so): Take swift, alone in its class.",
		"An acknowledged write survives in class power a loss of power; in class process the end of the store's process, but not a loss of power. A class that promises less",
		"a read takes 1 ms in class power (solid) and 100 µs in class process (swift).",
		"solid power 1 ms", "swift process 100 µs",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the screen has no %q:\n%s", want, got)
		}
	}
	for _, never := range []string{"less CPU", "too close", "fewer bytes", "more bytes", "does what is asked, too", "class and store together"} {
		if strings.Contains(got, never) {
			t.Errorf("the screen compares classes: %q:\n%s", never, got)
		}
	}
	got, verdicts = text(driver.Power)
	if len(verdicts) != 1 || !strings.Contains(got, "Take swift. The objective is met; 10 times less CPU for the mix than solid") {
		t.Errorf("in one class the fast one is not taken:\n%s", got)
	}
}

// A class that misses its objectives is not saved by another one.
func TestEachClassHasToMeet(t *testing.T) {
	w := mustParse(t, small)
	list := []*candidate{
		made{"a", driver.Memory, fast, 0, 10 * time.Microsecond, 100, 0}.candidate(w),
		made{"b", driver.Power, slow, 0, 100 * time.Microsecond, 100, 0}.candidate(w),
	}
	verdicts := decide(list)
	if exitCode(verdicts) != Missed || !strings.Contains(words(w, list, verdicts), "Class power (made, made so): b does not do what is asked") {
		t.Errorf("exit %d, want %d\n%s", exitCode(verdicts), Missed, words(w, list, verdicts))
	}
}

// What is not known is not the same: each store that does not tell what an
// acknowledged write survives is a class of its own, and said to be.
func TestUnknownClassIsComparedWithNothing(t *testing.T) {
	w := mustParse(t, small)
	silent := func() *store {
		return &store{facts: driver.Facts{Name: "silent", Durability: driver.UnknownDurability, Setting: "appendonly unknown"}}
	}
	one, other := silent(), silent()
	list := []*candidate{
		made{"a", 0, fast, 0, 10 * time.Microsecond, 100, 0}.on(one, w),
		made{"b", 0, fast, 0, 10 * time.Microsecond, 100, 0}.on(other, w),
		made{"c", driver.Memory, fast, 0, 10 * time.Microsecond, 100, 0}.candidate(w),
	}
	verdicts := decide(list)
	if len(verdicts) != 3 || verdicts[0].class != driver.Memory {
		t.Fatalf("%d verdicts, the first on class %s; want 3, the known one first", len(verdicts), verdicts[0].class)
	}
	text := words(w, list, verdicts)
	if want := "Class unknown (silent, appendonly unknown): Take a, alone in its class."; !strings.Contains(text, want) {
		t.Errorf("the screen has no %q:\n%s", want, text)
	}
	if strings.Count(text, "in class unknown nobody knows what: the store does not tell") != 1 || strings.Contains(text, "The price") {
		t.Errorf("the unknown class is not told, or has a price:\n%s", text)
	}
	alone := []*candidate{made{"a", 0, fast, 0, 10 * time.Microsecond, 100, 0}.on(one, w), made{"b", 0, fast, 0, 20 * time.Microsecond, 100, 0}.on(one, w)}
	if v := decide(alone); len(v) != 1 || !strings.Contains(words(w, alone, v), "Class unknown (silent, appendonly unknown): Take a") {
		t.Errorf("two models on one such store are not compared, or the class is not told:\n%s", words(w, alone, v))
	}
}

// Stores of one class are compared in one figure: by time as soon as one of them is
// outside this process. Bytes are compared within one kind of store.
func TestStoresOfOneClassAreComparedInOneFigure(t *testing.T) {
	w := mustParse(t, small)
	embedded := &store{facts: driver.Facts{Name: "embedded", Durability: driver.Power, OneProcess: true}}
	server := &store{facts: driver.Facts{Name: "server", Durability: driver.Power}}
	list := []*candidate{
		made{"near", 0, fast, 0, 900 * time.Microsecond, 100, 0}.on(embedded, w),
		made{"far", 0, fast, 0, 100 * time.Microsecond, 900, 0}.on(server, w),
	}
	for i, work := range []time.Duration{fast, 3 * fast} {
		for j, r := range list[i].rounds {
			r.queries[0].calls, r.queries[0].work = 1000, work+time.Duration(j)
		}
	}
	verdicts := decide(list)
	text := words(w, list, verdicts)
	if want := "Take near. The objective is met; 3 times less time for the mix than far"; len(verdicts) != 1 || !strings.Contains(text, want) {
		t.Errorf("the screen has no %q:\n%s", want, text)
	}
	if strings.Contains(text, "more bytes") || strings.Contains(text, "fewer bytes") {
		t.Errorf("bytes of two kinds of stores are compared:\n%s", text)
	}
	if want := "CPU: on embedded that of this process (store, callers and clock); on server that of this process alone, as the server does not tell its own."; !strings.Contains(text, want) {
		t.Errorf("the screen has no %q:\n%s", want, text)
	}
}

// Delayed stores that may lose the last of different times do not promise the same. Each is told with
// its time, the shorter one first, after those that lose nothing.
func TestDelayedStoresAreComparedByTheirDelay(t *testing.T) {
	w := mustParse(t, small)
	delayed := func(name string, d time.Duration) *store {
		return &store{facts: driver.Facts{Name: name, Durability: driver.Delayed, Delay: d, Setting: "now and then"}}
	}
	short, long := delayed("short", 2*time.Second), delayed("long", 15*time.Second)
	list := []*candidate{
		made{"a", 0, fast, 0, 10 * time.Microsecond, 100, 0}.on(long, w),
		made{"b", 0, fast, 0, 10 * time.Microsecond, 100, 0}.on(short, w),
		made{"c", 0, fast, 0, 20 * time.Microsecond, 100, 0}.on(delayed("other", 2*time.Second), w),
		made{"d", driver.Process, fast, 0, 10 * time.Microsecond, 100, 0}.candidate(w),
	}
	verdicts := decide(list)
	if len(verdicts) != 3 || verdicts[0].class != driver.Process || len(verdicts[1].ranked) != 2 || verdicts[1].delay != 2*time.Second || verdicts[2].best().label != "a" {
		t.Fatalf("%d verdicts: %+v", len(verdicts), verdicts)
	}
	text := words(w, list, verdicts)
	for _, want := range []string{
		"in class process the end of the store's process, but not a loss of power;",
		"in class delayed the end of the store's process, but for the last 2s before it;",
		"in class delayed the end of the store's process, but for the last 15s before it.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the screen has no %q:\n%s", want, text)
		}
	}
}
