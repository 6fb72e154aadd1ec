package layout

import (
	"slices"
	"strconv"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/record"
)

// addIndex compiles one index and its table.
func (c *compiler) addIndex(def IndexSchema, other bool) {
	x := &Index{IndexSchema: def, ID: def.name(), Multi: -1, Other: other}
	stored, there := c.schema.Stored[x.ID]
	x.Stored = stored
	if !indexName.MatchString(x.ID) {
		c.fault("index name %q: use a–z, digits and '_', a letter first, at most 48; give the index a Name", x.ID)
	}
	t := &driver.Table{Name: c.Name + "." + x.StoredAs(), Class: driver.Rows}
	if def.Unique {
		t.Class = driver.Claims
	}
	x.local = slices.Equal(x.Partition, c.schema.Partition) && x.Buckets == 0
	c.indexKey(x, t)
	c.indexFields(x, t)
	if c.chooseKind(x, t); !x.Native {
		c.placeIndex(x, t)
	}
	x.Table = t
	if c.schema.Stored != nil && !there {
		c.Absent = append(c.Absent, x)
		return
	}
	c.Indexes = append(c.Indexes, x)
}

// StoredAs returns the name of an index in the store, which no other index of the collection ever had.
func (x *Index) StoredAs() string { return StoredAs(x.ID, x.Turn) }

// StoredAs returns the name in the store of the index of a name after so many others of the name.
func StoredAs(name string, turn int) string {
	if turn == 0 {
		return name
	}
	return name + "." + strconv.FormatInt(int64(turn), 36)
}

// Answers reports whether queries may use x.
func (x *Index) Answers() bool { return x.Stage == Ready && !x.Other }

// indexKey makes the key columns of an index table.
func (c *compiler) indexKey(x *Index, t *driver.Table) {
	for _, name := range x.Partition {
		col, src := c.indexColumn(x, name)
		t.Partition, x.PartitionFrom = append(t.Partition, col), append(x.PartitionFrom, src)
	}
	for _, name := range x.Sort {
		col, src := c.indexColumn(x, name)
		t.Sort, x.SortFrom = append(t.Sort, col), append(x.SortFrom, src)
	}
	c.bucketIndex(x, t)
	if len(x.PartitionFrom)+len(x.SortFrom) == 0 {
		c.fault("index %s has no fields", x.ID)
	}
}

func (c *compiler) bucketIndex(x *Index, t *driver.Table) {
	switch {
	case x.Buckets < 0 || x.Buckets > 256:
		c.fault("index %s: %d buckets; 1 to 256 are possible", x.ID, x.Buckets)
	case x.Buckets > 0 && x.Unique:
		c.fault("index %s: a unique index is spread by its values already; leave Buckets out and name the fields under Partition", x.ID)
	case x.Buckets > 0:
		t.Partition = append(t.Partition, driver.Column{Name: bucketColumn, Kind: driver.Int})
	case len(x.Partition) == 0 && x.Unique:
		c.fault("index %s is unique and has no partition; name its fields under Partition instead of Sort", x.ID)
	case len(x.Partition) == 0:
		c.fault("index on %s has no partition, so it ranges over the whole collection, which a cluster would keep in one place; give it Buckets (16 is a fair start) or a partition field", quoted(x.Sort))
	}
}

func quoted(names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = strings.TrimPrefix(name, "-")
	}
	return strings.Trim(QuoteList(list), "[]")
}

// indexColumn returns the column of an index that a schema calls name, and where
// its value comes from.
func (c *compiler) indexColumn(x *Index, name string) (driver.Column, Source) {
	bare, desc := strings.CutPrefix(name, "-")
	bare, elem := strings.CutSuffix(bare, "[]")
	src, kind, err := c.find(bare)
	src.Desc, src.Elem = desc, elem
	switch {
	case err != nil:
		c.fault("index %s: %s", x.ID, strings.TrimSuffix(err.Error(), ": "+driver.ErrInvalid.Error()))
	case src.At < 0 && (src.Path != nil || elem):
		c.fault("index %s: field %q is unknown", x.ID, bare)
	case src.Path == nil && !elem:
		return c.keyColumn("index "+x.ID, bare, desc), src
	case kind.Kind == driver.None:
		as := driver.String
		if elem {
			as = driver.List
		}
		c.fault("index %s: values of any kind may lie at %s; declare theirs, as Schema{Fields: {%q: %q}}", x.ID, bare, bare, as)
	case elem:
		return c.listColumn(x, src, kind, bare), src
	default:
		c.checkOrder("index "+x.ID, bare, kind.Kind)
	}
	return driver.Column{Name: bare, Kind: kind.Kind, Desc: desc}, src
}

