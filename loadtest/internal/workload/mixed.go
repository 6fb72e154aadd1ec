package workload

// mixtures reports collections that a model keeps in two ways at once, of which one would not know the other.
func (r modelChecker) mixtures() {
	for i, c := range r.w.Collections {
		if text := r.mixed(i); text != "" {
			r.d.FaultIn(r.mo.place, "model %s: %s %s; let two models have one of them each", r.mo.Name, c.Schema.Collection, text)
		}
	}
	for _, q := range r.w.Queries {
		for _, of := range q.Children {
			if r.mo.Series[q.Collection.At] != nil || r.mo.Series[of.Collection.At] != nil {
				r.d.FaultIn(r.mo.place, "model %s keeps series, and query %s reads records with their children; leave out the series of the model", r.mo.Name, q.Name)
			}
		}
	}
}

// mixed says in which two ways a model keeps a collection, "" if it is one.
func (r modelChecker) mixed(i int) string {
	copied := func(i int) bool { return len(r.mo.Copies[i]) > 0 || r.mo.IsCopied(r.w.Collections[i]) }
	host := r.mo.Hosts[i]
	switch {
	case r.mo.Series[i] != nil && host != nil:
		return "are series, and embedded in " + host.Schema.Collection
	case r.mo.Series[i] != nil && copied(i):
		return "are series, and have copies or are copied"
	case host == nil:
	case r.mo.Series[host.At] != nil:
		return "are embedded in " + host.Schema.Collection + ", which are series"
	case copied(i):
		return "are embedded, and have copies or are copied"
	case copied(host.At):
		return "are embedded in " + host.Schema.Collection + ", which have copies or are copied"
	}
	return ""
}
