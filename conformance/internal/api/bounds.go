package api

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
)

func boundRules() []entry {
	return []entry{
		{Name: "bounds", Sentence: "Above, AtLeast, Below and AtMost ask for >, >=, < and <=, up to the least and the greatest value of every kind.", Needs: tested.KeepsLocal, Check: everyBound},
		{Name: "bounds together", Sentence: "Bounds of one field all hold, and a bound of a second field is refused.", Needs: tested.KeepsLocal, Check: boundsTogether},
		{Name: "empty prefix", Sentence: "Every text begins with the empty one.", Needs: tested.KeepsLocal, Check: emptyPrefix},
		{Name: "lacking fields", Sentence: "A query finds records that lack fields which it does not name; one that names them leaves these records out.", Needs: tested.KeepsLocal, Check: lackingFields},
	}
}

// A boundCase is one way to bound a field, and whether a value meets it that compares so
// with the bound.
var boundCases = []struct {
	name  string
	bound func(q repo.Query, field string, v any) repo.Query
	meets func(d int) bool
}{
	{"above", repo.Query.Above, func(d int) bool { return d > 0 }},
	{"at least", repo.Query.AtLeast, func(d int) bool { return d >= 0 }},
	{"below", repo.Query.Below, func(d int) bool { return d < 0 }},
	{"at most", repo.Query.AtMost, func(d int) bool { return d <= 0 }},
}

// boundValues are values of the fields of samples, in ascending order, the ends included.
func boundValues() map[string][]any {
	long := time.UnixMilli(1 << 60)
	return map[string][]any{
		"count": {int64(math.MinInt64), int64(-1), int64(0), int64(10), int64(math.MaxInt64)},
		"ratio": {math.Inf(-1), -0.5, 0.0, 0.25, math.Inf(1)},
		"text":  {"", "a", "a\x00", "b", "\U0010ffff"},
		"when":  {time.UnixMilli(-1 << 60), time.UnixMilli(-1), time.UnixMilli(0), time.UnixMilli(1), long},
	}
}

// boundSamples inserts a sample for each of the values, whose ID is their place.
func boundSamples(ctx context.Context, e *env) {
	v := boundValues()
	for i := range v["count"] {
		insertAll(ctx, e, e.samples(ctx), sample{Scope: e.name("s"), ID: fmt.Sprint(i), Data: []byte{1},
			Count: v["count"][i].(int64), Ratio: v["ratio"][i].(float64), Text: v["text"][i].(string), When: v["when"][i].(time.Time)})
	}
}

func sampleIDs(ctx context.Context, e *env, q repo.Query) []string {
	return find(ctx, e, e.samples(ctx), q, func(s sample) string { return s.ID })
}

func everyBound(ctx context.Context, e *env) {
	boundSamples(ctx, e)
	q := repo.Where("scope", e.name("s"))
	for field, vals := range boundValues() {
		if !slices.Contains(sampleFields(e), field) {
			continue
		}
		for at, v := range vals {
			for _, b := range boundCases {
				want := []string{}
				for i := range vals {
					if b.meets(i - at) {
						want = append(want, fmt.Sprint(i))
					}
				}
				what := fmt.Sprintf("the records with %s %s the value %d", field, b.name, at)
				one := b.bound(q, field, v)
				rule.Equal(e, what, sampleIDs(ctx, e, one.Order(field)), want)
				n, err := e.samples(ctx).Count(ctx, one)
				e.OK("count", err)
				rule.Equal(e, "the number of "+what, n, len(want))
				slices.Reverse(want)
				rule.Equal(e, what+" backwards", sampleIDs(ctx, e, one.Order("-"+field)), want)
				pagesOfSamples(ctx, e, what, one.Order("-"+field).Limit(2), want)
			}
		}
	}
}

// pagesOfSamples reads what a query finds page by page, to the end and back.
func pagesOfSamples(ctx context.Context, e *env, what string, q repo.Query, want []string) {
	got, back := []string{}, []string{}
	var cursors []string
	for cursor := ""; ; {
		page, err := e.samples(ctx).Page(ctx, q, cursor)
		e.OK("page", err)
		for _, s := range page.Items {
			got = append(got, s.ID)
		}
		cursors = append(cursors, page.Prev)
		if cursor = page.Next; cursor == "" || len(got) > len(want) {
			break
		}
	}
	rule.Equal(e, "the pages of "+what, got, want)
	for cursor := cursors[len(cursors)-1]; cursor != "" && len(back) <= len(want); {
		page, err := e.samples(ctx).Page(ctx, q, cursor)
		e.OK("page back", err)
		ids := []string{}
		for _, s := range page.Items {
			ids = append(ids, s.ID)
		}
		back, cursor = append(ids, back...), page.Prev
	}
	rule.Equal(e, "the pages back of "+what, back, want[:len(back)])
	if pages := (len(want) + 1) / 2; pages > 1 {
		rule.Equal(e, "how many were met on the way back, of "+what, len(back), 2*(pages-1))
	}
}