// listColumn returns the column for each element of a list.
func (c *compiler) listColumn(x *Index, src Source, kind Kind, name string) driver.Column {
	switch {
	case kind.Kind != driver.List:
		c.fault("index %s: field %s is of kind %s, so it has no elements; leave out the []", x.ID, name, kind.Kind)
	case x.Multi >= 0 && !src.Is(&x.list):
		c.fault("index %s takes the elements of two lists; one is possible", x.ID)
	}
	if kind.Elem < driver.Bool || kind.Elem > driver.Time {
		c.fault("index %s: the elements of %s are not of one kind that has an order", x.ID, name)
	}
	x.Multi, x.list = src.At, src
	return driver.Column{Name: name + "[]", Kind: kind.Elem, Desc: src.Desc}
}

// indexFields makes the fields that an index's rows carry.
func (c *compiler) indexFields(x *Index, t *driver.Table) {
	if x.Unique {
		t.Fields = append(t.Fields, driver.Column{Name: ownerColumn, Kind: driver.String})
	}
	for _, name := range x.Covers {
		if name == "*" {
			x.All = true
			continue
		}
		at := c.At(name)
		if field, path := record.CutPath(name); at < 0 && path != nil && c.At(field) >= 0 {
			c.fault("index %s covers %q, a part of a field; cover the whole field, %q", x.ID, name, field)
			continue
		}
		if at < 0 {
			c.fault("index %s covers field %q, which is unknown", x.ID, name)
			continue
		}
		if at >= len(c.Key) && !slices.Contains(x.CoverAt, at) {
			x.CoverAt = append(x.CoverAt, at)
		}
	}
	if x.All {
		x.CoverAt = x.CoverAt[:0]
		for at := len(c.Key); at < len(c.Cols); at++ {
			x.CoverAt = append(x.CoverAt, at)
		}
	}
	for _, at := range x.CoverAt {
		t.Fields = append(t.Fields, c.Cols[at])
	}
	for _, src := range slices.Concat(x.PartitionFrom, x.SortFrom) {
		if src.At >= 0 {
			x.Needs = append(x.Needs, src.At)
		}
	}
	x.Needs = append(x.Needs, x.CoverAt...)
}

// placeIndex decides where an index lies: with the records or elsewhere.
func (c *compiler) placeIndex(x *Index, t *driver.Table) {
	if x.local {
		t.Home = c.Records
	}
	f := c.Facts
	switch {
	case f.Scope == driver.ScopeRecord && !f.Native.Has:
		c.fault("index %s: %s changes one record at a time, so it cannot keep an index table in step, and keeps no index of its own: %s; use another store", x.ID, f.Name, f.Native.Reason)
	case f.Scope == driver.ScopeRecord && x.Kind == "table":
		c.fault("index %s: %s changes one record at a time, so it cannot keep an index table in step; use kind native", x.ID, f.Name)
	case f.Scope == driver.ScopePartition && !x.local && !f.Remote.Has:
		c.fault("index %s lies in another partition than its record, and %s changes one partition at a time here (%s); make its Partition %s, and put its other fields into Sort, or use another store", x.ID, f.Name, f.Remote.Reason, QuoteList(c.schema.Partition))
	case f.Scope == driver.ScopePartition && !x.local:
		c.makeRemote(x, t)
	}
	if t.Class == driver.Rows {
		t.Sort = append(t.Sort, c.suffix(x)...)
	}
	if x.Remote && t.Class == driver.Rows {
		t.Sort = append(slices.Clip(t.Sort), driver.Column{Name: tokenColumn, Kind: driver.Bytes})
	}
}

// makeRemote makes an index one whose rows have no copies of the record's fields: they
// are put before it changes, and read together with it.
func (c *compiler) makeRemote(x *Index, t *driver.Table) {
	x.Remote, c.HasRemote = true, true
	x.coverNothing()
	t.Fields = nil
	if x.Unique {
		t.Fields = append(t.Fields, driver.Column{Name: ownerColumn, Kind: driver.String})
	}
	t.Fields = append(t.Fields, driver.Column{Name: baseColumn, Kind: driver.String})
	t.Unconditional = !x.Unique // a row is put and dropped under a key with its token, which nothing else has
	c.Retention = limit.RemoteRetention
	c.Records.Ring, c.Records.Retention = limit.RingSize, limit.RemoteRetention+limit.ClockMargin
}

