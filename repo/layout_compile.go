package repo

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// A compiler checks a schema and makes a collection of it. It gathers every
// fault, so that all are reported at once.
type compiler struct {
	*layoutC
	kinds  map[string]driver.Kind
	lists  map[string]driver.Kind  // of the elements of lists
	times  map[string]bool         // integer fields that keep the nanoseconds of a time
	fields map[string]*structField // those that are scalars
	empty  map[string]driver.Value // of fields that are absent where they are empty: what they would be
	order  []string                // of the fields, as declared
	faults []error
}

var collectionName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)
var indexName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)

func (c *compiler) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), driver.ErrSchema))
}

// compile returns the collection of a schema for records of a shape.
func compile(facts *driver.Facts, redact bool, schema schemaDef, sh *shape) (*layoutC, error) {
	c := &compiler{layoutC: &layoutC{facts: facts, redact: redact, name: schema.Collection, schema: schema}}
	if !collectionName.MatchString(schema.Collection) {
		c.fault("collection name %q: use a–z, digits and '_', a letter first, at most 48", schema.Collection)
	}
	if sh.fault != nil {
		c.faults = append(c.faults, sh.fault)
	}
	c.declare(sh)
	c.layOut(schema)
	if n := len(schema.Indexes); n > maxIndexes {
		c.fault("%d indexes; at most %d, since a record is written with a row in each of them; drop those that no query needs", n, maxIndexes)
		schema.Indexes = nil
	}
	seen := map[string]bool{}
	for _, x := range schema.Indexes {
		if seen[x.name()] {
			c.fault("two indexes are named %q; give one of them a Name", x.name())
		}
		seen[x.name()] = true
		if !c.namesFaulty(x) {
			c.addIndex(x)
		}
	}
	if err := errors.Join(c.faults...); err != nil {
		return nil, err
	}
	sh.place(c.cols)
	c.expires, c.late = sh.expires != nil || sh.isMap, sh.isMap
	c.extra = sh.extra != nil || sh.isMap
	for _, x := range c.indexes {
		x.setBare(x.hasKeysOnly() && !c.expires)
	}
	c.markIndexed()
	return c.layoutC, nil
}

// declare collects the declared fields and their kinds.
func (c *compiler) declare(sh *shape) {
	c.kinds, c.lists, c.times = map[string]driver.Kind{}, map[string]driver.Kind{}, map[string]bool{}
	c.fields, c.empty = map[string]*structField{}, map[string]driver.Value{}
	for _, f := range sh.fields {
		if f.isScalar() {
			c.fields[f.name] = &f.structField
		}
		c.kinds[f.name], c.lists[f.name], c.times[f.name] = f.kind, f.elem, f.nanos
		c.empty[f.name] = f.empty
		c.order = append(c.order, f.name)
	}
	if !sh.isMap {
		if len(c.schema.Fields) > 0 {
			c.checkFields()
		}
		return
	}
	for name, kind := range c.schema.Fields {
		k, elem, ok := kindsNamed(kind)
		if !ok {
			c.fault("field %s: kind %q is none of bool, int, float, string, bytes, time, list, map, or list of one of these", name, kind)
		}
		if !fieldName.MatchString(name) {
			c.fault("field %q: use letters, digits and '_', a letter first, at most 64", name)
		}
		c.kinds[name], c.lists[name] = k, elem
		c.order = append(c.order, name)
	}
	sort.Strings(c.order)
}

// namesFaulty reports whether an index names a field that cannot be stored, which was told.
func (c *compiler) namesFaulty(x indexDef) bool {
	return slices.ContainsFunc(slices.Concat(x.Partition, x.Sort), func(name string) bool {
		kind, ok := c.kinds[strings.TrimSuffix(strings.TrimPrefix(name, "-"), "[]")]
		return ok && kind == driver.None
	})
}

// checkFields holds the kinds that a schema names against those of the struct.
func (c *compiler) checkFields() {
	for name, kind := range c.schema.Fields {
		if k, ok := c.kinds[name]; !ok {
			c.fault("field %s of the schema is not in the struct; add a field tagged `repo:%q`", name, name)
		} else if named, elem, _ := kindsNamed(kind); named != k || strings.Contains(kind, elementsOf) && elem != c.lists[name] {
			c.fault("field %s is %s in the schema and %s in the struct", name, kind, k)
		}
	}
}

// elementsOf stands between a list and the kind of its elements, where these are no strings.
const elementsOf = " of "

// kindsNamed returns the kind that a schema names, and that of the elements of a list.
func kindsNamed(name string) (kind, elem driver.Kind, ok bool) {
	name, of, some := strings.Cut(name, elementsOf)
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
func (c *compiler) layOut(s schemaDef) {
	t := &driver.Table{Name: s.Collection, Class: driver.Records}
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
	c.key = slices.Concat(t.Partition, t.Sort)
	for i, col := range c.key {
		if slices.ContainsFunc(c.key[:i], func(o driver.Column) bool { return o.Name == col.Name }) {
			c.fault("field %s is in the key twice", col.Name)
		}
	}
	for _, name := range c.order {
		if !slices.ContainsFunc(c.key, func(col driver.Column) bool { return col.Name == name }) {
			t.Fields = append(t.Fields, driver.Column{Name: name, Kind: c.kinds[name]})
		}
	}
	if c.facts.Uncertain {
		t.Ring, t.Retention = ringSize, retention+clockMargin
	}
	c.retention = retention
	c.records = t
	c.cols = slices.Concat(c.key, t.Fields)
	for i, col := range c.cols {
		if i < len(c.key) {
			c.keySources = append(c.keySources, source{at: i, desc: col.Desc})
			if !c.empty[col.Name].IsNone() {
				c.fault("field %s is part of the key, which is never absent; leave out its omitempty", col.Name)
			}
		}
		c.scalars = append(c.scalars, c.fields[col.Name])
		c.empties = append(c.empties, c.empty[col.Name])
		c.elems = append(c.elems, c.lists[col.Name])
		c.nanos = append(c.nanos, c.times[col.Name])
	}
}

// keyColumn returns the column for a field that is part of a key.
func (c *compiler) keyColumn(where, name string, desc bool) driver.Column {
	kind, ok := c.kinds[name]
	switch {
	case !ok && strings.Contains(name, "."):
		c.fault("%s: %s", where, strings.TrimSuffix(c.noPath(name).Error(), ": "+driver.ErrInvalid.Error()))
	case !ok:
		c.fault("%s field %q is unknown; the fields are %s", where, name, strings.Join(c.order, ", "))
	case kind == driver.List:
		c.fault("%s field %s is a list; an index may take its elements as %q", where, name, name+"[]")
	case kind == driver.Map:
		c.fault("%s field %s is a map, which has no order", where, name)
	}
	return driver.Column{Name: name, Kind: kind, Desc: desc}
}

func (c *compiler) markIndexed() {
	c.indexed, c.indexMask = make([]bool, len(c.cols)), []int{}
	for _, x := range c.indexes {
		for _, at := range x.needs {
			c.indexed[at] = true
		}
		for i := range c.indexed {
			c.indexed[i] = c.indexed[i] || x.all
		}
	}
	for at := len(c.key); at < len(c.cols); at++ {
		if c.indexed[at] {
			c.indexMask = append(c.indexMask, at-len(c.key))
		}
	}
}