func boundsTogether(ctx context.Context, e *env) {
	boundSamples(ctx, e)
	q := repo.Where("scope", e.name("s"))
	for _, tt := range []struct {
		q    repo.Query
		want string
	}{
		{q.Above("count", -1).AtMost("count", 10), "2 3"},
		{q.Range("count", -1, 10).Range("count", 0, nil), "2"},
		{q.Range("count", 0, nil).Range("count", -1, 10), "2"},
		{q.Above("count", 0).AtLeast("count", 0), "3 4"},
		{q.AtMost("count", 0).Below("count", 0), "0 1"},
		{q.Above("count", 0).AtMost("count", 0), ""},
	} {
		rule.Equal(e, "the records with "+tt.q.String(), strings.Join(sampleIDs(ctx, e, tt.q), " "), tt.want)
		scanned, err := repo.Collect(e.samples(ctx).Scan(ctx, tt.q))
		e.OK("scan", err)
		rule.Equal(e, "the number of them by a scan", len(scanned), len(strings.Fields(tt.want)))
	}
	_, err := repo.Collect(e.samples(ctx).Find(ctx, q.Above("count", 0).Prefix("text", "a")))
	e.Is("bounds of two fields", err, repo.ErrInvalid)
}

func emptyPrefix(ctx context.Context, e *env) {
	if !slices.Contains(sampleFields(e), "text") {
		return // texts have another order there than a key
	}
	boundSamples(ctx, e)
	all := []string{"0", "1", "2", "3", "4"}
	q := repo.Where("scope", e.name("s")).Prefix("text", "")
	rule.Equal(e, "those whose text begins with nothing", sampleIDs(ctx, e, q.Order("text")), all)
	pagesOfSamples(ctx, e, "those whose text begins with nothing", q.Order("text").Limit(2), all)
	slices.Reverse(all)
	rule.Equal(e, "the same backwards", sampleIDs(ctx, e, q.Order("-text")), all)
	rule.Equal(e, "those behind one", sampleIDs(ctx, e, q.Above("text", "a").Order("-text")), all[:3])
	rule.Equal(e, "those that begin with one, behind it", sampleIDs(ctx, e, q.Prefix("text", "a").Above("text", "a")), []string{"2"})
	rule.Equal(e, "those that begin with two", sampleIDs(ctx, e, q.Prefix("text", "a").Prefix("text", "b")), []string{})
}

// A result is of a player in a team; a score need not be there.
type result struct {
	Player string `repo:"player"`
	ID     string `repo:"id"`
	Team   string `repo:"team"`
	Score  *int64 `repo:"score"`
}

func lackingFields(ctx context.Context, e *env) {
	score := repo.Index{Partition: []string{"player"}, Sort: []string{"team", "-score"}}
	team := repo.Index{Partition: []string{"player"}, Sort: []string{"team"}}
	q := repo.Where("player", e.name("p")).Where("team", e.name("t"))
	for name, list := range map[string][]repo.Index{"results": {score, team}, "results_reverse": {team, score}} {
		r := rule.Shared[result](ctx, e, repo.Schema{Collection: name, Partition: []string{"player"}, Sort: []string{"id"}, Indexes: list})
		for i, n := range []int64{5, 0, 7, 0} {
			rec := result{Player: e.name("p"), ID: fmt.Sprint(i), Team: e.name("t")}
			if n > 0 {
				rec.Score = &n
			}
			insertAll(ctx, e, r, rec)
		}
		id := func(x result) string { return x.ID }
		rule.Equal(e, "all of the team, by "+name, find(ctx, e, r, q, id), []string{"0", "1", "2", "3"})
		n, err := r.Count(ctx, q)
		e.OK("count", err)
		rule.Equal(e, "their number", n, 4)
		rule.Equal(e, "those with a score", find(ctx, e, r, q.Order("-score"), id), []string{"2", "0"})
		rule.Equal(e, "the same by a range that is open on both sides", find(ctx, e, r, q.Range("score", nil, nil), id), []string{"2", "0"})
	}
	alone := rule.Shared[result](ctx, e, repo.Schema{Collection: "results_alone", Partition: []string{"player"}, Sort: []string{"id"}, Indexes: []repo.Index{score}})
	_, err := alone.Count(ctx, q)
	e.Is("count by an index that lacks records", err, repo.ErrNoIndex)
}
