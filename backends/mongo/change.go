package mongo

import (
	"strconv"

	"github.com/polystore/polystore/backends/mongo/internal/bson"
	"github.com/polystore/polystore/repo/driver"
)

// A statement does one op, or several of one table that are done in the same way.
type statement struct {
	v     *view
	token *driver.Token // of the commit
	verb  string        // insert, update or delete
	w     bson.Writer
	n     int // how many are in the list
	most  int // bytes of the largest row of them
}

// listOf has the names of what verbs are about.
var listOf = map[string]string{"insert": "documents", "update": "updates", "delete": "deletes"}

// verbOf returns the verb of the statement for an op.
func verbOf(op *driver.Op) string {
	switch {
	case op.If == driver.Absent:
		return "insert" // of one to be checked, too: it comes and goes
	case op.Do == driver.Delete:
		return "delete"
	}
	return "update"
}

// statement begins one of a verb, for a commit.
func (v *view) statement(verb string, token *driver.Token) statement {
	st := statement{v: v, token: token, verb: verb, w: command(verb, v.collection)}
	st.w.OpenList(listOf[verb])
	return st
}

// Sizes that the server accepts: of a document, and of a command with all that the
// client adds to it.
const (
	mostDocument = 16 << 20
	mostCommand  = 16<<20 + 12<<10
)

// end ends the list. What is larger than the server takes is refused here, before
// anything is sent.
func (st *statement) end() error {
	st.w.CloseAll()
	if size := st.w.Len(); st.most > mostDocument || size > mostCommand {
		return who.TooLarge("commit: a row of %s has %d bytes, and MongoDB takes 16 MiB", st.v.Name, max(st.most, size))
	}
	return nil
}

// add adds an op to the list.
func (st *statement) add(op *driver.Op) {
	w := &st.w
	before := w.Len()
	at := w.Open(strconv.Itoa(st.n))
	st.n++
	switch st.verb {
	case "insert":
		st.insert(op)
	case "delete":
		st.where(op)
		w.Int32("limit", 1)
	default:
		st.where(op)
		st.update(op)
	}
	w.Close(at)
	if op.Do == driver.Put {
		st.most = max(st.most, w.Len()-before) // with its condition: longer than a ring
	}
}

// remove adds to the list an update that removes fields of a row, or one field if it is null.
func (st *statement) remove(id string, ifNull bool, fields ...string) {
	w := &st.w
	at := w.Open(strconv.Itoa(st.n))
	st.n++
	q := w.Open("q")
	w.Text("_id", id)
	if ifNull {
		w.TextIn(fields[0], "$type", "null")
	}
	w.Close(q)
	w.Open("u", "$unset")
	for _, f := range fields {
		w.Text(f, "")
	}
	w.Close(at)
}

// insert appends the document of an op whose row must not be there.
func (st *statement) insert(op *driver.Op) {
	w, v := &st.w, st.v
	switch op.Do {
	case driver.Put:
		st.whole(&op.Row, nil)
	case driver.Fence:
		v.row(w, st.token, &driver.Row{Key: op.Row.Key, Dead: true, Expires: op.Row.Expires})
	default:
		v.row(w, st.token, &driver.Row{Key: op.Row.Key})
	}
}

// whole appends the elements of the document of a row with its ring, of which before was
// the one of the row that it replaces.
func (st *statement) whole(row *driver.Row, before []driver.Token) {
	w, v := &st.w, st.v
	v.row(w, st.token, row)
	if v.Ring == 0 {
		return
	}
	ring := w.OpenList("_ring")
	w.Token("0", st.token)
	for i := range min(len(before), v.Ring-1) {
		w.Token(strconv.Itoa(i+1), &before[i])
	}
	w.Close(ring)
}

// where appends the condition of an op. The ring in it makes one that is sent again
// match nothing.
func (st *statement) where(op *driver.Op) {
	w := &st.w
	at := w.Open("q")
	w.Text("_id", idOf(&op.Row.Key))
	if op.If == driver.AtRev {
		w.Token("_rev", &op.Rev)
	} else {
		ring := w.Open("_ring")
		w.Token("$ne", st.token)
		w.Close(ring)
	}
	if op.If == driver.Present {
		w.BoolIn("_rev", "$exists", true)
		w.BoolIn("_dead", "$ne", true)
	}
	if op.Do == driver.Patch {
		st.addable(op)
	}
	w.Close(at)
}

// addable appends the condition that what a patch adds to is an int or absent.
func (st *statement) addable(op *driver.Op) {
	w, v := &st.w, st.v
	and, n := 0, 0
	for i := range op.Edits {
		e := &op.Edits[i]
		if e.Do != driver.Add {
			continue
		}
		if n == 0 {
			and = w.OpenList("$and")
		}
		field := v.path(e)
		one := w.OpenList(strconv.Itoa(n), "$or")
		n++
		missing := w.Open("0", field)
		w.Bool("$exists", false)
		w.Close(missing)
		w.Open("1", field)
		w.Text("$type", "long")
		w.Close(one)
	}
	if n > 0 {
		w.Close(and)
	}
}