// HasKeysOnly reports whether the rows of x have nothing but their keys, and perhaps an
// expiry.
func (x *Index) HasKeysOnly() bool {
	return !x.Unique && !x.Native && !x.Remote && !x.All && len(x.CoverAt) == 0
}

// SetBare says whether rows of x have an expiry. Other repositories may have the table
// that it was.
func (x *Index) SetBare(bare bool) {
	if x.Table.KeyOnly != bare {
		t := *x.Table
		t.KeyOnly = bare
		x.Table = &t
	}
}

// coverNothing makes the rows of x depend on the columns of its key alone.
func (x *Index) coverNothing() {
	x.CoverAt, x.All, x.Needs = nil, false, nil
	for _, src := range slices.Concat(x.PartitionFrom, x.SortFrom) {
		if src.At >= 0 {
			x.Needs = append(x.Needs, src.At)
		}
	}
}

// suffix returns the columns of the record's key with which the rows of an index
// end: those that are not the partition of the index itself.
func (c *compiler) suffix(x *Index) []driver.Column {
	if x.local {
		return c.Records.Sort
	}
	return c.Key
}

// Partitions returns how many partitions of x a query reads.
func (x *Index) Partitions() int {
	if x.Native {
		return 1
	}
	return max(x.Buckets, 1)
}

// HasKey reports whether the key columns of x hold the field at a position whole.
func (x *Index) HasKey(at int) bool {
	has := func(src Source) bool { return src.At == at && !src.Elem && src.Path == nil }
	return slices.ContainsFunc(x.PartitionFrom, has) || slices.ContainsFunc(x.SortFrom, has)
}

// Changed reports whether the rows of x differ between two states of a record.
func (x *Index) Changed(old, next *record.Record) bool {
	if x.All || old.Expires != next.Expires && !x.Table.KeyOnly {
		return true // a row that stands for the record has its version, too
	}
	for _, at := range x.CoverAt {
		if !old.Vals[at].Equal(next.Vals[at]) {
			return true
		}
	}
	return !x.Stays(old, next)
}

// Stays reports whether the rows of x have the same keys in two states of a record.
func (x *Index) Stays(old, next *record.Record) bool {
	return stay(x.PartitionFrom, old, next) && stay(x.SortFrom, old, next)
}

func stay(srcs []Source, old, next *record.Record) bool {
	for i := range srcs {
		if was, is := srcs[i].Of(old.Vals), srcs[i].Of(next.Vals); !was.Equal(is) {
			return false
		}
	}
	return true
}

// IsOver reports whether x has a row for each element of the field at a position.
func (x *Index) IsOver(at int) bool { return x.Multi == at && x.list.Path == nil }

// RowsOf returns how many rows a record has in x at most.
func (x *Index) RowsOf(rec *record.Record) int {
	switch {
	case rec == nil:
		return 0
	case x.Multi >= 0:
		list := x.list.Of(rec.Vals)
		return len(list.List())
	}
	return 1
}

// Carries reports whether a row has the covered values of a record.
func (x *Index) Carries(row *driver.Row, rec *record.Record) bool {
	fields := row.Fields
	if x.Unique {
		fields = fields[min(1, len(fields)):]
	}
	for i, at := range x.CoverAt {
		var v driver.Value
		if i < len(fields) {
			v = fields[i]
		}
		if !v.Equal(rec.Vals[at]) {
			return false
		}
	}
	return (row.Expires == rec.Expires || x.Table.KeyOnly) && (!x.All || slices.EqualFunc(row.Extra, rec.Extra, func(p, q driver.Pair) bool {
		return p.Name == q.Name && p.Value.Equal(q.Value)
	}))
}

// OwnerMask returns the mask of the fields that say to which record a row belongs.
func (x *Index) OwnerMask() []int {
	if x.Unique {
		return []int{0}
	}
	return []int{}
}

// Missing reports whether one of the values that sources name is absent.
func Missing(srcs []Source, vals []driver.Value) bool {
	for i := range srcs {
		if v := srcs[i].Of(vals); v.IsNone() {
			return true
		}
	}
	return false
}

// PlaceIn returns the part of a native index in which an entry lies, and of no record
// another one: a partition, or the part of it with one element.
func (x *Index) PlaceIn(e driver.Key) driver.Key {
	at := slices.IndexFunc(x.SortFrom, func(s Source) bool { return s.Elem })
	head, _, _ := driver.CutParts(e.Sort, x.Table.Sort[:at+1])
	return driver.Key{Partition: e.Partition, Sort: head}
}
