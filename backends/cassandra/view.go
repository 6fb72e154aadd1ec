package cassandra

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A view is a table as one driver.Table sees it, whose ordinals are its own.
type view struct {
	*frame.Table
	physical string  // where its rows lie
	prefix   string  // of the columns of its fields
	table    string  // the same, quoted
	head     string  // what _sort begins with
	native   *native // the index of this table by which it is read
	escaped  bool    // the partition is one text, which cannot be empty
	where    string  // the partition columns, as a condition
	remains  int     // seconds for which the remains of a row stay

	// Statements that read a row, and a page of rows in either order, with all columns.
	whole, forward, backward string

	number uint64 // no other view has it: see driver.Row.Hint

	anyLate bool

	// columns are those of the table, as far as they are known.
	columns atomic.Pointer[columns]
	met     sync.Map // fields that v does not declare, of which rows have told all views of the place

	headings atomic.Pointer[[]*heading]
}

// columns are those that rows of a view can have beside their key. They are replaced
// as a whole when other programs have declared more.
type columns struct {
	kinds  map[string]frame.Known // of all fields that programs have declared
	others []string               // those of them that the view does not declare
	names  []string               // in the order of what is bound: fields, then the library's
	at     map[string]int         // places in names
	insert texts
	update texts
	mark   string // update of _rev alone
	empty  string // what is left of a row of an index
	remove string // of a record
}

// texts are a statement with all columns, and with those alone that are not rare.
type texts struct{ all, common string }

func (s *store) newView(t *driver.Table, e *entry, p *physical) *view {
	home := t.Root()
	v := &view{
		Table:    frame.NewTable(t, e.Fields),
		physical: physicalName(home.Name),
		prefix:   prefixOf(t),
		head:     headOf(t.Name, home.Name),
		remains:  remainsFor(p.grace),
		number:   s.numbers.Add(1),
		anyLate:  slices.ContainsFunc(t.Fields, func(f driver.Column) bool { return e.Fields[f.Name].Later }),
	}
	v.table = quoted(v.physical)
	v.escaped = len(v.Partition) == 1 && v.Partition[0].Kind == driver.String
	v.where = strings.Join(quotedNames(v.Partition), " = ? AND ") + " = ?"
	v.whole = v.getText(nil)
	v.forward = v.spanText(v.selection(nil), &driver.Span{})
	v.backward = v.spanText(v.selection(nil), &driver.Span{Reverse: true})
	v.learn(e)
	return v
}

// prefixOf returns what the columns of a table's fields begin with: nothing where its rows lie with those of its
// own collection, and else the name of that, so that two collections can have fields of one name. An
// index of the server takes letters, digits and '_' alone; no field begins with '_', and no collection has an X.
func prefixOf(t *driver.Table) string {
	if of := collectionOf(t); of != t.Root().Name {
		return "_" + of + prefixEnd
	}
	return ""
}

const prefixEnd = "_X_"

// collectionOf returns the name of the table of records to which a table belongs.
func collectionOf(t *driver.Table) string {
	if t.Class != driver.Records && t.Home != nil {
		return t.Home.Name
	}
	return t.Name
}

// column returns the column of a field, or of the library.
func (v *view) column(name string) string {
	if isOwn(name) {
		return name
	}
	return v.prefix + name
}

// quotedColumns returns the columns of fields, or of the library, as statements have them.
func (v *view) quotedColumns(names []string) []string {
	list := make([]string, len(names), len(names)+len(v.Partition)+2)
	for i, name := range names {
		list[i] = quoted(v.column(name))
	}
	return list
}

// nameOf returns the name of which column is the column, and whether a row of the view can have it.
func (v *view) nameOf(column string) (name string, mine bool) {
	if v.prefix == "" {
		return column, !(strings.HasPrefix(column, "_") && strings.Contains(column, prefixEnd))
	}
	if name, ok := strings.CutPrefix(column, v.prefix); ok {
		return name, true
	}
	_, field := v.Ordinals[column]
	return column, !field && v.meaningOf(column) != otherColumn
}

