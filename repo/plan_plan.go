package repo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// A plan says how a query is answered: by a run of rows of the records or of one
// index, in one partition or in every bucket.
type plan struct {
	x       *index // nil reads the records themselves
	table   *driver.Table
	parts   []driver.Key // partitions to read and merge
	reverse bool
	claim   driver.Token // of a loose claim: the record must have it
	extent
	*access
	bound
	known *presence // by which an index was taken
}

// plan finds the table that answers a query at the least cost.
func (c *planner) plan(q queryDef, by []access) (plan, error) {
	b, err := bind(c.layoutC, q)
	if err != nil {
		return plan{}, err
	}
	if _, _, ok := c.fitsTable(&b, nil); ok {
		return c.planOn(b, nil, by) // which costs less than any index
	}
	var best, lacking *index
	var least cost
	for i, x := range c.indexes {
		fixed, _, ok := c.fitsTable(&b, x)
		if !ok {
			continue
		}
		if c.lacksRows(&b, x, fixed) {
			if lacking == nil || x.name < lacking.name {
				lacking = x
			}
			continue
		}
		if here := c.costOf(x, &by[i+1]); best == nil || here.compare(least) < 0 {
			best, least = x, here
		}
	}
	if best == nil {
		return plan{}, c.noIndex(&b, lacking)
	}
	p, err := c.planOn(b, best, by)
	p.known = c.known.presence
	return p, err
}

// lacksRows reports whether x may have no row for a record that a query asks for: one
// that lacks a column of x which the query does not name.
func (c *planner) lacksRows(b *bound, x *index, fixed int) bool {
	return slices.ContainsFunc(x.sort[b.named(fixed):], func(src source) bool { return !c.known.isAlways(c.layoutC, src.at) })
}

// named returns how many sort columns of a table a query names, if it fixes some of them.
func (b *bound) named(fixed int) int {
	return fixed + max(len(b.order), len(b.conds)-b.equal)
}

// covers reports whether a view reads no more than the rows of x, or the records if x is
// nil.
func (c *planner) covers(x *index, a *access) bool { return a.covered && !c.known.needsRecords(x) }

// columnsOf returns the table of x, or of the records if x is nil, and where its
// columns come from.
func (c *planner) columnsOf(x *index) (t *driver.Table, part, sort []source) {
	if x != nil {
		return x.table, x.part, x.sort
	}
	return c.records, c.keySources[:len(c.records.Partition)], c.keySources[len(c.records.Partition):]
}

// fitsTable reports whether a query can be answered by one run of a table: the
// number of sort columns that it fixes, and whether the run is read backwards.
func (c *planner) fitsTable(b *bound, x *index) (fixed int, reverse, ok bool) {
	_, part, sort := c.columnsOf(x)
	for _, src := range part {
		if b.equality(src) < 0 {
			return 0, false, false
		}
	}
	for fixed < len(sort) && b.equality(sort[fixed]) >= 0 {
		fixed++
	}
	if len(part)+fixed != b.equal {
		return 0, false, false
	}
	rest := sort[fixed:]
	for _, src := range rest {
		if src.elem {
			return 0, false, false // a run over elements would meet a record twice
		}
	}
	if len(b.conds) > b.equal && (len(rest) == 0 || rest[0].at != b.conds[b.equal].at || b.conds[b.equal].elem) {
		return 0, false, false
	}
	if len(b.order) > len(rest) {
		return 0, false, false
	}
	for i, o := range b.order {
		if o.at != rest[i].at || i > 0 && (o.desc != rest[i].desc) != reverse {
			return 0, false, false
		}
		reverse = o.desc != rest[i].desc
	}
	return fixed, reverse, true
}

// equality returns the index of the condition that fixes a column, or -1.
func (b *bound) equality(src source) int {
	for i := range b.conds[:b.equal] {
		if b.conds[i].at == src.at && b.conds[i].elem == src.elem {
			return i
		}
	}
	return -1
}

// planOn makes the plan for a table that fits.
func (c *planner) planOn(b bound, x *index, by []access) (plan, error) {
	fixed, reverse, _ := c.fitsTable(&b, x)
	t, part, sort := c.columnsOf(x)
	p := plan{x: x, table: t, bound: b, reverse: reverse, access: &by[0]}
	if x != nil {
		if p.access = &by[1+slices.Index(c.indexes, x)]; !c.covers(x, p.access) {
			p.access = p.uncovered()
		}
	}
	vals := make([]driver.Value, 0, len(part)+fixed+1)
	for _, src := range part {
		vals = append(vals, b.conds[b.equality(src)].value)
	}
	if err := p.setPartitions(vals); err != nil {
		return p, err
	}
	vals = vals[len(vals):]
	for _, src := range sort[:fixed] {
		vals = append(vals, b.conds[b.equality(src)].value)
	}
	head, err := driver.AppendParts(nil, t.Sort[:fixed], vals)
	if err != nil {
		return p, err
	}
	p.extent = extentAt(string(head))
	if len(b.conds) == b.equal {
		return p, nil
	}
	return p, p.setRange(head, t.Sort[fixed], &b.conds[b.equal])
}

