package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
)

// A Plan says how a query is answered: by a run of rows of the records or of one
// index, in one partition or in every bucket.
type Plan struct {
	X       *layout.Index // nil reads the records themselves
	Table   *driver.Table
	Parts   []Part   // to be read and merged
	Ways    [][]Part // of which one is to be taken as the parts; all name the records wanted, and others with them
	Reverse bool
	Claim   driver.Token // of a remote claim: the record must have it
	*Access
	Bound
	Known  *Presence // by which an index was taken
	Offset int       // how many records are passed over
	Look   *Look     // counts the records that are looked at; nil if they may be any number
	fixed  int       // how many columns of the order have a value each

	space space
}

// A space is where the lists of a plan lie, if they are short, so that they take no memory of their own. Copies of the
// plan share them, so nobody changes a list that is made.
type space struct {
	conds [3]condition
	order [2]layout.Source
	names [2]string
	part  [1]Part
}

// Plan finds the table that answers a query at the least cost. If it fails, the plan may have an index already.
func (c *Planner) Plan(q Query, by []Access) (*Plan, error) {
	p := new(Plan)
	s := &p.space
	p.Bound = Bound{Limit: q.Limit, query: q, apart: q.ranked || len(q.By) > 0, conds: s.conds[:0], Order: s.order[:0], names: s.names[:0]}
	p.Parts, p.Offset = s.part[:0], q.Offset
	if len(q.Filter) > 0 {
		p.Look = &Look{left: q.Most}
	}
	b := &p.Bound
	if err := b.bind(c.Layout); err != nil {
		return p, err
	}
	if _, _, ok := c.FitsTable(b, nil); ok {
		return p, c.planOn(p, nil, by) // which costs less than any index
	}
	var best, lacking *layout.Index
	var least cost
	for i, x := range c.Indexes {
		fixed, _, ok := c.FitsTable(b, x)
		if !ok {
			continue
		}
		if c.LacksRows(b, x, fixed) {
			if lacking == nil || x.ID < lacking.ID {
				lacking = x
			}
			continue
		}
		if here := c.costOf(x, &by[i+1]); best == nil || here.compare(least) < 0 {
			best, least = x, here
		}
	}
	if best == nil {
		return p, c.noIndex(b, lacking)
	}
	p.Known = c.Known.Presence
	return p, c.planOn(p, best, by)
}

// LacksRows reports whether x may have no row for a record that a query asks for: one
// that lacks a column of x which the query does not name.
func (c *Planner) LacksRows(b *Bound, x *layout.Index, fixed int) bool {
	return slices.ContainsFunc(x.SortFrom[b.named(fixed):], func(src layout.Source) bool { return !c.Known.isAlways(c.Layout, src) })
}

// named returns how many sort columns of a table a query names, if it fixes some of them.
func (b *Bound) named(fixed int) int {
	return fixed + max(len(b.Order), len(b.conds)-b.Equal)
}

// covers reports whether a view reads no more than the rows of x, or the records if x is
// nil.
func (c *Planner) covers(x *layout.Index, a *Access) bool {
	return a.Covered && !c.Known.NeedsRecords(x)
}

// columnsOf returns the table of x, or of the records if x is nil, and where its
// columns come from.
func (c *Planner) columnsOf(x *layout.Index) (t *driver.Table, part, sort []layout.Source) {
	if x != nil {
		return x.Table, x.PartitionFrom, x.SortFrom
	}
	return c.Records, c.KeySources[:len(c.Records.Partition)], c.KeySources[len(c.Records.Partition):]
}

// FitsTable reports whether a query can be answered by one run of a table: the
// number of sort columns that it fixes, and whether the run is read backwards.
func (c *Planner) FitsTable(b *Bound, x *layout.Index) (fixed int, reverse, ok bool) {
	if x != nil && !x.Answers() {
		return 0, false, false
	}
	return c.fits(b, x)
}

