package report

import (
	"testing"
	"time"
)

func TestPhases(t *testing.T) {
	list := []Phase{{Name: "load", Took: 88 * time.Second}, {Name: "compare", Took: 17 * time.Second}, {Name: "measure", Took: 127 * time.Second}, {Name: "faults"}}
	if got, want := About(list), "about 4 min: load 90 s, compare 17 s, measure 2 min"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := About(list[3:]); got != "about 1 s" {
		t.Errorf("nothing takes %q", got)
	}
	p := page{r: &Result{Phases: []Phase{{"load", 5 * time.Second, 4 * time.Second}, {"measure", 3 * time.Hour, 2 * time.Hour}}}}
	if got, want := p.took()[0].Text, "3 h: load 5 s, measure 3 h; 2 h were told beforehand"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if p.r.Phases = nil; p.took() != nil {
		t.Error("an older result has no such line")
	}
}
