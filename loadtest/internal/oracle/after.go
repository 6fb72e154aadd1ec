package oracle

import (
	"fmt"
	"iter"
	"time"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// After checks all records of a collection, at a time when no call is under way: each is as it was loaded or written, and
// none is missing. Of is the name of the candidate. A node of a tree has the parent that it was given last. Joins are what the
// records have of others.
func (o *Oracle) After(of string, c *workload.Collection, joins []workload.Join, records iter.Seq2[map[string]any, error]) error {
	if o == nil {
		return nil
	}
	now := int64(time.Since(o.began))
	e := &event{k: &operation.Call{Q: &workload.Query{Collection: c, Joins: joins}}, begin: now, end: now + 1}
	wrong := func(text string) error {
		return &failure.WrongAnswers{Text: fmt.Sprintf("after the rounds: %s: %s", of, text)}
	}
	seen := make(map[uint64]bool, o.known.tables[c.At].Len)
	for rec, err := range records {
		if err != nil {
			return err
		}
		seen[value.Hash(value.IdentityOf(keyOf(c, rec)))] = true
		if text := o.wrongRecord(e, rec); text != "" {
			return wrong(text)
		}
	}
	if text := o.gone(e, seen); text != "" {
		return wrong(text)
	}
	return nil
}

// gone names a record that must be there and was not seen. Seen has the hashes of keys.
func (o *Oracle) gone(e *event, seen map[uint64]bool) string {
	c := e.k.Q.Collection
	const text = "%s is missing; it was acknowledged, and nothing has removed it"
	for number, h := range o.known.keys[c.At] {
		if !seen[h] && !o.may(c, o.of[c.At].records[h], int32(number), "", false, e) {
			key := map[string]any{}
			for _, f := range c.Key() {
				key[f] = o.known.tables[c.At].Column(f)[number]
			}
			return fmt.Sprintf(text, value.Key(key, c.Key()))
		}
	}
	for h, rec := range o.of[c.At].records {
		if rec.number < 0 && !seen[h] && !o.may(c, rec, -1, "", false, e) {
			return fmt.Sprintf(text, value.Key(rec.made, c.Key()))
		}
	}
	return ""
}
