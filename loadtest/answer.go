package loadtest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/repo"
)

// appendCanonical appends text that two values share if and only if they are the
// same.
func appendCanonical(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteByte('-')
	case string:
		b.WriteString(strconv.Quote(v))
	case []byte:
		fmt.Fprintf(b, "x%x", v)
	case time.Time:
		b.WriteString("t" + strconv.FormatInt(v.UnixMilli(), 10))
	case float64:
		b.WriteString("f" + strconv.FormatFloat(v, 'g', -1, 64))
	case []any:
		b.WriteByte('[')
		for _, x := range v {
			appendCanonical(b, x)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for _, k := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(strconv.Quote(k) + ":")
			appendCanonical(b, v[k])
			b.WriteByte(',')
		}
		b.WriteByte('}')
	default:
		fmt.Fprintf(b, "%T %v", v, v)
	}
}

// canonical returns a record as text, without its version, which differs between
// models.
func canonical(rec map[string]any) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(rec)) {
		if k != "_version" {
			b.WriteString(strconv.Quote(k) + ":")
			appendCanonical(&b, rec[k])
			b.WriteByte(',')
		}
	}
	return b.String()
}

// A reply is an answer with the way it ended.
type reply struct {
	answer
	outcome outcome
	err     error
}

// differ says how two replies to one call differ, "" when they are the same
// answer. Records that are equal in all fields of the order may come in any order
// among each other and, where a limit cuts them off, be others.
func differ(k *call, a, b reply) string {
	switch {
	case a.outcome != b.outcome:
		return fmt.Sprintf("one ends with %q, the other with %q", ending(a), ending(b))
	case a.n != b.n:
		return fmt.Sprintf("one finds %s, the other %d", format.Plural(a.n, "record"), b.n) + onlyIn(k, a, b)
	case len(a.records) == 0:
		return ""
	}
	limit := k.q.limit * max(k.q.pages, 1)
	cut := limit > 0 && a.n >= limit
	from := 0
	for from < len(a.records) {
		to := tieEnd(k.q.order, a.records, from)
		if other := tieEnd(k.q.order, b.records, from); other != to || orderKey(k.q.order, a.records[from]) != orderKey(k.q.order, b.records[from]) {
			return fmt.Sprintf("they differ in order from record %d on", from+1) + onlyIn(k, a, b)
		}
		last := to == len(a.records)
		if !(last && cut) && !sameSet(a.records[from:to], b.records[from:to]) {
			return fmt.Sprintf("they differ in records %d to %d", from+1, to) + onlyIn(k, a, b)
		}
		from = to
	}
	return ""
}

func ending(r reply) string {
	if r.outcome == failed {
		return r.err.Error()
	}
	return r.outcome.String()
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
		appendCanonical(&b, rec[strings.TrimPrefix(f, "-")])
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
		out[i] = canonical(rec)
	}
	slices.Sort(out)
	return out
}

// onlyIn names a record that one reply has and the other has not, or not so.
func onlyIn(k *call, a, b reply) string {
	for i, pair := range [][2][]map[string]any{{a.records, b.records}, {b.records, a.records}} {
		have := map[string]bool{}
		for _, rec := range pair[1] {
			have[canonical(rec)] = true
		}
		for _, rec := range pair[0] {
			if !have[canonical(rec)] {
				return fmt.Sprintf("; only the %s has %s", [...]string{"first", "second"}[i], showKey(rec, k.q.collection.key()))
			}
		}
	}
	return ""
}

// A contents sums up all records of a collection, whatever their order.
type contents struct {
	n   int
	sum uint64
}

func contentsOf(ctx context.Context, r *repo.Repo[map[string]any]) (contents, error) {
	var c contents
	for chunk, err := range r.Walk(ctx, "") {
		if err != nil {
			return c, err
		}
		for _, rec := range chunk.Items {
			h := sha256.Sum256([]byte(canonical(rec)))
			c.n++
			c.sum += binary.LittleEndian.Uint64(h[:8])
		}
	}
	return c, nil
}