// fits is FitsTable for an index that may not be ready.
func (c *Planner) fits(b *Bound, x *layout.Index) (fixed int, reverse, ok bool) {
	_, part, sort := c.columnsOf(x)
	for _, src := range part {
		if b.equality(src) < 0 {
			return 0, false, false
		}
	}
	for fixed < len(sort) && b.equality(sort[fixed]) >= 0 {
		fixed++
	}
	if len(part)+fixed != b.Equal || x != nil && x.Unique && b.doubles() {
		return 0, false, false
	}
	rest := sort[fixed:]
	for i, src := range rest {
		if src.Elem && (i >= b.groups || x != nil && x.Native) {
			return 0, false, false // a run over elements would meet a record twice, as it should where these make the groups
		}
	}
	if len(b.conds) > b.Equal && (len(rest) == 0 || !rest[0].Is(&b.conds[b.Equal].Source)) {
		return 0, false, false
	}
	if len(b.Order) > len(rest) {
		return 0, false, false
	}
	for i, o := range b.Order {
		if !o.Is(&rest[i]) || i > 0 && !b.anyWay && (o.Desc != rest[i].Desc) != reverse {
			return 0, false, false
		}
		reverse = o.Desc != rest[i].Desc && !b.anyWay
	}
	return fixed, reverse, true
}

// equality returns the index of the condition that fixes a column, or -1.
func (b *Bound) equality(src layout.Source) int {
	for i := range b.conds[:b.Equal] {
		if src.Is(&b.conds[i].Source) {
			return i
		}
	}
	return -1
}

// planOn makes the plan for a table that fits.
func (c *Planner) planOn(p *Plan, x *layout.Index, by []Access) error {
	b := &p.Bound
	fixed, reverse, _ := c.FitsTable(b, x)
	t, part, sort := c.columnsOf(x)
	p.X, p.Table, p.Reverse, p.Access, p.fixed = x, t, reverse, &by[0], fixed
	if x != nil {
		if p.Access = &by[1+slices.Index(c.Indexes, x)]; !c.covers(x, p.Access) || b.Looks() && !x.Native {
			p.Access = p.uncovered()
		}
	}
	if b.Looks() && p.Access.Covered {
		p.Access = p.wide(c.Layout, b)
	}
	choice := slices.IndexFunc(b.conds[:b.Equal], func(cond condition) bool { return cond.all != nil })
	if choice < 0 {
		return p.addParts(c.KeySources, part, sort, fixed)
	}
	for _, v := range b.conds[choice].all {
		b.conds[choice].value, p.Parts = v, nil
		if err := p.addParts(c.KeySources, part, sort, fixed); err != nil {
			return err
		}
		p.Ways = append(p.Ways, p.Parts)
	}
	p.Parts = p.Ways[0]
	return nil
}

// noIndex returns the error for a query that no table answers; lacking is an index that
// would if it had rows for all records.
func (c *Planner) noIndex(b *Bound, lacking *layout.Index) error {
	x := b.index()
	switch {
	case lacking != nil:
		return c.LackingRows(b, lacking)
	case c.notReady(b) != nil:
		return c.notReady(b)
	case c.uniqueOf(b) != "":
		return failure.NoIndex("unique index %s answers for one element at a time; ask for each value by itself, or add an index that is not unique", c.uniqueOf(b))
	case c.nativeOf(b) != "":
		return failure.NoIndex("index %s is the store's own, which gives each record once, not once for each element; declare it with Kind table", c.nativeOf(b))
	case b.lists() > 1:
		return failure.NoIndex("%s: an index has the elements of one list; ask for those of the other by Filter%s", b.query.Text(c.Redact), b.orScan())
	case len(x.Partition)+len(x.Sort) == 0:
		return failure.NoIndex("a query without conditions reads everything; use Walk, or Scan")
	case len(b.conds) > b.Equal && len(b.names) > 0 && strings.TrimPrefix(b.names[0], "-") != b.conds[b.Equal].field:
		return failure.NoIndex("%s: the order must begin with %s, the field of the range%s",
			b.query.Text(c.Redact), failure.Name(b.conds[b.Equal].field), b.orScan())
	}
	return failure.NoIndex("no index answers %s; add %s%s", b.query.Text(true), b.remedy(), b.orScan())
}

