package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/candidate"
	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/value"
)

// differ says how two replies to one call differ, "" when they are the same
// answer. Records that are equal in all fields of the order may come in any order
// among each other and, where a limit cuts them off, be others.
func differ(k *operation.Call, a, b candidate.Reply) string {
	switch {
	case a.Outcome != b.Outcome:
		return fmt.Sprintf("one ends with %q, the other with %q", ending(a), ending(b))
	case a.N != b.N:
		return fmt.Sprintf("one finds %s, the other %d", format.Plural(a.N, "record"), b.N) + onlyIn(k, a, b)
	case len(a.Records) == 0:
		return ""
	case k.Q.InOrder():
		return firstOther(k, a, b)
	}
	if text := differInOrder(k, a, b); text != "" {
		return text
	}
	return differBelow(k, a, b)
}

// differInOrder says how the records of two replies differ, whose order has ties.
func differInOrder(k *operation.Call, a, b candidate.Reply) string {
	limit := k.Limit * max(k.Q.Pages, 1)
	cut := limit > 0 && a.N >= limit
	from := 0
	for from < len(a.Records) {
		to := tieEnd(k.Q.Order, a.Records, from)
		if other := tieEnd(k.Q.Order, b.Records, from); other != to || orderKey(k.Q.Order, a.Records[from]) != orderKey(k.Q.Order, b.Records[from]) {
			return fmt.Sprintf("they differ in order from record %d on", from+1) + onlyIn(k, a, b)
		}
		last := to == len(a.Records)
		if !(last && cut) && !sameSet(a.Records[from:to], b.Records[from:to]) {
			return fmt.Sprintf("they differ in records %d to %d", from+1, to) + onlyIn(k, a, b)
		}
		from = to
	}
	return ""
}

// differBelow says how the children of the records of two replies differ. Of records with ties each may have others.
func differBelow(k *operation.Call, a, b candidate.Reply) string {
	n := len(k.Q.Children)
	at := map[string]int{}
	for i, rec := range b.Records {
		at[value.Identity(rec, k.Q.Collection.Key())] = i
	}
	for i, rec := range a.Records {
		other, both := at[value.Identity(rec, k.Q.Collection.Key())]
		if !both {
			continue
		}
		for j, own := range k.Children(rec) {
			x, y := a.Children[i*n+j], b.Children[other*n+j]
			text := differ(&own, candidate.Reply{Answer: operation.Answer{N: len(x), Records: x}}, candidate.Reply{Answer: operation.Answer{N: len(y), Records: y}})
			if text != "" {
				return fmt.Sprintf("%s of %s: %s", own.Q.Collection.Schema.Collection, value.Key(rec, k.Q.Collection.Key()), text)
			}
		}
	}
	return ""
}

// firstOther says where two replies that have the one order differ.
func firstOther(k *operation.Call, a, b candidate.Reply) string {
	for i := range a.Records {
		if value.Canonical(a.Records[i]) != value.Canonical(b.Records[i]) {
			what := "node"
			if k.Q.At != "" {
				what = "record"
			}
			return fmt.Sprintf("they differ from %s %d on: %s and %s", what, i+1, value.Key(a.Records[i], k.Q.Collection.Key()), value.Key(b.Records[i], k.Q.Collection.Key())) + onlyIn(k, a, b)
		}
	}
	return ""
}

func ending(r candidate.Reply) string {
	if r.Outcome == operation.Failed {
		return r.Err.Error()
	}
	return r.Outcome.String()
}

// tieEnd returns the end of the run of records from on that are equal in the
// order's fields.
func tieEnd(order []string, records []map[string]any, from int) int {
	key := orderKey(order, records[from])
	to := from + 1
	for to < len(records) && orderKey(order, records[to]) == key {
		to++
	}
	return to
}

func orderKey(order []string, rec map[string]any) string {
	var b strings.Builder
	for _, f := range order {
		value.AppendCanonical(&b, rec[strings.TrimPrefix(f, "-")])
		b.WriteByte(0)
	}
	return b.String()
}

func sameSet(a, b []map[string]any) bool {
	return slices.Equal(canonicals(a), canonicals(b))
}

func canonicals(list []map[string]any) []string {
	out := make([]string, len(list))
	for i, rec := range list {
		out[i] = value.Canonical(rec)
	}
	slices.Sort(out)
	return out
}

// onlyIn names a record that one reply has and the other has not, or not so.
func onlyIn(k *operation.Call, a, b candidate.Reply) string {
	names := k.Q.Collection.Key()
	if k.Q.Kind == "groups" {
		names = k.Q.By
	}
	for i, pair := range [][2][]map[string]any{{a.Records, b.Records}, {b.Records, a.Records}} {
		have := map[string]bool{}
		for _, rec := range pair[1] {
			have[value.Canonical(rec)] = true
		}
		for _, rec := range pair[0] {
			if !have[value.Canonical(rec)] {
				return fmt.Sprintf("; only the %s has %s", [...]string{"first", "second"}[i], value.Key(rec, names))
			}
		}
	}
	return ""
}
