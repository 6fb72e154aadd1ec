package layout

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/record"
)

// A compiler checks a schema and makes a collection of it. It gathers every
// fault, so that all are reported at once.
type compiler struct {
	*Layout
	kinds  map[string]driver.Kind
	lists  map[string]driver.Kind   // of the elements of lists
	times  map[string]bool          // integer fields that keep the nanoseconds of a time
	all    map[string]*record.Field // of a struct
	fields map[string]*record.Field // those that are scalars
	empty  map[string]driver.Value  // of fields that are absent where they are empty: what they would be
	others map[string]bool          // fields that other programs declare
	order  []string                 // of the fields, as declared
	faults []error
}

var collectionName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)
var indexName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)

func (c *compiler) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), driver.ErrSchema))
}

// Compile returns the collection of a schema for records of a shape.
func Compile(facts *driver.Facts, redact bool, schema Schema, sh *record.Mapping) (*Layout, error) {
	c := &compiler{Layout: &Layout{Facts: facts, Redact: redact, Name: schema.Collection, schema: schema}}
	if !collectionName.MatchString(schema.Collection) {
		c.fault("collection name %q: use a–z, digits and '_', a letter first, at most 48", schema.Collection)
	}
	if sh.Fault != nil {
		c.faults = append(c.faults, sh.Fault)
	}
	c.declare(sh)
	c.layOut(schema)
	if n := len(schema.Indexes); n > limit.MaxIndexes {
		c.fault("%d indexes; at most %d, since a record is written with a row in each of them; drop those that no query needs", n, limit.MaxIndexes)
		schema.Indexes = nil
	}
	seen := map[string]bool{}
	for i, x := range slices.Concat(schema.Indexes, schema.Others.Indexes) {
		if seen[x.name()] {
			c.fault("two indexes are named %q; give one of them a Name", x.name())
		}
		seen[x.name()] = true
		if !c.namesFaulty(x) {
			c.addIndex(x, i >= len(schema.Indexes))
		}
	}
	if err := errors.Join(c.faults...); err != nil {
		return nil, err
	}
	sh.Place(c.Cols)
	if sh.IsUnion() { // of which each type has its own
		clear(c.Empties)
	}
	c.Expires, c.Late = sh.Expires != nil || sh.IsMap, sh.IsMap
	c.Extra = sh.Extra != nil || sh.IsMap
	_, derives := sh.Derived()
	for _, x := range slices.Concat(c.Indexes, c.Absent) {
		x.Derived = derives && !x.Other
		if x.Unique && !x.Remote && !x.Native && x.Stage != Ready {
			c.Unsettled = append(c.Unsettled, x)
		}
		x.SetBare(x.HasKeysOnly() && !c.Expires)
	}
	c.markIndexed()
	c.declares(sh.IsMap)
	return c.Layout, nil
}

// declare collects the declared fields and their kinds.
func (c *compiler) declare(sh *record.Mapping) {
	c.kinds, c.lists, c.times = map[string]driver.Kind{}, map[string]driver.Kind{}, map[string]bool{}
	c.others = map[string]bool{}
	c.all, c.fields, c.empty = map[string]*record.Field{}, map[string]*record.Field{}, map[string]driver.Value{}
	for i := range sh.Fields {
		f := &sh.Fields[i]
		if c.all[f.Name] = &f.Field; f.IsScalar() {
			c.fields[f.Name] = &f.Field
		}
		c.kinds[f.Name], c.lists[f.Name], c.times[f.Name] = f.Kind, f.Elem, f.Nanos
		c.empty[f.Name] = f.Empty
		c.order = append(c.order, f.Name)
	}
	defer c.declareOthers()
	if !sh.IsMap {
		if len(c.schema.Fields) > 0 {
			c.checkFields()
		}
		return
	}
	for name, kind := range c.schema.Fields {
		k := c.declared(name, kind)
		if strings.Contains(name, ".") {
			c.declarePart(name, k)
			continue
		}
		if !record.FieldName.MatchString(name) {
			c.fault("field %q: use letters, digits and '_', a letter first, at most 64", name)
		}
		c.kinds[name], c.lists[name] = k.Kind, k.Elem
		c.order = append(c.order, name)
	}
	sort.Strings(c.order)
}

