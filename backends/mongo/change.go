package mongo

import (
	"strconv"

	"github.com/polystore/polystore/repo/driver"
)

// A statement does one op, or several of one table that are done in the same way.
type statement struct {
	verb string // insert, update or delete
	w    writer
	all  int // where its list begins
	n    int // how many are in the list
	most int // bytes of the largest row of them
}

// listOf returns the name of what a verb is about.
func listOf(verb string) string {
	switch verb {
	case "insert":
		return "documents"
	case "update":
		return "updates"
	}
	return "deletes"
}

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

func (st *statement) begin(v *view) {
	st.w = command(st.verb, v.collection)
	st.all = st.w.open(typeArray, listOf(st.verb))
	st.n = 0
}

// Sizes that the server accepts: of a document, and of a command with all that the
// client adds to it.
const (
	mostDocument = 16 << 20
	mostCommand  = 16<<20 + 12<<10
)

// end ends the list. What is larger than the server takes is refused here, before
// anything is sent.
func (st *statement) end(v *view) error {
	st.w.close(st.all)
	if st.most > mostDocument || len(st.w) > mostCommand {
		return who.TooLarge("commit: a row of %s has %d bytes, and MongoDB takes 16 MiB", v.Name, max(st.most, len(st.w)))
	}
	return nil
}

// add adds an op to the list.
func (v *view) add(st *statement, token *driver.Token, op *driver.Op) {
	w := &st.w
	before := len(*w)
	at := w.open(typeDocument, strconv.Itoa(st.n))
	st.n++
	switch st.verb {
	case "insert":
		v.insert(w, token, op)
	case "delete":
		v.where(w, token, op)
		w.int32("limit", 1)
	default:
		v.where(w, token, op)
		v.update(w, token, op)
	}
	w.close(at)
	if op.Do == driver.Put {
		st.most = max(st.most, len(*w)-before) // with its condition: longer than a ring
	}
}

// insert appends the document of an op whose row must not be there.
func (v *view) insert(w *writer, token *driver.Token, op *driver.Op) {
	switch op.Do {
	case driver.Put:
		v.whole(w, token, &op.Row, nil)
	case driver.Fence:
		v.row(w, token, &driver.Row{Key: op.Row.Key, Dead: true, Expires: op.Row.Expires})
	default:
		v.row(w, token, &driver.Row{Key: op.Row.Key})
	}
}

// whole appends the elements of the document of a row with its ring, of which before was
// the one of the row that it replaces.
func (v *view) whole(w *writer, token *driver.Token, row *driver.Row, before []driver.Token) {
	v.row(w, token, row)
	if v.Ring == 0 {
		return
	}
	ring := w.open(typeArray, "_ring")
	w.token("0", token)
	for i := range min(len(before), v.Ring-1) {
		w.token(strconv.Itoa(i+1), &before[i])
	}
	w.close(ring)
}

// where appends the condition of an op. The ring in it makes one that is sent again
// match nothing.
func (v *view) where(w *writer, token *driver.Token, op *driver.Op) {
	at := w.open(typeDocument, "q")
	w.text("_id", idOf(&op.Row.Key))
	if op.If == driver.AtRev {
		w.token("_rev", &op.Rev)
	} else {
		ring := w.open(typeDocument, "_ring")
		w.token("$ne", token)
		w.close(ring)
	}
	if op.If == driver.Present {
		rev := w.open(typeDocument, "_rev")
		w.bool("$exists", true)
		w.close(rev)
		dead := w.open(typeDocument, "_dead")
		w.bool("$ne", true)
		w.close(dead)
	}
	if op.Do == driver.Patch {
		v.addable(w, op)
	}
	w.close(at)
}

// addable appends the condition that what a patch adds to is an int or absent.
func (v *view) addable(w *writer, op *driver.Op) {
	and, n := 0, 0
	for i := range op.Edits {
		e := &op.Edits[i]
		if e.Do != driver.Add {
			continue
		}
		if n == 0 {
			and = w.open(typeArray, "$and")
		}
		field := v.path(e)
		one := w.open(typeDocument, strconv.Itoa(n))
		n++
		or := w.open(typeArray, "$or")
		missing := w.open(typeDocument, "0")
		is := w.open(typeDocument, field)
		w.bool("$exists", false)
		w.close(is)
		w.close(missing)
		long := w.open(typeDocument, "1")
		is = w.open(typeDocument, field)
		w.text("$type", "long")
		w.close(is)
		w.close(long)
		w.close(or)
		w.close(one)
	}
	if n > 0 {
		w.close(and)
	}
}

