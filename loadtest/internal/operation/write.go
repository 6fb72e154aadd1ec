package operation

import (
	"maps"

	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
)

// A Write is what an operation does to one record.
type Write struct {
	Collection *workload.Collection
	Key        repo.Key         // as the collection is declared
	Sets       map[string]any   // what fields are set to; nil is that the field goes
	Adds       map[string]int64 // what is added to fields
	Pushes     map[*workload.Push]any
	Whole      bool // the record has what is set, and nothing else
	Gone       bool // the record is removed
}

// Writes returns what a call does to records. A journey has a call of its own for each step.
func (k *Call) Writes() (list []Write) {
	w := Write{Collection: k.Q.Collection, Key: k.Key}
	switch k.Q.Kind {
	case "group":
		for i := range k.Parts {
			list = append(list, k.Parts[i].Writes()...)
		}
		return list
	case "insert", "put":
		w.Whole, w.Sets, w.Key = true, maps.Clone(k.Record), nil
		for _, f := range w.Collection.Key() {
			w.Key = append(w.Key, k.Record[f])
		}
	case "update", "move", "modify":
		w = k.changes()
	case "transplant":
		w.Sets = map[string]any{w.Collection.Tree.Parent: k.To}
	case "delete":
		w.Gone = true
	default:
		return nil // a renewal changes nothing that is looked at
	}
	return []Write{w}
}

// changes returns what an update does.
func (k *Call) changes() Write {
	w := Write{Collection: k.Q.Collection, Key: k.Key, Sets: map[string]any{}, Adds: map[string]int64{}, Pushes: maps.Collect(k.Pushes)}
	for i, a := range k.sets {
		w.Sets[a.Field] = k.values[i]
	}
	for _, a := range k.Q.Add {
		w.Adds[a.Field] += a.By
	}
	return w
}