// declareOthers adds the fields of other programs that their indexes need.
func (c *compiler) declareOthers() {
	for _, name := range slices.Sorted(maps.Keys(c.schema.Others.Fields)) {
		k := c.declared(name, c.schema.Others.Fields[name])
		field, path := record.CutPath(name)
		_, own := c.kinds[field]
		switch {
		case path != nil:
			if c.Parts == nil {
				c.Parts = map[string]Kind{}
			}
			c.Parts[name] = k
		case !own:
			c.kinds[name], c.lists[name], c.others[name] = k.Kind, k.Elem, true
			c.order = append(c.order, name)
		}
	}
}

// declared returns the kind that a schema names for a field or a part of one.
func (c *compiler) declared(name, kind string) Kind {
	k, elem, ok := kindsNamed(kind)
	if !ok {
		c.fault("field %s: kind %q is none of bool, int, float, string, bytes, time, list, map, or list of one of these", name, kind)
	}
	return Kind{Kind: k, Elem: elem}
}

// declarePart takes over the kind of a part of a field.
func (c *compiler) declarePart(name string, k Kind) {
	field, path := record.CutPath(name)
	if err := record.CheckPath(path); err != nil {
		c.fault("field %.64q: %s", name, strings.TrimSuffix(err.Error(), ": "+driver.ErrInvalid.Error()))
	}
	if strings.HasSuffix(name, "[]") {
		c.fault("field %.64q: declare the whole list, without the [], as \"list\" or \"list of int\"", name)
	}
	if of, ok := kindNamed(c.schema.Fields[field]); c.all[field] == nil && (!ok || of != driver.Map && of != driver.List) {
		c.fault("field %s is a part of %s, which is to be declared as a map or a list", name, field)
	}
	if c.Parts == nil {
		c.Parts = map[string]Kind{}
	}
	c.Parts[name] = k
}

// namesFaulty reports whether an index names a field that cannot be stored, which was told.
func (c *compiler) namesFaulty(x IndexSchema) bool {
	return slices.ContainsFunc(slices.Concat(x.Partition, x.Sort), func(name string) bool {
		name, _ = record.CutPath(strings.TrimSuffix(strings.TrimPrefix(name, "-"), "[]"))
		kind, ok := c.kinds[name]
		return ok && kind == driver.None
	})
}

// checkFields holds the kinds that a schema names against those of the struct.
func (c *compiler) checkFields() {
	for name, kind := range c.schema.Fields {
		if strings.Contains(name, ".") {
			c.checkPart(name, c.declared(name, kind))
		} else if k, ok := c.kinds[name]; !ok {
			c.fault("field %s of the schema is not in the struct; add a field tagged `repo:%q`", name, name)
		} else if named, elem, _ := kindsNamed(kind); named != k || strings.Contains(kind, ElementsOf) && elem != c.lists[name] {
			c.fault("field %s is %s in the schema and %s in the struct", name, kind, k)
		}
	}
}

// checkPart holds the kind that a schema names for a part of a field against that of the struct.
func (c *compiler) checkPart(name string, k Kind) {
	field, path := record.CutPath(name)
	f := c.all[field]
	if f != nil {
		f = f.Part(path)
	}
	switch {
	case f == nil:
		c.fault("field %s of the schema is not in the struct", name)
	case f.Kind != driver.None && f.Kind != k.Kind:
		c.fault("field %s is %s in the schema and %s in the struct", name, k.Kind, f.Kind)
	case f.Kind == driver.None:
		c.declarePart(name, k)
	}
}

// ElementsOf stands between a list and the kind of its elements, where these are no strings.
const ElementsOf = " of "

// kindsNamed returns the kind that a schema names, and that of the elements of a list.
func kindsNamed(name string) (kind, elem driver.Kind, ok bool) {
	name, of, some := strings.Cut(name, ElementsOf)
	if kind, ok = kindNamed(name); !some {
		return kind, driver.String, ok
	}
	elem, known := kindNamed(of)
	return kind, elem, known && kind == driver.List
}

func kindNamed(name string) (driver.Kind, bool) {
	for k := driver.Bool; k <= driver.Map; k++ {
		if k.String() == name {
			return k, true
		}
	}
	return driver.None, false
}