// update appends what an op does with the row that meets its condition.
func (v *view) update(w *writer, token *driver.Token, op *driver.Op) {
	switch op.Do {
	case driver.Put:
		w.bool("upsert", op.If == driver.Any)
		if v.Ring > 0 && (op.If != driver.AtRev || len(op.Row.Ring) == 0) {
			v.carry(w, token, op)
			return
		}
		at := w.open(typeDocument, "u")
		v.whole(w, token, &op.Row, op.Row.Ring)
		w.close(at)
	case driver.Patch:
		v.patch(w, token, op)
	case driver.Fence:
		setToken(w, "_rev", token)
	default:
		setToken(w, "_check", token)
	}
}

func setToken(w *writer, name string, token *driver.Token) {
	at := w.open(typeDocument, "u")
	set := w.open(typeDocument, "$set")
	w.token(name, token)
	w.close(set)
	w.close(at)
}

// carry appends a pipeline, which alone can carry a ring that nobody has read into a new
// row. What is in $literal is never taken for an expression.
func (v *view) carry(w *writer, token *driver.Token, op *driver.Op) {
	u := w.open(typeArray, "u")
	stage := w.open(typeDocument, "0")
	with := w.open(typeDocument, "$replaceWith")
	merge := w.open(typeArray, "$mergeObjects")

	row := w.open(typeDocument, "0")
	literal := w.open(typeDocument, "$literal")
	v.row(w, token, &op.Row)
	w.close(literal)
	w.close(row)

	rest := w.open(typeDocument, "1")
	ring := w.open(typeDocument, "_ring")
	slice := w.open(typeArray, "$slice")
	first := w.open(typeDocument, "0")
	concat := w.open(typeArray, "$concatArrays")
	mine := w.open(typeArray, "0")
	w.token("0", token)
	w.close(mine)
	before := w.open(typeDocument, "1")
	ifNull := w.open(typeArray, "$ifNull")
	w.text("0", "$_ring")
	none := w.open(typeArray, "1")
	for _, at := range [...]int{none, ifNull, before, concat, first} {
		w.close(at)
	}
	w.int32("1", int32(v.Ring))
	for _, at := range [...]int{slice, ring, rest, merge, with, stage, u} {
		w.close(at)
	}
}

// patch appends the edits of an op.
func (v *view) patch(w *writer, token *driver.Token, op *driver.Op) {
	u := w.open(typeDocument, "u")
	set := w.open(typeDocument, "$set")
	w.token("_rev", token)
	v.sets(w, op)
	w.close(set)
	unset := w.open(typeDocument, "$unset")
	v.unsets(w, op)
	w.close(unset)
	inc := w.open(typeDocument, "$inc")
	for i := range op.Edits {
		if e := &op.Edits[i]; e.Do == driver.Add {
			w.int64(v.path(e), e.Value.Int())
		}
	}
	w.close(inc)
	if v.Ring > 0 {
		push := w.open(typeDocument, "$push")
		ring := w.open(typeDocument, "_ring")
		each := w.open(typeArray, "$each")
		w.token("0", token)
		w.close(each)
		w.int32("$position", 0)
		w.int32("$slice", int32(v.Ring))
		w.close(ring)
		w.close(push)
	}
	w.close(u)
}

func (v *view) sets(w *writer, op *driver.Op) {
	for i := range op.Edits {
		if e := &op.Edits[i]; e.Do == driver.Set && !e.Value.IsNone() {
			w.value(v.path(e), e.Value)
		}
	}
	if op.PatchMeta && op.Row.Expires != 0 {
		w.date("_expires", op.Row.Expires)
	}
	if op.PatchMeta && op.Row.Note != "" {
		w.text("_note", op.Row.Note)
	}
}

// unsets appends the fields that go, and the places where what is set lies if it was
// not declared when it was written, or is declared by another program.
func (v *view) unsets(w *writer, op *driver.Op) {
	for i := range op.Edits {
		e := &op.Edits[i]
		if e.Do == driver.Add {
			continue
		}
		path := v.path(e)
		if e.Do == driver.Unset || e.Value.IsNone() {
			w.text(path, "")
		}
		if other := v.otherPath(e, path); other != "" {
			w.text(other, "")
		}
	}
	if op.PatchMeta && op.Row.Expires == 0 {
		w.text("_expires", "")
	}
	if op.PatchMeta && op.Row.Note == "" {
		w.text("_note", "")
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
