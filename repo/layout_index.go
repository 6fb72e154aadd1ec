package repo

import (
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// addIndex compiles one index and its table.
func (c *compiler) addIndex(def indexDef) {
	x := &index{indexDef: def, name: def.name(), multi: -1}
	if !indexName.MatchString(x.name) {
		c.fault("index name %q: use a–z, digits and '_', a letter first, at most 48; give the index a Name", x.name)
	}
	t := &driver.Table{Name: c.name + "." + x.name, Class: driver.Rows}
	if def.Unique {
		t.Class = driver.Claims
	}
	x.local = slices.Equal(x.Partition, c.schema.Partition) && x.Buckets == 0
	c.indexKey(x, t)
	c.indexFields(x, t)
	if c.chooseKind(x, t); !x.native {
		c.placeIndex(x, t)
	}
	x.table = t
	c.indexes = append(c.indexes, x)
}

// indexKey makes the key columns of an index table.
func (c *compiler) indexKey(x *index, t *driver.Table) {
	for _, name := range x.Partition {
		col, src := c.indexColumn(x, name)
		t.Partition, x.part = append(t.Partition, col), append(x.part, src)
	}
	for _, name := range x.Sort {
		col, src := c.indexColumn(x, name)
		t.Sort, x.sort = append(t.Sort, col), append(x.sort, src)
	}
	c.bucketIndex(x, t)
	if len(x.part)+len(x.sort) == 0 {
		c.fault("index %s has no fields", x.name)
	}
}

func (c *compiler) bucketIndex(x *index, t *driver.Table) {
	switch {
	case x.Buckets < 0 || x.Buckets > 256:
		c.fault("index %s: %d buckets; 1 to 256 are possible", x.name, x.Buckets)
	case x.Buckets > 0 && x.Unique:
		c.fault("index %s: a unique index is spread by its values already; leave Buckets out and name the fields under Partition", x.name)
	case x.Buckets > 0:
		t.Partition = append(t.Partition, driver.Column{Name: bucketColumn, Kind: driver.Int})
	case len(x.Partition) == 0 && x.Unique:
		c.fault("index %s is unique and has no partition; name its fields under Partition instead of Sort", x.name)
	case len(x.Partition) == 0:
		c.fault("index on %s has no partition, so it ranges over the whole collection, which a cluster would keep in one place; give it Buckets (16 is a fair start) or a partition field", quoted(x.Sort))
	}
}

func quoted(names []string) string {
	for i := range names {
		names = slices.Clone(names)
		names[i] = `"` + strings.TrimPrefix(names[i], "-") + `"`
	}
	return strings.Join(names, ", ")
}

// indexColumn returns the column of an index that a schema calls name, and where
// its value comes from.
func (c *compiler) indexColumn(x *index, name string) (driver.Column, source) {
	bare, desc := strings.CutPrefix(name, "-")
	bare, elem := strings.CutSuffix(bare, "[]")
	at := c.at(bare)
	if !elem {
		col := c.keyColumn("index "+x.name, bare, desc)
		return col, source{at: at, desc: desc}
	}
	switch {
	case at < 0:
		c.fault("index %s: field %q is unknown", x.name, bare)
	case c.cols[at].Kind != driver.List:
		c.fault("index %s: field %s is of kind %s, so it has no elements; leave out the []", x.name, bare, c.cols[at].Kind)
	case x.multi >= 0 && x.multi != at:
		c.fault("index %s takes the elements of two lists; one is possible", x.name)
	}
	kind := c.lists[bare]
	if kind < driver.Bool || kind > driver.Time {
		c.fault("index %s: the elements of %s are not of one kind that has an order", x.name, bare)
	}
	x.multi = at
	return driver.Column{Name: bare + "[]", Kind: kind, Desc: desc}, source{at: at, desc: desc, elem: true}
}

// indexFields makes the fields that an index's rows carry.
func (c *compiler) indexFields(x *index, t *driver.Table) {
	if x.Unique {
		t.Fields = append(t.Fields, driver.Column{Name: ownerColumn, Kind: driver.String})
	}
	for _, name := range x.Covers {
		if name == "*" {
			x.all = true
			continue
		}
		at := c.at(name)
		if at < 0 {
			c.fault("index %s covers field %q, which is unknown", x.name, name)
			continue
		}
		if at >= len(c.key) && !slices.Contains(x.covers, at) {
			x.covers = append(x.covers, at)
		}
	}
	if x.all {
		x.covers = x.covers[:0]
		for at := len(c.key); at < len(c.cols); at++ {
			x.covers = append(x.covers, at)
		}
	}
	for _, at := range x.covers {
		t.Fields = append(t.Fields, c.cols[at])
	}
	for _, src := range slices.Concat(x.part, x.sort) {
		if src.at >= 0 {
			x.needs = append(x.needs, src.at)
		}
	}
	x.needs = append(x.needs, x.covers...)
}

// placeIndex decides where an index lies: with the records or elsewhere.
func (c *compiler) placeIndex(x *index, t *driver.Table) {
	if x.local {
		t.Home = c.records
	}
	f := c.facts
	switch {
	case f.Unit == driver.UnitRecord && !f.Native.Has:
		c.fault("index %s: %s changes one record at a time, so it cannot keep an index table in step, and keeps no index of its own: %s; use another store", x.name, f.Name, f.Native.Reason)
	case f.Unit == driver.UnitRecord && x.Kind == "table":
		c.fault("index %s: %s changes one record at a time, so it cannot keep an index table in step; use kind native", x.name, f.Name)
	case f.Unit == driver.UnitPartition && !x.local && !f.Apart.Has:
		c.fault("index %s lies in another partition than its record, and %s changes one partition at a time here (%s); make its Partition %s, and put its other fields into Sort, or use another store", x.name, f.Name, f.Apart.Reason, quoteList(c.schema.Partition))
	case f.Unit == driver.UnitPartition && !x.local:
		c.makeLoose(x, t)
	}
	if t.Class == driver.Rows {
		t.Sort = append(t.Sort, c.suffix(x)...)
	}
	if x.loose && t.Class == driver.Rows {
		t.Sort = append(slices.Clip(t.Sort), driver.Column{Name: tokenColumn, Kind: driver.Bytes})
	}
}

// makeLoose makes an index one whose rows have no copies of the record's fields: they
// are put before it changes, and read together with it.
func (c *compiler) makeLoose(x *index, t *driver.Table) {
	x.loose, c.loose = true, true
	x.coverNothing()
	t.Fields = nil
	if x.Unique {
		t.Fields = append(t.Fields, driver.Column{Name: ownerColumn, Kind: driver.String})
	}
	t.Fields = append(t.Fields, driver.Column{Name: baseColumn, Kind: driver.String})
	t.Plain = !x.Unique // a row is put and dropped under a key with its token, which nothing else has
	c.retention = looseRetention
	c.records.Ring, c.records.Retention = ringSize, looseRetention+clockMargin
}

// hasKeysOnly reports whether the rows of x have nothing but their keys, and perhaps an
// expiry.
func (x *index) hasKeysOnly() bool {
	return !x.Unique && !x.native && !x.loose && !x.all && len(x.covers) == 0
}

// setBare says whether rows of x have an expiry. Other repositories may have the table
// that it was.
func (x *index) setBare(bare bool) {
	if x.table.Bare != bare {
		t := *x.table
		t.Bare = bare
		x.table = &t
	}
}

// coverNothing makes the rows of x depend on the columns of its key alone.
func (x *index) coverNothing() {
	x.covers, x.all, x.needs = nil, false, nil
	for _, src := range slices.Concat(x.part, x.sort) {
		if src.at >= 0 {
			x.needs = append(x.needs, src.at)
		}
	}
}

// suffix returns the columns of the record's key with which the rows of an index
// end: those that are not the partition of the index itself.
func (c *compiler) suffix(x *index) []driver.Column {
	if x.local {
		return c.records.Sort
	}
	return c.key
}

// partitions returns how many partitions of x a query reads.
func (x *index) partitions() int {
	if x.native {
		return 1
	}
	return max(x.Buckets, 1)
}

// hasKey reports whether the key columns of x hold the field at a position whole.
func (x *index) hasKey(at int) bool {
	has := func(src source) bool { return src.at == at && !src.elem }
	return slices.ContainsFunc(x.part, has) || slices.ContainsFunc(x.sort, has)
}

// changed reports whether the rows of x differ between two states of a record.
func (x *index) changed(old, next *record) bool {
	if x.all || old.expires != next.expires && !x.table.Bare {
		return true // a row that stands for the record has its version, too
	}
	for _, at := range x.needs {
		if !old.vals[at].Equal(next.vals[at]) {
			return true
		}
	}
	return false
}

// stays reports whether the rows of x have the same keys in two states of a record.
func (x *index) stays(old, next *record) bool {
	same := func(src source) bool { return old.vals[src.at].Equal(next.vals[src.at]) }
	for i := range x.part {
		if !same(x.part[i]) {
			return false
		}
	}
	for i := range x.sort {
		if !same(x.sort[i]) {
			return false
		}
	}
	return true
}

// rowsOf returns how many rows a record has in x at most.
func (x *index) rowsOf(rec *record) int {
	switch {
	case rec == nil:
		return 0
	case x.multi >= 0:
		return len(rec.vals[x.multi].List())
	}
	return 1
}

// carries reports whether a row has the covered values of a record.
func (x *index) carries(row *driver.Row, rec *record) bool {
	fields := row.Fields
	if x.Unique {
		fields = fields[min(1, len(fields)):]
	}
	for i, at := range x.covers {
		var v driver.Value
		if i < len(fields) {
			v = fields[i]
		}
		if !v.Equal(rec.vals[at]) {
			return false
		}
	}
	return (row.Expires == rec.expires || x.table.Bare) && (!x.all || slices.EqualFunc(row.Extra, rec.extra, func(p, q driver.Pair) bool {
		return p.Name == q.Name && p.Value.Equal(q.Value)
	}))
}

// ownerMask returns the mask of the fields that say to which record a row belongs.
func (x *index) ownerMask() []int {
	if x.Unique {
		return []int{0}
	}
	return []int{}
}

func missing(srcs []source, vals []driver.Value) bool {
	for _, src := range srcs {
		if vals[src.at].IsNone() {
			return true
		}
	}
	return false
}

// placeIn returns the part of a native index in which an entry lies, and of no record
// another one: a partition, or the part of it with one element.
func (x *index) placeIn(e driver.Key) driver.Key {
	at := slices.IndexFunc(x.sort, func(s source) bool { return s.elem })
	head, _, _ := driver.CutParts(e.Sort, x.table.Sort[:at+1])
	return driver.Key{Partition: e.Partition, Sort: head}
}
