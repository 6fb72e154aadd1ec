package repo

import "fmt"

// An explanation says how a query is answered and what that costs: repo.Plan.
type explanation struct {
	Collection string
	Index      string
	Reverse    bool
	Covered    bool
	Buckets    int
	Depth      int
	Requests   int
	PerRecord  bool
	Why        string
	Deletes    string

	forecast forecast
}

// text returns the plan as one line.
func (p *explanation) text() string {
	where := "index " + p.Index
	if p.Index == "" {
		where = "the records"
	}
	order := "forwards"
	if p.Reverse {
		order = "backwards"
	}
	requests := fmt.Sprint(p.Requests)
	if p.PerRecord {
		requests += " + 1 a record"
	}
	if f := &p.forecast; f.First > 0 && (f.limit == 0 || f.limit > f.First) && !f.single {
		requests += fmt.Sprintf(" requests up to %d records, and more by pages of at most %d", f.First, f.Most)
	} else {
		requests += " requests"
	}
	text := fmt.Sprintf("%s: %s, read %s; %d deep, %s; %s", p.Collection, where, order, p.Depth, requests, p.Why)
	if p.Deletes != "" {
		text += "; " + p.Deletes
	}
	return text
}

// explain describes a plan.
func (c *planner) explain(p *plan) explanation {
	out := explanation{Collection: c.name, Reverse: p.reverse, Covered: p.covered, Buckets: len(p.parts),
		Deletes: c.facts.Deletes, forecast: forecastOf(c.layoutC, p)}
	out.countFirst()
	switch {
	case p.x == nil:
		out.Why = "the key itself has the order"
	case p.x.native:
		out.Index, out.Why = p.x.name, "the store's own index gives the records themselves"
		if c.facts.NativeNear != nil {
			out.Why += ", " + c.facts.Native.Reason
		}
	case p.covered:
		out.Index, out.Why = p.x.name, "the index covers all fields wanted"
	default:
		out.Index, out.Why = p.x.name, "the index gives the keys, and the records are read by them"
		if p.x.loose {
			out.Why = "the index lies in another partition than its records: it gives keys, and the records, which are read by them, say whether it is right"
		}
	}
	return out
}

// countFirst sets what a query takes that finds few records.
func (p *explanation) countFirst() {
	of := *p
	of.forecast.limit = 0
	depth, one := of.cost(1)
	_, two := of.cost(2)
	p.Depth, p.Requests = depth, one
	if p.PerRecord = two > one; p.PerRecord {
		p.Requests--
	}
}