// layOut makes the Records table.
func (c *compiler) layOut(s Schema) {
	t := &driver.Table{Name: s.Collection, Class: driver.Records}
	switch {
	case s.With == s.Collection && s.With != "":
		c.fault("the collection is to lie with itself; leave out With")
	case s.With != "" && !collectionName.MatchString(s.With):
		c.fault("With is %q, which no collection can be named", s.With)
	}
	if len(s.Partition) == 0 {
		c.fault("no partition; name the fields that decide where a record lives, e.g. its id")
	}
	for _, name := range s.Partition {
		t.Partition = append(t.Partition, c.keyColumn("partition", name, false))
	}
	for _, name := range s.Sort {
		bare, desc := strings.CutPrefix(name, "-")
		t.Sort = append(t.Sort, c.keyColumn("sort", bare, desc))
	}
	if s.With != "" {
		t.Home = &driver.Table{Name: s.With, Class: driver.Records, Partition: t.Partition}
	}
	c.Key = slices.Concat(t.Partition, t.Sort)
	for i, col := range c.Key {
		if slices.ContainsFunc(c.Key[:i], func(o driver.Column) bool { return o.Name == col.Name }) {
			c.fault("field %s is in the key twice", col.Name)
		}
	}
	for _, name := range c.order {
		if !slices.ContainsFunc(c.Key, func(col driver.Column) bool { return col.Name == name }) {
			t.Fields = append(t.Fields, driver.Column{Name: name, Kind: c.kinds[name]})
		}
	}
	if c.Facts.Uncertain {
		t.Ring, t.Retention = limit.RingSize, limit.Retention+limit.ClockMargin
	}
	c.Retention = limit.Retention
	c.Records = t
	c.Cols = slices.Concat(c.Key, t.Fields)
	for i, col := range c.Cols {
		if i < len(c.Key) {
			c.KeySources = append(c.KeySources, Source{At: i, Desc: col.Desc})
			if f := c.all[col.Name]; f != nil && f.IsOptional() {
				c.fault("field %s is part of the key, and not all types of the records have it, or have it as a text, a number, a bool or a time", col.Name)
			}
			if !c.empty[col.Name].IsNone() {
				c.fault("field %s is part of the key, which is never absent; leave out its omitempty", col.Name)
			}
		}
		c.Fields, c.Scalars = append(c.Fields, c.all[col.Name]), append(c.Scalars, c.fields[col.Name])
		c.Empties = append(c.Empties, c.empty[col.Name])
		c.Elems = append(c.Elems, c.lists[col.Name])
		c.hidden = append(c.hidden, c.others[col.Name])
		c.Nanos = append(c.Nanos, c.times[col.Name])
	}
}

// keyColumn returns the column for a field that is part of a key.
func (c *compiler) keyColumn(where, name string, desc bool) driver.Column {
	kind, ok := c.kinds[name]
	switch {
	case !ok && strings.Contains(name, "."):
		c.fault("%s field %.64q is a part of another field; the key is made of whole fields", where, name)
	case !ok:
		c.fault("%s field %q is unknown; the fields are %s", where, name, strings.Join(c.order, ", "))
	default:
		c.checkOrder(where, name, kind)
	}
	return driver.Column{Name: name, Kind: kind, Desc: desc}
}

// checkOrder sees that a kind can be that of a column of a key.
func (c *compiler) checkOrder(where, name string, kind driver.Kind) {
	switch kind {
	case driver.List:
		c.fault("%s field %s is a list; an index may take its elements as %q", where, name, name+"[]")
	case driver.Map:
		c.fault("%s field %s is a map, which has no order; name a part of it, as %q", where, name, name+".part")
	}
}

func (c *compiler) markIndexed() {
	c.Indexed, c.IndexMask = make([]bool, len(c.Cols)), []int{}
	for _, x := range c.Indexes {
		for _, at := range x.Needs {
			c.Indexed[at] = true
		}
		for i := range c.Indexed {
			c.Indexed[i] = c.Indexed[i] || x.All
		}
	}
	for at := len(c.Key); at < len(c.Cols); at++ {
		if c.Indexed[at] {
			c.IndexMask = append(c.IndexMask, at-len(c.Key))
		}
	}
}