// headOf returns what the clustering text of rows of a table begins with. That of
// records sorts below that of all others.
func headOf(name, home string) string {
	switch rest, ok := strings.CutPrefix(name, home+"."); {
	case name == home:
		return ":"
	case ok && rest != "":
		return rest + ":"
	}
	return "." + name + ":"
}

// learn takes over what the catalog has of the view's table.
func (v *view) learn(e *entry) {
	c := &columns{kinds: e.Fields, at: map[string]int{}}
	for _, f := range v.Fields {
		c.names = append(c.names, f.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
		if _, declared := v.Ordinals[name]; !declared {
			c.others, c.names = append(c.others, name), append(c.names, name)
		}
	}
	for _, lib := range libraryColumns {
		c.names = append(c.names, lib[0])
	}
	for i, name := range c.names {
		c.at[name] = i
	}
	c.write(v)
	for { // fields only come, and another may have learnt of more
		old := v.columns.Load()
		if old != nil && len(old.kinds) > len(e.Fields) || v.columns.CompareAndSwap(old, c) {
			return
		}
	}
}

// write makes the texts of the statements that write.
func (c *columns) write(v *view) {
	row := " WHERE " + v.where + ` AND "_sort" = ?`
	common := c.names[:len(c.names)-rareColumns]
	c.insert = texts{v.insertText(c.names), v.insertText(common)}
	c.update = texts{v.updateText("", c.names) + row, v.updateText("", common) + row}
	c.mark = v.updateText("", []string{"_rev"}) + row
	c.empty = v.updateText(" USING TTL ?", c.left(v)) + row
	c.remove = "DELETE FROM " + v.table + row
}

func (v *view) insertText(names []string) string {
	columns := append(v.quotedColumns(names), quotedNames(v.Partition)...)
	return "INSERT INTO " + v.table + " (" + strings.Join(columns, ", ") + `, "_sort") VALUES (` + strings.Repeat("?, ", len(columns)) + "?)"
}

func (v *view) updateText(using string, names []string) string {
	return "UPDATE " + v.table + using + " SET " + strings.Join(v.quotedColumns(names), " = ?, ") + " = ?"
}

// of returns the text of a statement for args, and of these what it takes: most
// changes leave the columns alone that are rare.
func (t *texts) of(args []any) (string, []any) {
	from := len(args) - rareColumns
	for _, a := range args[from:] {
		if a != gocql.UnsetValue {
			return t.all, args
		}
	}
	return t.common, args[:from]
}

// partition appends the values to bind for a partition. Where it is one text, what
// would be empty, and what begins like its stand-in, has a '#' more in front.
func (v *view) partition(args []any, text string) ([]any, error) {
	var room [8]driver.Value
	vals, rest, err := driver.ParseParts(room[:0], text, v.Partition)
	if err != nil || rest != "" {
		return nil, who.Invalid("table %s: the partition %.200q is not one of its key columns", v.Name, driver.Private(text))
	}
	if v.escaped {
		s := vals[0].Str()
		if s == "" || s[0] == '#' {
			s = "#" + s
		}
		return append(args, s), nil
	}
	for _, value := range vals {
		args = append(args, bindable(value))
	}
	return args, nil
}

// partitionOf returns the text of the partition that the cells of its columns stand for.
func (v *view) partitionOf(cells []cell) (string, bool) {
	var room [8]driver.Value
	vals := room[:0]
	for i := range v.Partition {
		value, ok := cells[i].value(v.Partition[i].Kind)
		if !ok {
			return "", false
		}
		if v.escaped && strings.HasPrefix(value.Str(), "#") {
			value = driver.StringValue(value.Str()[1:])
		}
		vals = append(vals, value)
	}
	text, err := driver.AppendParts(nil, v.Partition, vals)
	return string(text), err == nil
}

// key returns the values to bind for a whole key.
func (v *view) key(args []any, k *driver.Key) ([]any, error) {
	args, err := v.partition(args, k.Partition)
	return append(args, v.head+k.Sort), err
}

// sortOf returns the order text that a clustering text stands for.
func (v *view) sortOf(text string) (string, bool) {
	text, ok := strings.CutPrefix(text, v.head)
	if !ok {
		return "", false
	}
	_, rest, ok := driver.CutParts(text, v.Sort)
	return text, ok && rest == ""
}
