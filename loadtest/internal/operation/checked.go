package operation

import (
	"math/rand/v2"

	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/value"
)

// checkKeys lets the answers to more reads by key be checked: so many that are drawn, and those of a record that one of
// the last few operations writes.
func checkKeys(calls []Call, r *rand.Rand, few int) {
	type record struct {
		collection int
		key        string
	}
	written := map[record]int{} // by what operation
	var list []*Call
	for i := range calls {
		for part := range calls[i].parts {
			for _, w := range part.Writes() {
				written[record{w.Collection.At, value.IdentityOf(w.Key)}] = i
			}
			if part.Q.Kind != "get" && part.Q.Kind != "exists" {
				continue
			}
			at, ok := written[record{part.Q.Collection.At, value.IdentityOf(part.Key)}]
			if list = append(list, part); ok && i-at <= few {
				part.Checked = true
			}
		}
	}
	for _, k := range list {
		k.Checked = k.Checked || r.IntN(len(list)) < limit.CheckedKeys
	}
}

// parts yields a call, or the steps of a journey.
func (k *Call) parts(yield func(*Call) bool) {
	if k.Q.Kind != "journey" {
		yield(k)
		return
	}
	for i := range k.Parts {
		if !yield(&k.Parts[i]) {
			return
		}
	}
}
