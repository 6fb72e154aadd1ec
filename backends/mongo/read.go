package mongo

import (
	"context"
	"slices"

	"github.com/polystore/polystore/backends/mongo/internal/bson"
	"github.com/polystore/polystore/repo/driver"
)

// getBytes is how many bytes of keys one command asks for at most.
const getBytes = 4 << 20

// Get reads the rows under keys into rows, by one command for all of them.
func (s *store) Get(ctx context.Context, v *view, keys []driver.Key, mask []int, rows []driver.Row) error {
	r := s.newReader(v, mask)
	for i := range keys {
		rows[i].Reset()
		rows[i].Key = driver.Key{Partition: keys[i].Partition, Sort: keys[i].Sort}
	}
	if len(keys) == 1 {
		_, err := r.some(ctx, []string{idOf(&keys[0])}, func(string) []int { return only }, rows)
		return err
	}
	ids, wanted := make([]string, 0, len(keys)), make(map[string][]int, len(keys)) // places of keys
	for i := range keys {
		id := idOf(&keys[i])
		if wanted[id] == nil {
			ids = append(ids, id)
		}
		wanted[id] = append(wanted[id], i)
	}
	take := func(id string) []int {
		places := wanted[id]
		delete(wanted, id)
		return places
	}
	for len(ids) > 0 {
		some := beginning(ids)
		more, err := r.some(ctx, some, take, rows)
		if err != nil {
			return err
		}
		if more { // the answer had no room: those that came are no longer wanted
			ids = slices.DeleteFunc(ids, func(id string) bool { return wanted[id] == nil })
		} else {
			ids = ids[len(some):]
		}
	}
	return nil
}

var only = []int{0}

// beginning returns the ids that one command asks for.
func beginning(ids []string) []string {
	size := 0
	for i, id := range ids {
		if size += len(id) + 16; size > getBytes && i > 0 {
			return ids[:i]
		}
	}
	return ids
}

// some reads the documents of some ids to their places in rows, and reports whether
// there may be others.
func (r *reader) some(ctx context.Context, ids []string, take func(id string) []int, rows []driver.Row) (more bool, err error) {
	v, conn, doing := r.v, r.store.conn, "get a row of "+r.v.Name
	w := command("find", v.collection)
	if len(ids) > 1 {
		among(&w, "_id", ids)
	} else {
		w.TextIn("filter", "_id", ids[0]) // an equality, which the server answers without planning
	}
	v.projection(&w, r.sh.Mask)
	if len(ids) > defaultBatch {
		w.Int32("batchSize", int32(len(ids)+1))
	}
	b, err := conn.documents(ctx, doing, conn.acknowledged(&w))
	if err != nil {
		return false, err
	}
	for e, ok := b.rest.Next(); ok; e, ok = b.rest.Next() {
		places := take(idIn(e.Data))
		if len(places) == 0 {
			return false, who.Corrupt("%s: %s: the answer has a document that nobody asked for", doing, conn.addr)
		}
		for _, i := range places {
			key := rows[i].Key
			if err := r.row(ctx, e.Data, &rows[i]); err != nil {
				return false, err
			}
			rows[i].Key = key
		}
	}
	return b.more, nil
}

// defaultBatch is how many documents an answer has room for if nothing is said.
const defaultBatch = 100

// idIn returns the _id of a document: its first element, unless the answer is made from an index alone.
func idIn(document string) string {
	e := bson.Find(document, "_id")
	if e.Kind != bson.String {
		return ""
	}
	return e.Data
}

// projection appends what is to be read of documents.
func (v *view) projection(w *bson.Writer, mask []int) {
	at := w.Open("projection")
	if mask != nil {
		for _, name := range [...]string{"_rev", "_ring", "_dead", "_expires", "_note"} {
			w.Int32(name, 1)
		}
	}
	for i, ordinal := range mask {
		if slices.Contains(mask[:i], ordinal) {
			continue
		}
		w.Int32(v.Fields[ordinal].Name, 1)
		if v.Late[ordinal] {
			w.Int32(v.extra[ordinal], 1)
		}
	}
	w.Close(at)
}