// lists returns of how many lists a query names elements that an index is to have.
func (b *Bound) lists() int {
	var all []layout.Source
	add := func(src layout.Source) {
		if src.Elem && !slices.ContainsFunc(all, func(o layout.Source) bool { return o.Is(&src) }) {
			all = append(all, src)
		}
	}
	for i := range b.conds {
		add(b.conds[i].Source)
	}
	for _, src := range b.Order {
		add(src)
	}
	return len(all)
}

// uniqueOf returns a unique index that would answer a query, if it asked for one of its elements only; "" if there is none.
func (c *Planner) uniqueOf(b *Bound) string {
	if !b.doubles() {
		return ""
	}
	one := *b
	one.conds = slices.Clone(b.conds)
	for i := range one.conds {
		one.conds[i].any = nil
	}
	for _, x := range c.Indexes {
		if _, _, ok := c.FitsTable(&one, x); x.Unique && ok {
			return x.ID
		}
	}
	return ""
}

// notReady returns the error for a query that an index of the schema would answer, if it were ready; nil if there is none.
func (c *Planner) notReady(b *Bound) error {
	for _, x := range c.Indexes {
		switch _, _, ok := c.fits(b, x); {
		case !ok || x.Other:
		case x.Stage == layout.Declared, x.Stage == layout.Written:
			return failure.NotReady("index %s, which will answer %s, is not ready: it is %s; wait for Repo.Ready", x.ID, b.query.Text(c.Redact), layout.StateText(x.Stage.String(), x.At))
		case x.Stage == layout.Leaving:
			return failure.NoIndex("index %s, which answered %s, is being removed: it is %s; end that with repo.DropIndex, and open with repo.WithBuild() to have it again%s", x.ID, b.query.Text(c.Redact), layout.StateText(x.Stage.String(), x.At), b.orScan())
		}
	}
	return nil
}

// LackingRows is noIndex for a query that names fewer fields than an index has, of which
// records may lack one.
func (c *Planner) LackingRows(b *Bound, x *layout.Index) error {
	fixed, reverse, _ := c.FitsTable(b, x)
	var order, lacks []string
	last := 0
	for i, src := range x.SortFrom[fixed:] {
		name := c.NameOf(&src)
		if i >= b.named(fixed)-fixed && !c.Known.isAlways(c.Layout, src) {
			lacks, last = append(lacks, name), i+1
		}
		if src.Desc != reverse {
			name = "-" + name
		}
		order = append(order, name)
	}
	fields := strings.Join(lacks, " or ")
	text := fmt.Sprintf("index %s lacks records without %s; ", x.ID, fields)
	if in := b.index(); len(in.Partition)+len(in.Sort) > 0 {
		text += "add " + b.remedy() + ", or "
	}
	text += fmt.Sprintf("leave such records out by Order(%s)%s", strings.Trim(layout.QuoteList(order[:last]), "[]"), b.orScan())
	return failure.NoIndex("%s", text)
}

// remedy returns the text of an index that would answer the query.
func (b *Bound) remedy() string {
	x := b.index()
	if len(x.Partition) == 0 {
		return strings.TrimSuffix(x.String(), "}") + ", Buckets: 16}"
	}
	return x.String()
}

// index returns one that would answer the query.
func (b *Bound) index() layout.IndexSchema {
	var x layout.IndexSchema
	for i := range b.conds[:b.Equal] {
		x.Partition = append(x.Partition, b.conds[i].field)
	}
	if len(b.conds) > b.Equal {
		field := b.conds[b.Equal].field
		if len(b.names) == 0 || strings.TrimPrefix(b.names[0], "-") != field {
			x.Sort = append(x.Sort, field)
		}
	}
	x.Sort = append(x.Sort, b.names...)
	return x
}

// RowsOf returns the table whose rows the run has.
func (p *Plan) RowsOf() *driver.Table {
	if p.Table.Native {
		return p.Table.Home
	}
	return p.Table
}
