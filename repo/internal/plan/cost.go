package plan

import (
	"cmp"
	"strings"

	"github.com/polystore/polystore/repo/internal/layout"
)

// A cost is what an index makes a query cost, the weightiest first. The name decides
// between equals, so that the order in which indexes are declared does not matter.
type cost struct {
	depth   int // round trips, one after the other
	reads   int // requests for each record
	apart   int // rows lie outside of the commit that changes their records
	columns int // of a row
	name    string
}

func (c *Planner) costOf(x *layout.Index, a *Access) cost {
	out := cost{depth: x.Partitions(), columns: len(x.PartitionFrom) + len(x.SortFrom) + len(x.CoverAt), name: x.ID}
	if !c.covers(x, a) {
		out.depth, out.reads = out.depth+1, 1
	}
	if x.Remote {
		out.apart = 1
	}
	return out
}

func (a cost) compare(b cost) int {
	return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(a.reads, b.reads), cmp.Compare(a.apart, b.apart),
		cmp.Compare(a.columns, b.columns), strings.Compare(a.name, b.name))
}
