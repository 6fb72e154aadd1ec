package repo

// explain describes a plan.
func (c *collection) explain(p *plan) Plan {
	out := Plan{Collection: c.name, Reverse: p.reverse, Covered: p.covered, Buckets: len(p.parts),
		Deletes: c.store.facts.Deletes, forecast: c.forecast(p)}
	out.countFirst()
	switch {
	case p.x == nil:
		out.Why = "the key itself has the order"
	case p.x.native:
		out.Index, out.Why = p.x.name, "the store's own index gives the records themselves"
		if c.store.facts.NativeNear != nil {
			out.Why += ", " + c.store.facts.Native.Reason
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
func (p *Plan) countFirst() {
	of := *p
	of.forecast.limit = 0
	depth, one := of.Cost(1)
	_, two := of.Cost(2)
	p.Depth, p.Requests = depth, one
	if p.PerRecord = two > one; p.PerRecord {
		p.Requests--
	}
}
