package mongo

import (
	"context"
	"errors"
	"slices"
	"strings"

	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/polystore/polystore/backends/mongo/internal/bson"
	"github.com/polystore/polystore/repo/driver"
)

// A taken is the error of a statement that would give a document values which another
// one has in a unique index.
type taken struct {
	op    int
	index string
	key   string // the values by field, as a document
}

func (t *taken) Error() string { return "the values are taken in the index " + t.index }

// takenBy returns what the answer to a statement says of a value that is taken, with the place of
// the op in it, or nil if it says something else: that the _id is there, say.
func takenBy(err error) *taken {
	e, ok := errors.AsType[mongodriver.WriteException](err)
	if !ok || len(e.WriteErrors) == 0 || e.WriteErrors[0].Code != codeDuplicateKey {
		return nil
	}
	of := e.WriteErrors[0]
	_, text, _ := strings.Cut(of.Message, " index: ")
	index, _, ok := strings.Cut(text, " dup key: ")
	if !ok || index == "_id_" {
		return nil
	}
	t := &taken{op: of.Index, index: index}
	if key := bson.Find(bson.TextOf(of.Raw), "keyValue"); key.Kind == bson.Document {
		t.key = key.Data
	}
	return t
}

// refuseTaken returns the refusal of an op whose values are taken, with the record that
// has them.
func (c *commit) refuseTaken(ctx context.Context, t *taken) (*driver.Refusal, error) {
	v := c.views[t.op]
	refusal := &driver.Refusal{Op: t.op, Native: t.index}
	if t.key == "" {
		return refusal, nil
	}
	w := command("find", v.collection)
	filter := w.Open("filter")
	w.Copy(t.key)
	w.TextIn("_id", "$ne", idOf(&c.ops[t.op].Row.Key))
	w.Close(filter)
	w.Text("hint", t.index)
	w.Int64("limit", 1)
	b, err := c.store.conn.documents(ctx, "commit: look who has a value of "+t.index, c.store.conn.acknowledged(&w))
	if err != nil {
		return nil, err
	}
	if e, ok := b.rest.Next(); ok {
		err = c.store.newReader(v, nil).row(ctx, e.Data, &refusal.Row)
	}
	return refusal, err
}

// passesOn reports whether a commit can be done after all if the rows that it changes
// first give up what they have in unique indexes: the one that has the values is one of
// them.
func (c *commit) passesOn(t *taken, owner *driver.Row) bool {
	return !c.freed && !owner.Rev.IsZero() && slices.ContainsFunc(c.ops, func(op driver.Op) bool {
		return op.Table.Name == c.ops[t.op].Table.Name && op.Row.Key == owner.Key
	})
}

// free sends a statement for each table that takes from the rows of a commit what they
// have in unique indexes and will have anew, or not at all.
func (c *commit) free(ctx context.Context) error {
	for i, v := range c.views {
		if slices.Contains(c.views[:i], v) {
			continue // it was freed with the first row of its table
		}
		st := v.statement("update", &c.token)
		for j := range c.ops {
			if c.views[j] != v {
				continue
			}
			if fields := c.givenUp(v, &c.ops[j]); len(fields) > 0 {
				st.remove(idOf(&c.ops[j].Row.Key), false, fields...)
			}
		}
		if st.n == 0 {
			continue
		}
		if _, err := c.store.conn.write(ctx, st.w.End()); err != nil {
			if codeOf(err) == codeWriteConflict || hasLabel(err, "TransientTransactionError") {
				return beaten(err)
			}
			return c.store.conn.failed(ctx, "commit", err)
		}
	}
	return nil
}

// givenUp returns the fields of unique indexes that an op writes whatever they were.
func (c *commit) givenUp(v *view, op *driver.Op) []string {
	if op.If == driver.Absent || op.Do != driver.Put && op.Do != driver.Patch {
		return nil
	}
	var fields []string
	for _, name := range c.store.uniqueFields(v.Name) {
		writes := op.Do == driver.Put || slices.ContainsFunc(op.Edits, func(e driver.Edit) bool {
			return e.Do != driver.Add && e.Field >= 0 && v.Fields[e.Field].Name == name
		})
		if writes && !slices.Contains(fields, name) {
			fields = append(fields, name)
		}
	}
	return fields
}

// uniqueFields returns the fields of the unique native indexes of a table of records.
func (s *store) uniqueFields(home string) []string {
	var fields []string
	s.frame.Each(func(t *driver.Table, v *view) {
		if v.native != nil && t.Home.Name == home {
			fields = append(fields, v.native.claims...)
		}
	})
	return fields
}
