package operation

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// Unknown is the end of a write that may have been done or not, and at any time.
const Unknown = math.MaxInt64

// A Growth is a list, and what calls pushed to it side by side.
type Growth struct {
	To    *workload.Push
	First []any // the elements before
	list  []pushed
	gone  int // pushes before those of list, of which no element is there any more
}

type pushed struct {
	v            string // canonical
	began, ended int64
}

// Add notes a push, with its times from any instant.
func (g *Growth) Add(v any, began, ended int64) {
	g.list = append(g.list, pushed{canonical(v), began, ended})
}

func canonical(v any) string {
	var b strings.Builder
	value.AppendCanonical(&b, v)
	return b.String()
}

// A view is what of a list a read from one time to another may find.
type view struct {
	*Growth
	begun  []pushed // that it may find
	ends   []int64  // of these, in order
	begins []int64  // of those that had ended before, in order
	least  int      // pushes that had ended before, of all times
	most   int      // pushes that had begun, of all times
}

func (g *Growth) view(from, to int64) *view {
	v := &view{Growth: g}
	for _, p := range g.list {
		if p.began >= to {
			continue
		}
		v.begun, v.ends = append(v.begun, p), append(v.ends, p.ended)
		if p.ended < from {
			v.begins = append(v.begins, p.began)
		}
	}
	slices.Sort(v.ends)
	slices.Sort(v.begins)
	v.least, v.most = g.gone+len(v.begins), g.gone+len(v.begun)
	return v
}

// before returns how many of some times in order are before one.
func before(times []int64, one int64) int {
	return sort.Search(len(times), func(i int) bool { return times[i] >= one })
}

// must reports whether an element has its place whatever other pushes came after it: as many as may have.
func (v *view) must(after int) bool { return v.To.Cap == 0 || after < v.To.Cap }

// displaced reports whether so many pushes came after a push that its element is gone.
func (v *view) displaced(p *pushed) bool {
	return v.To.Cap > 0 && p.ended != Unknown && len(v.begins)-before(v.begins, p.ended+1) >= v.To.Cap
}

// first returns the element before all pushes that is the i-th from the side of the pushes.
func (v *view) first(i int) string {
	if v.To.Front {
		return canonical(v.First[i])
	}
	return canonical(v.First[len(v.First)-1-i])
}

// Wrong says what is wrong with a list that was read from one time to another, "" if some order of the pushes makes it.
// Of the order it sees which elements cannot stand before others by the times of their pushes.
func (g *Growth) Wrong(list []any, from, to int64) string {
	v, may, must := g.view(from, to), map[string]int{}, map[string]int{}
	for i := range v.First {
		if v.least == 0 || v.must(i+v.least) {
			may[v.first(i)]++
		}
		if v.must(i + v.most) {
			must[v.first(i)]++
		}
	}
	when := map[string]*pushed{} // of elements that were pushed once
	for i := range v.begun {
		p := &v.begun[i]
		if v.displaced(p) {
			continue
		}
		if may[p.v]++; may[p.v] == 1 {
			when[p.v] = p
		} else {
			delete(when, p.v)
		}
		if after := len(v.ends) - 1 - before(v.ends, p.began); p.ended < from && v.must(after) {
			must[p.v]++
		}
	}
	if n := len(list); v.To.Cap > 0 && n > v.To.Cap && (v.least > 0 || n > len(v.First)) {
		return fmt.Sprintf("it has %d elements, where %d are the most", n, v.To.Cap)
	}
	if least := min(v.To.Cap, len(v.First)+v.least); len(list) < least {
		return fmt.Sprintf("it has %d elements, where %d are the least", len(list), least)
	}
	return wrongElements(list, may, must, when, v.To.Front)
}

// wrongElements says what is wrong with a list whose elements may and must be there so often.
func wrongElements(list []any, may, must map[string]int, when map[string]*pushed, front bool) string {
	begun := int64(math.MinInt64)
	for i := range list {
		el := canonical(list[i])
		if front {
			el = canonical(list[len(list)-1-i])
		}
		if may[el]--; may[el] < 0 {
			return fmt.Sprintf("its element %s was not pushed so often, or is displaced", el)
		}
		must[el]--
		p := when[el]
		if p == nil {
			continue
		}
		if p.ended < begun {
			return fmt.Sprintf("its element %s was pushed before the one on its other side", el)
		}
		begun = max(begun, p.began)
	}
	for _, el := range slices.Sorted(maps.Keys(must)) {
		if must[el] > 0 {
			return fmt.Sprintf("its element %s is missing", el)
		}
	}
	return ""
}

// Settle forgets what no read finds that begins after a time.
func (g *Growth) Settle(now int64) {
	v := g.view(now, now)
	kept := g.list[:0]
	for i := range g.list {
		if p := g.list[i]; p.ended < now && v.displaced(&p) {
			g.gone++
		} else {
			kept = append(kept, p)
		}
	}
	clear(g.list[len(kept):])
	g.list = kept
}