// setPartitions names the partitions to read: one, or one for each bucket.
func (p *plan) setPartitions(vals []driver.Value) error {
	buckets := 1
	if p.x != nil {
		buckets = p.x.partitions()
	}
	for i := range buckets {
		parts := vals
		if buckets > 1 || p.x != nil && p.x.Buckets == 1 && !p.x.native {
			parts = append(vals[:len(vals):len(vals)], driver.IntValue(int64(i)))
		}
		text, err := driver.AppendParts(nil, p.table.Partition, parts)
		if err != nil {
			return err
		}
		p.parts = append(p.parts, driver.Key{Partition: string(text)})
	}
	return nil
}

// setRange narrows the run to a range of the column after head. A limit that is over its
// value lies behind the texts of that value; where greater values come first, before them.
func (p *plan) setRange(head []byte, col driver.Column, cond *condition) error {
	low, high := cond.low, cond.high
	if col.Desc {
		low, high = high, low
	}
	place := func(l limit) (string, error) {
		b, err := driver.AppendParts(slices.Clone(head), []driver.Column{col}, []driver.Value{l.value})
		if l.over != col.Desc {
			return driver.After(string(b)), err
		}
		return string(b), err
	}
	if !low.value.IsNone() {
		from, err := place(low)
		if err != nil {
			return err
		}
		p.from = from
	}
	if !high.value.IsNone() {
		to, err := place(high)
		if err != nil {
			return err
		}
		p.extent = p.upTo(to)
	}
	return nil
}

// noIndex returns the error for a query that no table answers; lacking is an index that
// would if it had rows for all records.
func (c *planner) noIndex(b *bound, lacking *index) error {
	x := b.index()
	switch {
	case lacking != nil:
		return c.lackingRows(b, lacking)
	case len(x.Partition)+len(x.Sort) == 0:
		return noIndex("a query without conditions reads everything; use Walk, or Scan")
	case len(b.conds) > b.equal && len(b.names) > 0 && strings.TrimPrefix(b.names[0], "-") != b.conds[b.equal].field:
		return noIndex("%s: the order must begin with %s, the field of the range; or use Scan",
			b.query.text(c.redact), b.conds[b.equal].field)
	}
	return noIndex("no index answers %s; add %s, or use Scan", b.query.text(true), b.remedy())
}

// lackingRows is noIndex for a query that names fewer fields than an index has, of which
// records may lack one.
func (c *planner) lackingRows(b *bound, x *index) error {
	fixed, reverse, _ := c.fitsTable(b, x)
	var order, lacks []string
	last := 0
	for i, src := range x.sort[fixed:] {
		name := c.cols[src.at].Name
		if i >= b.named(fixed)-fixed && !c.known.isAlways(c.layoutC, src.at) {
			lacks, last = append(lacks, name), i+1
		}
		if src.desc != reverse {
			name = "-" + name
		}
		order = append(order, name)
	}
	fields := strings.Join(lacks, " or ")
	text := fmt.Sprintf("index %s lacks records without %s; ", x.name, fields)
	if in := b.index(); len(in.Partition)+len(in.Sort) > 0 {
		text += "add " + b.remedy() + ", or "
	}
	text += fmt.Sprintf("leave such records out by Order(%s), or use Scan", strings.Trim(quoteList(order[:last]), "[]"))
	return noIndex("%s", text)
}

// remedy returns the text of an index that would answer the query.
func (b *bound) remedy() string {
	x := b.index()
	if len(x.Partition) == 0 {
		return strings.TrimSuffix(x.String(), "}") + ", Buckets: 16}"
	}
	return x.String()
}

// index returns one that would answer the query.
func (b *bound) index() indexDef {
	var x indexDef
	for i := range b.conds[:b.equal] {
		x.Partition = append(x.Partition, b.conds[i].field)
	}
	if len(b.conds) > b.equal {
		field := b.conds[b.equal].field
		if len(b.names) == 0 || strings.TrimPrefix(b.names[0], "-") != field {
			x.Sort = append(x.Sort, field)
		}
	}
	x.Sort = append(x.Sort, b.names...)
	return x
}

// rowsOf returns the table whose rows the run has.
func (p *plan) rowsOf() *driver.Table {
	if p.table.Native {
		return p.table.Home
	}
	return p.table
}
