package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/polystore/polystore/loadtest/internal/format"
)

// An EnduredResult is what a candidate made of faults of its network or its server, in a phase after the rounds.
type EnduredResult struct {
	None         string        `json:"none,omitempty"` // why no fault can be put there; nothing else is known then
	Took         time.Duration `json:"took"`
	Ops          int           `json:"ops"`
	Failed       int           `json:"failed"`            // in all of the phase: they did nothing
	Unknown      int           `json:"unknown"`           // writes whose outcome is not known
	Failure      string        `json:"failure,omitempty"` // the first one
	Faults       []FaultResult `json:"faults"`
	Acknowledged int           `json:"acknowledged"`         // writes
	Lost         int           `json:"lost"`                 // acknowledged writes that are not there afterwards, at least
	Excused      int           `json:"excused,omitempty"`    // of them, that the class of durability lets a killed server lose
	FirstLost    string        `json:"first_lost,omitempty"` // one of those that were lost, if there is one that is not excused
	OutOfStep    int           `json:"out_of_step"`          // rows of indexes that do not agree with the records afterwards
	FirstRow     string        `json:"first_row,omitempty"`  // one of them
}

// A FaultResult is what a candidate made of one fault.
type FaultResult struct {
	Fault        string         `json:"fault"` // as in the list: "cut@5s:2s"
	At           time.Duration  `json:"at"`    // when it was, from the beginning of the phase
	For          time.Duration  `json:"for"`
	Watched      time.Duration  `json:"watched"`              // how long there was until the next fault, or the end of the phase
	Calls        int            `json:"calls"`                // that it met
	Failed       int            `json:"failed"`               // from its beginning until the next fault: they did nothing
	Unknown      int            `json:"unknown"`              // writes whose outcome is not known
	FirstSuccess *time.Duration `json:"first_success"`        // from its end; null is none
	Back         *time.Duration `json:"under_the_objectives"` // from its end: response times are under the objectives, and stay there; null is not, or there are none
}

// endured says what candidates made of faults.
func (p *page) endured() (list []Item) {
	for _, c := range p.byClass() {
		if e := c.Endured; e != nil && e.None == "" {
			list = append(list, Item{"faults", c.Name + ": " + e.text(p.r)})
		}
	}
	return list
}

// text says in a sentence what came of the faults.
func (e *EnduredResult) text(r *Result) string {
	text := fmt.Sprintf("%s acknowledged, ", format.Plural(e.Acknowledged, "write"))
	if e.Lost == 0 {
		text += "none lost"
	} else {
		text += fmt.Sprintf("%s of them lost", format.Count(e.Lost)) + e.excuse()
	}
	text += fmt.Sprintf("; %s failed, %s of unknown outcome", format.Plural(e.Failed, "call"), format.Count(e.Unknown))
	if e.OutOfStep > 0 {
		text += fmt.Sprintf("; %s out of step", format.Plural(e.OutOfStep, "index row"))
	}
	worst, all := time.Duration(0), r.hasObjectives()
	for i := range e.Faults {
		if back := e.Faults[i].Back; back == nil {
			all = false
		} else {
			worst = max(worst, *back)
		}
	}
	if all {
		text += fmt.Sprintf("; under the objectives again %s after a fault at the latest", format.Duration(worst))
	}
	if e.Failure != "" {
		text += "; the first failure: " + e.Failure
	}
	return text
}

// excuse says how many of the writes that were lost may be.
func (e *EnduredResult) excuse() string {
	if e.Excused == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s as its class of durability allows)", format.Count(e.Excused))
}

func (r *Result) hasObjectives() bool {
	for _, q := range r.Queries {
		if len(q.Objectives) > 0 {
			return true
		}
	}
	return false
}

// noFault says where no fault can be put.
func (p *page) noFault() (list []Item) {
	for _, c := range p.candidates {
		if e := c.Endured; e != nil && e.None != "" {
			list = append(list, Item{"no fault", c.Name + ": no fault can be put there: " + e.None})
		}
	}
	return list
}

// faultTable shows what each candidate made of each fault.
func (p *page) faultTable() Table {
	t := Table{Head: []string{"faults", p.classTitle(), "fault", "calls", "failed", "unknown", "first success", "under the objectives", ""}}
	for _, c := range p.byClass() {
		e := c.Endured
		for i := 0; e != nil && i < len(e.Faults); i++ {
			f := &e.Faults[i]
			back := "–"
			if p.r.hasObjectives() {
				back = f.shown(f.Back)
			}
			t.Rows = append(t.Rows, []string{c.Name, p.classOf(c), f.Fault, format.Count(f.Calls), format.Count(f.Failed), format.Count(f.Unknown), f.shown(f.FirstSuccess), back, e.note()})
		}
	}
	if len(t.Rows) == 0 {
		return Table{}
	}
	t.Note = "Times count from the end of the fault."
	return t.narrow()
}

// shown returns a time that may not have come.
func (f *FaultResult) shown(d *time.Duration) string {
	if d == nil {
		return "not within " + format.Duration(f.Watched)
	}
	return format.Duration(*d)
}

// note says what of a candidate is wrong after the faults.
func (e *EnduredResult) note() string {
	var parts []string
	if e.Lost > 0 {
		parts = append(parts, format.Plural(e.Lost, "write")+" lost"+e.excuse())
	}
	if e.OutOfStep > 0 {
		parts = append(parts, format.Plural(e.OutOfStep, "index row")+" out of step")
	}
	return strings.Join(parts, ", ")
}
