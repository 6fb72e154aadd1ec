package data

// A forester checks that the records of a collection are nodes of trees: those of a tree together,
// parents before their children.
type forester struct {
	s     *surveyor
	begun map[string]int   // by tree: the line of its first node
	tree  string           // that is read
	at    map[string]int32 // by ID, the records of its nodes
	first int32            // of these
	lines []int            // of these
	early []early          // of these, those that have an unknown parent
}

// An early node came before its parent, if that comes at all.
type early struct {
	row    Row
	record int32
	parent string
}

// add takes a record.
func (f *forester) add(r Row) {
	t, of := f.s.t, f.s.c.Tree
	if name := r.text(of.Of); f.at == nil || name != f.tree {
		f.begin(r, name)
	}
	id := r.text(of.ID)
	if id == "" {
		f.s.fault(r, "its %s is empty, and a node must have one", of.ID)
	}
	record, parent := int32(len(t.Parents)), int32(-1)
	if name := r.text(of.Parent); name != "" {
		var known bool
		if parent, known = f.at[name]; !known {
			parent = -1
			f.early = append(f.early, early{r, record, name})
		}
	}
	f.at[id], f.lines = record, append(f.lines, r.Line)
	t.Parents, t.Below, t.First = append(t.Parents, parent), append(t.Below, 0), append(t.First, f.first)
}

// begin ends the tree that was read, and begins the one of a row.
func (f *forester) begin(r Row, name string) {
	f.end()
	if line, again := f.begun[name]; again {
		f.s.fault(r, "tree %q began in %s %d, and others came between; keep the nodes of a tree together", name, f.s.rowWord(), line)
	}
	f.begun[name], f.tree, f.at = r.Line, name, map[string]int32{}
	f.first, f.lines = int32(len(f.s.t.Parents)), nil
}

// end says what is wrong with the parents in the tree that was read, and counts what is below each node.
func (f *forester) end() {
	t := f.s.t
	for _, e := range f.early {
		if parent, known := f.at[e.parent]; known {
			t.Parents[e.record] = parent
		}
	}
	for _, e := range f.early {
		f.tell(e)
	}
	for i := int32(len(t.Parents)) - 1; i >= f.first && f.early == nil; i-- {
		if p := t.Parents[i]; p >= 0 {
			t.Below[p] += t.Below[i] + 1
		}
	}
	f.early = nil
}

// tell says what is wrong with a node that came before its parent.
func (f *forester) tell(e early) {
	t, of := f.s.t, f.s.c.Tree
	parent := t.Parents[e.record]
	if parent < 0 {
		f.s.fault(e.row, "its %s %q is the %s of no record; a root has none", of.Parent, e.parent, of.ID)
		return
	}
	for up, n := parent, 0; up >= 0 && n < len(f.lines); up, n = t.Parents[up], n+1 {
		if up == e.record {
			f.s.fault(e.row, "it lies below itself: %q is its %s, or that of one above it, and so on", e.parent, of.Parent)
			return
		}
	}
	f.s.fault(e.row, "its %s %q comes later, in %s %d; write parents before their children", of.Parent, e.parent, f.s.rowWord(), f.lines[parent-f.first])
}