// update appends what an op does with the row that meets its condition.
func (st *statement) update(op *driver.Op) {
	w, v := &st.w, st.v
	switch op.Do {
	case driver.Put:
		w.Bool("upsert", op.If == driver.Any)
		if v.Ring > 0 && (op.If != driver.AtRev || len(op.Row.Ring) == 0) {
			st.carry(op)
			return
		}
		at := w.Open("u")
		st.whole(&op.Row, op.Row.Ring)
		w.Close(at)
	case driver.Patch:
		st.patch(op)
	default:
		name := "_check"
		if op.Do == driver.Fence {
			name = "_rev"
		}
		at := w.Open("u", "$set")
		w.Token(name, st.token)
		w.Close(at)
	}
}

// carry appends a pipeline, which alone can carry a ring that nobody has read into a new
// row. What is in $literal is never taken for an expression.
func (st *statement) carry(op *driver.Op) {
	w, v := &st.w, st.v
	u := w.OpenList("u")
	w.OpenList("0", "$replaceWith", "$mergeObjects")

	row := w.Open("0", "$literal")
	v.row(w, st.token, &op.Row)
	w.Close(row)

	w.OpenList("1", "_ring", "$slice")
	ring := w.OpenList("0", "$concatArrays")
	mine := w.OpenList("0")
	w.Token("0", st.token)
	w.Close(mine)
	w.OpenList("1", "$ifNull")
	w.Text("0", "$_ring")
	w.OpenList("1") // which is empty
	w.Close(ring)
	w.Int32("1", int32(v.Ring))
	w.Close(u)
}

// patch appends the edits of an op.
func (st *statement) patch(op *driver.Op) {
	w, v := &st.w, st.v
	u := w.Open("u")
	set := w.Open("$set")
	w.Token("_rev", st.token)
	st.sets(op)
	w.Close(set)
	unset := w.Open("$unset")
	st.unsets(op)
	w.Close(unset)
	inc := w.Open("$inc")
	for i := range op.Edits {
		if e := &op.Edits[i]; e.Do == driver.Add {
			w.Int64(v.path(e), e.Value.Int())
		}
	}
	w.Close(inc)
	if v.Ring > 0 {
		w.Open("$push", "_ring")
		each := w.OpenList("$each")
		w.Token("0", st.token)
		w.Close(each)
		w.Int32("$position", 0)
		w.Int32("$slice", int32(v.Ring))
	}
	w.Close(u)
}

func (st *statement) sets(op *driver.Op) {
	w, v := &st.w, st.v
	for i := range op.Edits {
		if e := &op.Edits[i]; e.Do == driver.Set && !e.Value.IsNone() {
			w.Value(v.path(e), e.Value)
		}
	}
	if op.PatchMeta && op.Row.Expires != 0 {
		w.Date("_expires", op.Row.Expires)
	}
	if op.PatchMeta && op.Row.Meta != "" {
		w.Text("_note", op.Row.Meta)
	}
}

// unsets appends the fields that go, and the places where what is set lies if it was
// not declared when it was written, or is declared by another program.
func (st *statement) unsets(op *driver.Op) {
	w, v := &st.w, st.v
	for i := range op.Edits {
		e := &op.Edits[i]
		if e.Do == driver.Add {
			continue
		}
		path := v.path(e)
		if e.Do == driver.Unset || e.Value.IsNone() {
			w.Text(path, "")
		}
		if other := v.otherPath(e, path); other != "" {
			w.Text(other, "")
		}
	}
	if op.PatchMeta && op.Row.Expires == 0 {
		w.Text("_expires", "")
	}
	if op.PatchMeta && op.Row.Meta == "" {
		w.Text("_note", "")
	}
}

// path returns where an edit writes.
func (v *view) path(e *driver.Edit) string {
	if e.Field >= 0 {
		return v.Fields[e.Field].Name
	}
	if k, ok := v.Others.Of(e.Name); ok && k.Kind == e.Value.Kind() {
		return e.Name
	}
	return "_extra." + escape(e.Name)
}

// otherPath returns where else the field of an edit can lie, or "".
func (v *view) otherPath(e *driver.Edit, path string) string {
	if e.Field >= 0 {
		if v.Late[e.Field] {
			return v.extra[e.Field]
		}
		return ""
	}
	if _, ok := v.Others.Of(e.Name); !ok {
		return ""
	}
	if path == e.Name {
		return "_extra." + escape(e.Name)
	}
	return e.Name
}
