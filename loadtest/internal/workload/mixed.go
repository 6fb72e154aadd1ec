package workload

import "github.com/polystore/polystore/loadtest/internal/document"

// checkMixed reports collections that a model keeps in two ways at once, of which one would not know the other.
func (w *Workload) checkMixed(d *document.File, at document.Place, mo *Model) {
	for i, c := range w.Collections {
		if text := w.mixed(mo, i); text != "" {
			d.FaultIn(at, "model %s: %s %s; let two models have one of them each", mo.Name, c.Schema.Collection, text)
		}
	}
	for _, q := range w.Queries {
		for _, of := range q.Children {
			if mo.Series[q.Collection.At] != nil || mo.Series[of.Collection.At] != nil {
				d.FaultIn(at, "model %s keeps series, and query %s reads records with their children; leave out the series of the model", mo.Name, q.Name)
			}
		}
	}
}

// mixed says in which two ways a model keeps a collection, "" if it is one.
func (w *Workload) mixed(mo *Model, i int) string {
	copied := func(i int) bool { return len(mo.Copies[i]) > 0 || mo.IsCopied(w.Collections[i]) }
	host := mo.Hosts[i]
	switch {
	case mo.Series[i] != nil && host != nil:
		return "are series, and embedded in " + host.Schema.Collection
	case mo.Series[i] != nil && copied(i):
		return "are series, and have copies or are copied"
	case host == nil:
	case mo.Series[host.At] != nil:
		return "are embedded in " + host.Schema.Collection + ", which are series"
	case copied(i):
		return "are embedded, and have copies or are copied"
	case copied(host.At):
		return "are embedded in " + host.Schema.Collection + ", which have copies or are copied"
	}
	return ""
}
