package report

import (
	"fmt"
	"strings"
	"time"
)

// A Phase is a part of a run, and how long it took.
type Phase struct {
	Name string        `json:"name"` // load (with reading the data), compare, measure, search, faults, verify
	Took time.Duration `json:"took"`
	Told time.Duration `json:"told,omitempty"` // how long it was said to take, before
}

// About says how long phases take, as in "about 4 min: load 90 s, compare 20 s, measure 2 min". What takes no time is
// left out.
func About(phases []Phase) string { return "about " + spent(phases) }

// spent says how long phases take together and each.
func spent(phases []Phase) string {
	var parts []string
	total := time.Duration(0)
	for _, p := range phases {
		if total += p.Took; p.Took >= time.Second/2 {
			parts = append(parts, p.Name+" "+roughly(p.Took))
		}
	}
	return strings.TrimSuffix(roughly(total)+": "+strings.Join(parts, ", "), ": ")
}

// roughly returns a time with two digits at most.
func roughly(d time.Duration) string {
	seconds := int(d.Round(time.Second) / time.Second)
	switch {
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d h", int(d.Round(time.Hour)/time.Hour))
	case seconds > 100:
		return fmt.Sprintf("%d min", int(d.Round(time.Minute)/time.Minute))
	case seconds > 20:
		return fmt.Sprintf("%d s", (seconds+2)/5*5)
	}
	return fmt.Sprintf("%d s", max(seconds, 1))
}

// took says how long the run took, and was said to take.
func (p *page) took() []Item {
	if len(p.r.Phases) == 0 {
		return nil
	}
	text, told := spent(p.r.Phases), time.Duration(0)
	for _, x := range p.r.Phases {
		told += x.Told
	}
	if told > 0 {
		text += fmt.Sprintf("; %s were told beforehand", roughly(told))
	}
	return []Item{{"took", text}}
}
