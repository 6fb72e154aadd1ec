// Package oracle checks answers while others write. The data come in, and calls with their answers and times; the first
// answer goes out that no order of the calls explains.
package oracle

import (
	"slices"
	"strings"
	"sync"

	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
)

// Known is what is known of the records that every candidate was loaded with.
type Known struct {
	w       *workload.Workload
	tables  []*generate.Table
	written []map[string]bool  // by collection: the fields that queries write
	left    []map[string]bool  // by collection: those, and what answers have of other records
	keys    [][]uint64         // by collection and record: a hash of its key
	numbers []map[uint64]int32 // by collection and the hash of a key: the record
	unique  []bool             // by collection: a model has unique values in it

	mu   sync.Mutex
	have map[string]map[uint64][]int32 // by collection and field, and by the hash of a value: the records that have it
}

// Know returns what is known of the data of a workload.
func Know(w *workload.Workload, tables []*generate.Table) *Known {
	n := &Known{w: w, tables: tables, have: map[string]map[uint64][]int32{}}
	for _, c := range w.Collections {
		n.written, n.left = append(n.written, w.Written(c)), append(n.left, w.Unsummed(c))
		t := tables[c.At]
		keys, numbers := make([]uint64, t.Len), make(map[uint64]int32, t.Len)
		key := make([]any, len(c.Key()))
		for i := range t.Len {
			for j, f := range c.Key() {
				key[j] = t.Column(f)[i]
			}
			keys[i] = value.Hash(value.IdentityOf(key))
			numbers[keys[i]] = int32(i)
		}
		n.keys, n.numbers, n.unique = append(n.keys, keys), append(n.numbers, numbers), append(n.unique, hasUnique(w, c))
	}
	return n
}

// hasUnique reports whether a model has unique values in a collection.
func hasUnique(w *workload.Workload, c *workload.Collection) bool {
	return slices.ContainsFunc(w.Models, func(m *workload.Model) bool {
		return slices.ContainsFunc(m.Schemas[c.At].Indexes, func(x repo.Index) bool { return x.Unique })
	})
}

// having returns the records of the data that have a value, an element where the field ends in [].
func (n *Known) having(c *workload.Collection, field string, v any) []int32 {
	n.mu.Lock()
	defer n.mu.Unlock()
	name := c.Schema.Collection + " " + field
	if n.have[name] == nil {
		n.have[name] = n.invert(c, field)
	}
	return n.have[name][value.Hash(value.IdentityOf([]any{v}))]
}

// invert returns the records that have each value of a field.
func (n *Known) invert(c *workload.Collection, field string) map[uint64][]int32 {
	bare, elements := strings.CutSuffix(field, "[]")
	have := map[uint64][]int32{}
	for i, v := range n.tables[c.At].Column(bare) {
		list := []any{v}
		if elements {
			list, _ = v.([]any)
		}
		for _, x := range list {
			h := value.Hash(value.IdentityOf([]any{x}))
			if of := have[h]; len(of) == 0 || of[len(of)-1] != int32(i) {
				have[h] = append(of, int32(i))
			}
		}
	}
	return have
}

// among returns records of the data of which some satisfy the conditions, and all that do; or that all must be looked at.
func (n *Known) among(c *workload.Collection, conds []operation.Condition) (list []int32, all bool) {
	all = true
	for _, cond := range conds {
		if (cond.Way != "any_of" && cond.Way != "all_of") || len(cond.Values) != 1 {
			continue
		}
		if some := n.having(c, cond.Field, cond.Values[0]); all || len(some) < len(list) {
			list, all = some, false
		}
	}
	return list, all
}
