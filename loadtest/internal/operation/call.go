package operation

import (
	"fmt"

	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
)

// Effect returns how an operation ended, if it did nothing: it found no record, or moved none.
func (k *Call) Effect(a Answer, o Outcome) Outcome {
	switch {
	case o == Done && k.still:
		return still
	case o == Done && a.N == 0 && !k.Q.Writes():
		return empty
	}
	return o
}

// A Call is one operation with its parameters: everything but where it is sent.
type Call struct {
	Q      *workload.Query
	At     int        // index of q
	Key    repo.Key   // as the collection is declared
	Keys   []repo.Key // of each of the collection's Keys, where there are several
	Find   repo.Query
	Limit  int            // of what it finds
	Center string         // of near: the place
	Where  map[string]any // of near
	Edits  []repo.Edit
	Record map[string]any
	Parts  []Call         // the changes of a group, the steps of a journey
	To     string         // the node below which another one is transplanted
	Parent map[string]any // the key of the drawn record, where its children are read, too

	Checked bool        // what it answers is checked
	Conds   []Condition // of what it finds, where it is checked, of series, or a model embeds what it finds

	from   int                   // number of the record of the data that it is for
	sets   []workload.Assignment // what it sets
	values []any                 // to what
	pushed []any                 // what it pushes, as its query says; nil is nothing
	choice int                   // which of the found records a step takes
	still  bool                  // it is a move that moves nothing: see follow
}

// Change makes the changes of an update in the fields of a record.
func (k *Call) Change(fields map[string]any) {
	for i, a := range k.sets {
		if fields[a.Field] = k.values[i]; k.values[i] == nil {
			delete(fields, a.Field)
		}
	}
	for _, a := range k.Q.Add {
		old, _ := fields[a.Field].(int64) // what is absent counts as 0
		fields[a.Field] = old + a.By
	}
	for p, v := range k.Pushes {
		old, _ := fields[p.Field].([]any)
		fields[p.Field] = p.Into(old, v)
	}
}

// Take returns a step for one of the records that the step before it found.
func (k *Call) Take(found []map[string]any) Call {
	own, rec, c := *k, found[k.choice%len(found)], k.Q.Collection
	keys := make([]repo.Key, len(c.Keys))
	for i, names := range c.Keys {
		for _, f := range names {
			keys[i] = append(keys[i], rec[f])
		}
	}
	if own.Key = keys[0]; len(keys) > 1 {
		own.Keys = keys
	}
	if own.Parent != nil {
		own.Parent = rec
	}
	return own
}

// Children returns the calls that find the children of a record, one for each of the query's.
func (k *Call) Children(parent map[string]any) []Call {
	list := make([]Call, len(k.Q.Children))
	for i, q := range k.Q.Children {
		own := Call{Q: q, At: k.At, Limit: q.Limit, Checked: k.Checked}
		for _, c := range q.Where {
			v := c.Literal
			if c.From != "" {
				v = parent[c.From]
			}
			own.Find = own.Find.Where(c.Field, v)
			own.condition("any_of", c.Field, v)
		}
		own.Find = own.Find.Order(q.Order...).Limit(q.Limit)
		list[i] = own
	}
	return list
}

// KeyIn returns the key of the record in a model.
func (k *Call) KeyIn(m *workload.Model) repo.Key {
	if k.Keys == nil {
		return k.Key
	}
	return k.Keys[m.KeyAt[k.Q.Collection.At]]
}

// String returns the call for people.
func (k *Call) String() string {
	switch {
	case k.Record != nil:
		return fmt.Sprintf("%s (%s %s)", k.Q.Name, k.Q.Kind, value.Key(k.Record, k.Q.Collection.Key()))
	case k.Q.Kind == "journey":
		return fmt.Sprintf("%s (journey of %d steps, the first %s)", k.Q.Name, len(k.Parts), &k.Parts[0])
	case k.Parts != nil:
		return fmt.Sprintf("%s (group of %d, the first %s)", k.Q.Name, len(k.Parts), k.Key)
	case k.Q.Kind == "transplant":
		return fmt.Sprintf("%s (transplant %s below %q)", k.Q.Name, k.Key, k.To)
	case k.Key != nil:
		return fmt.Sprintf("%s (%s %s)", k.Q.Name, k.Q.Kind, k.Key)
	}
	return fmt.Sprintf("%s (%s %s)", k.Q.Name, k.Q.Kind, k.Find)
}
