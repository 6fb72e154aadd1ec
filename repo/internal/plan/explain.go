package plan

import "fmt"

// An Explanation says how a query is answered and what that costs: repo.Plan.
type Explanation struct {
	Collection string
	With       string
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
	more     int // plans of the same kind that follow
}

// Text returns the plan as one line.
func (p *Explanation) Text() string {
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
	text := fmt.Sprintf("%s: %s, read %s; %d deep, %s; %s", Named(p.Collection, p.With), where, order, p.Depth, requests, p.Why)
	if p.Deletes != "" {
		text += "; " + p.Deletes
	}
	return text
}

// Named returns the name of a collection with that of the one with which it lies, if there is one.
func Named(collection, with string) string {
	if with != "" {
		return collection + " with " + with
	}
	return collection
}

// Explain describes a plan.
func (c *Planner) Explain(p *Plan) Explanation {
	out := Explanation{Collection: c.Name, With: c.With(), Reverse: p.Reverse, Covered: p.Covered, Buckets: len(p.Parts),
		Deletes: c.Facts.Deletes, forecast: forecastOf(c.Layout, p)}
	out.countFirst()
	switch {
	case p.X == nil:
		out.Why = "the key itself has the order"
	case p.X.Native:
		out.Index, out.Why = p.X.ID, "the store's own index gives the records themselves"
		if c.Facts.NativeLocal != nil {
			out.Why += ", " + c.Facts.Native.Reason
		}
	case p.Covered:
		out.Index, out.Why = p.X.ID, "the index covers all fields wanted"
	default:
		out.Index, out.Why = p.X.ID, "the index gives the keys, and the records are read by them"
		if p.X.Remote {
			out.Why = "the index lies in another partition than its records: it gives keys, and the records, which are read by them, say whether it is right"
		}
	}
	if len(p.Ways) > 1 {
		out.Why += fmt.Sprintf("; of %d values the one with the fewest rows is read", len(p.Ways))
	}
	if p.Looks() {
		out.Why += "; each record in its range is looked at"
		if p.query.Most > 0 {
			out.Why += fmt.Sprintf(", at most %d", p.query.Most)
		}
	}
	return out
}

// ExplainGroups describes plans that together find groups, which the store may find by itself.
func (c *Planner) ExplainGroups(plans []*Plan, byStore bool) Explanation {
	out := c.Explain(plans[0])
	out.more = len(plans) - 1
	if byStore {
		out.forecast = forecast{parts: 1}
	}
	out.countFirst()
	if byStore {
		out.Why += "; the store groups by itself, in one request"
	} else {
		out.Why += "; the groups come in one pass"
	}
	out.Why += "; a count of groups, and their first records, take a range for each"
	if out.more > 0 {
		out.Why += fmt.Sprintf("; each of %d values is asked for by itself, one after the other", len(plans))
	}
	return out
}

// countFirst sets what a query takes that finds few records.
func (p *Explanation) countFirst() {
	of := *p
	of.forecast.limit = 0
	depth, one := of.Cost(1)
	_, two := of.Cost(2)
	p.Depth, p.Requests = depth, one
	if p.PerRecord = two > one; p.PerRecord {
		p.Requests--
	}
}
