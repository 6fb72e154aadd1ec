package operation

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// listed returns the letters of a text as a list.
func listed(text string) (list []any) {
	for _, r := range text {
		list = append(list, string(r))
	}
	return list
}

// A list has what was acknowledged, may have what was issued, and lacks what its cap leaves no place for.
func TestGrowth(t *testing.T) {
	behind, front, all := &workload.Push{Cap: 3}, &workload.Push{Cap: 3, Front: true}, &workload.Push{}
	for _, tt := range []struct {
		to        *workload.Push
		first     string
		settled   int64
		from, to2 int64
		right     string
		wrong     string
	}{
		{all, "xy", 0, 5, 6, "xy", "x xya"},
		{all, "xy", 0, 12, 13, "xy xya", "xyb x xyaa"},
		{all, "xy", 0, 35, 36, "xyab xyba", "xya xyb xyabc xy"},
		{all, "xy", 0, 55, 56, "xyabc xybac", "xyacb xycab abc"},
		{all, "xy", 36, 70, 71, "xyabc xyabcd", "xybc xyabd"}, // of d nobody knows
		{behind, "xyz", 0, 5, 6, "xyz", "yz"},
		{behind, "vxyz", 0, 12, 13, "vxyz yza", "yz yzb vxyza"},
		{behind, "xyz", 0, 35, 36, "zab zba", "yab yza ab"},
		{behind, "xyz", 60, 70, 71, "abc bac bcd acd", "zbc bc abd xyz acb"},
		{front, "xyz", 60, 70, 71, "cba dcb dca cab", "abc bcd zyx"},
		{behind, "", 0, 35, 36, "ab ba", "a b abab"},
	} {
		g := Growth{To: tt.to, First: listed(tt.first)}
		g.Add("a", 10, 20)
		g.Add("b", 15, 30)
		g.Add("c", 40, 50)
		g.Add("d", 60, Unknown)
		g.Settle(tt.settled)
		for _, list := range strings.Fields(tt.right) {
			if text := g.Wrong(listed(list), tt.from, tt.to2); text != "" {
				t.Errorf("%+v %s from %d: %s: %s", *tt.to, tt.first, tt.from, list, text)
			}
		}
		for _, list := range strings.Fields(tt.wrong) {
			if g.Wrong(listed(list), tt.from, tt.to2) == "" {
				t.Errorf("%+v %s from %d: %s is right", *tt.to, tt.first, tt.from, list)
			}
		}
	}
}

// What is displaced for good is not kept.
func TestGrowthIsSettled(t *testing.T) {
	g := Growth{To: &workload.Push{Cap: 3}}
	for i := range int64(1000) {
		g.Add("a", 10*i, 10*i+5)
		g.Settle(10*i + 6)
	}
	if len(g.list) > 3 || g.Wrong(listed("aaa"), 20000, 20001) != "" || g.Wrong(listed("aa"), 20000, 20001) == "" {
		t.Errorf("%d pushes are kept, of a list of three", len(g.list))
	}
}

// A query that pushes changes a record as the library does, in its form as a patch and by reading the record.
func TestPushes(t *testing.T) {
	w := testload.Parsed(t, workload.Parse, strings.Replace(testload.Small, "kind: update, add: {views: 1}", "kind: modify, push: {tags: {of: $category, cap: 2, front: true}}", 1))
	for _, k := range streamOf(t, w).Only(5, 20, 0) {
		rec := map[string]any{"tags": listed("xy")}
		k.Change(rec)
		if list := rec["tags"].([]any); len(list) != 2 || list[0] != "IT" && list[0] != "Daily" || list[1] != "x" || len(k.Edits) != 1 {
			t.Fatalf("the list is %v, by %v", list, k.Edits)
		}
	}
}

// Whatever the order in which pushes take effect between their beginning and end, what is read is right.
func TestGrowthOfAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		to := &workload.Push{Cap: r.IntN(5), Front: r.IntN(2) == 0}
		first := listed("uvwxyz"[:r.IntN(7)])
		g := Growth{To: to, First: first}
		type effect struct {
			at int64
			v  any
		}
		var effects []effect
		list, now := first, int64(0)
		for range 3 { // rounds, after each of which all is settled
			for range r.IntN(8) {
				began := now + r.Int64N(50)
				ended := began + r.Int64N(30)
				e := effect{began + r.Int64N(ended-began+1), string(rune('a' + r.IntN(6)))}
				if r.IntN(6) == 0 {
					ended = Unknown
					e.at += r.Int64N(100)
				}
				if ended != Unknown || r.IntN(2) == 0 {
					effects = append(effects, e)
				}
				g.Add(e.v, began, ended)
			}
			slices.SortStableFunc(effects, func(a, b effect) int { return cmp.Compare(a.at, b.at) })
			at := now + r.Int64N(80)
			seen := list
			for _, e := range effects {
				if e.at <= at {
					seen = to.Into(seen, e.v)
				}
			}
			from, until := at-r.Int64N(10), at+1+r.Int64N(10)
			if text := g.Wrong(seen, from, until); text != "" {
				t.Fatalf("%+v of %v: %v at %d: %s; %v, %+v", *to, first, seen, at, text, effects, g.list)
			}
			now += 100
			g.Settle(now)
		}
	}
}
