package report

import (
	"fmt"

	"github.com/polystore/polystore/loadtest/internal/format"
)

// checked says how many answers were checked against what was written, and which queries were not; "" if none was.
func (p *page) checked() string {
	answers := 0
	var partly, never []string
	for i, q := range p.r.Queries {
		checked, whole := 0, 0
		for _, c := range p.candidates {
			if i < len(c.Queries) {
				checked, whole = checked+c.Queries[i].Checked, whole+c.Queries[i].CheckedWhole
			}
		}
		switch answers += checked; {
		case q.Writes || q.Kind == "journey":
		case checked == 0:
			never = append(never, q.Name)
		case whole < checked:
			partly = append(partly, q.Name)
		}
	}
	if answers == 0 {
		return ""
	}
	text := fmt.Sprintf("%s, before the rounds and during them, against what was written", format.Plural(answers, "answer"))
	if len(partly) > 0 {
		text += "; not each for missing records: " + format.Joined(partly)
	}
	if len(never) > 0 {
		text += "; none of " + format.Joined(never)
	}
	return text
}
