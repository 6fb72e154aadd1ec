package mongo

import (
	"strconv"

	"github.com/polystore/polystore/repo/driver"
)

// mostTouched is how many rows share an update: the server compares each with all.
const mostTouched = 64

// touches reports whether ops do no more with their rows than to say that they are as they were read. Such ops share one
// update, of which the server takes a third of what one for each takes.
func (w *way) touches() bool {
	return w.cond == driver.AtRev && (w.do == driver.Check || w.do == driver.Fence)
}

// touch adds some of the ops of a commit to an empty list, as one update, and returns how many. It meets the rows that
// have the Rev of their own op: to have that of another one is not enough.
func (st *statement) touch(ops []driver.Op, at []int) int {
	at = at[:min(len(at), mostTouched)]
	w := &st.w
	one := w.Open("0")
	q := w.Open("q")
	ids := w.OpenList("_id", "$in")
	for i, of := range at {
		w.Text(strconv.Itoa(i), idOf(&ops[of].Row.Key))
	}
	w.Close(ids)
	w.OpenList("$expr", "$in")
	has := w.OpenList("0")
	w.Text("0", "$_id")
	w.Text("1", "$_rev")
	w.Close(has)
	w.OpenList("1", "$literal")
	for i, of := range at {
		pair := w.OpenList(strconv.Itoa(i))
		w.Text("0", idOf(&ops[of].Row.Key))
		w.Token("1", &ops[of].Rev)
		w.Close(pair)
	}
	w.Close(q)
	st.update(&ops[at[0]])
	w.Bool("multi", true)
	w.Close(one)
	st.n = len(at)
	return st.n
}
