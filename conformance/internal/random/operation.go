package random

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/conformance/internal/record"
	"github.com/polystore/polystore/repo"
)

// An operation is one call, as data: the same on every store. Versions are named
// by what the caller has seen of them.
type operation struct {
	verb   string
	rec    record.Entry // of writes; Part and ID are the key of all others
	expect string       // "", "current" or "old": the version that the write expects
	edits  []edit
	list   []operation // of a group or a bulk write
	q      query
	more   []query // that are asked at the same time
	n      int     // seconds, or size of a page
}

// An edit is one change of a patch.
type edit struct {
	field string
	do    string // "set", "unset", "add", "expire", "push", "push front" or "pull"
	value any
	keep  int // elements of a list, 0 for all
}

func (e edit) repo() repo.Edit {
	switch v := e.value.(type) {
	case float64:
		return repo.Add(e.field, v)
	case []any:
		switch e.do {
		case "push":
			return repo.Push(e.field, e.keep, v...)
		case "push front":
			return repo.PushFront(e.field, e.keep, v...)
		}
		return repo.Pull(e.field, v...)
	}
	switch e.do {
	case "set":
		return repo.Set(e.field, e.value)
	case "add":
		return repo.Add(e.field, e.value.(int64))
	case "expire":
		return repo.ExpireAt(e.value.(time.Time))
	}
	return repo.Unset(e.field)
}

func editsOf(list []edit) (edits []repo.Edit) {
	for _, e := range list {
		edits = append(edits, e.repo())
	}
	return edits
}

// A query is one that some index answers, or none.
type query struct {
	equal  [][2]any
	any    []any    // further values of the first of them
	all    bool     // a record has all of these, not any
	none   []any    // tags of which a record has none
	rng    string   // field that has bounds, or ""
	ends   [][2]any // how it is bounded, and by what
	order  []string
	limit  int
	offset int

	filter [][2]any // what a record is equal to, without an index
	by     string   // field of a grouping
}

// mostLooked is how many records a filter looks at, which is more than there are.
const mostLooked = 1000

func (q query) repo() repo.Query {
	out := repo.All()
	for i, e := range q.equal {
		switch field := e[0].(string); {
		case i == 0 && q.all:
			out = out.AllOf(field, q.values()...)
		case i == 0 && q.any != nil:
			out = out.AnyOf(field, q.values()...)
		default:
			out = out.Where(field, e[1])
		}
	}
	if q.none != nil {
		out = out.NoneOf("tags[]", q.none...)
	}
	for _, e := range q.filter {
		out = out.Filter(repo.Where(e[0].(string), e[1]), mostLooked)
	}
	if q.rng != "" && len(q.ends) == 0 {
		out = out.Range(q.rng, nil, nil)
	}
	for _, e := range q.ends {
		switch v := e[1]; e[0] {
		case "above":
			out = out.Above(q.rng, v)
		case "at least":
			out = out.AtLeast(q.rng, v)
		case "below":
			out = out.Below(q.rng, v)
		case "at most":
			out = out.AtMost(q.rng, v)
		case "prefix":
			out = out.Prefix(q.rng, v.(string))
		}
	}
	return out.Order(q.order...).Limit(q.limit).Offset(q.offset)
}

func (o operation) String() string {
	key := fmt.Sprintf("%q/%d", o.rec.Part, o.rec.ID)
	if o.expect != "" {
		key += " if " + o.expect
	}
	switch o.verb {
	case "insert", "put", "replace":
		return strings.TrimSuffix(o.verb+" "+o.rec.String()+" if "+o.expect, " if ")
	case "patch", "update":
		return fmt.Sprintf("%s %s %v", o.verb, key, o.edits)
	case "group", "insert all", "put all", "delete all", "patch all":
		var list []string
		for _, w := range o.list {
			list = append(list, w.String())
		}
		return strings.TrimSuffix(fmt.Sprint(o.verb, " of ", strings.Join(list, "; "), " ", o.edits), " []")
	case "get", "delete", "exists", "get many":
		return o.verb + " " + key
	case "pass":
		return fmt.Sprintf("%d seconds pass", o.n)
	case "walk", "verify", "maintain":
		return o.verb
	}
	text := fmt.Sprintf("%s %s limit %d by %s", o.verb, o.q.repo(), o.q.limit, o.q.by)
	for _, q := range o.more {
		text += fmt.Sprintf(" and %s limit %d", q.repo(), q.limit)
	}
	return strings.TrimSuffix(text, " by ")
}

// A draw makes operations.
type draw struct{ *rand.Rand }

func (d *draw) pick(list ...string) string { return list[d.IntN(len(list))] }

func (d *draw) operation() operation {
	op := operation{rec: d.entry()}
	switch n := d.IntN(100); {
	case n < 18:
		op.verb = "insert"
	case n < 28:
		op.verb, op.expect = d.pick("put", "replace"), d.expect()
	case n < 38:
		op.verb, op.edits, op.expect = d.pick("patch", "update"), d.edits(), d.expect()
	case n < 45:
		op.verb, op.expect = "delete", d.expect()
	case n < 49:
		op.verb, op.list = "group", d.writes(true)
	case n < 52:
		op.verb, op.list = d.pick("insert all", "put all", "delete all", "patch all"), d.writes(false)
		if op.verb == "patch all" {
			op.edits = d.edits()
		}
		for i := range op.list {
			if op.verb != "insert all" { // a name that one record gives up and another one takes may be refused
				op.list[i].rec.Name = nil
			}
		}
		op.edits = slices.DeleteFunc(op.edits, func(e edit) bool { return e.field == "name" && e.do == "set" })
		if op.verb == "patch all" && len(op.edits) == 0 {
			op.edits = []edit{{field: "note", do: "set", value: "p"}}
		}
	case n < 53:
		op.verb, op.n = "pass", d.IntN(40)
	case n < 54:
		op.verb = d.pick("maintain", "walk")
	case n < 64:
		op.verb = d.pick("get", "exists", "get many")
	default:
		op.verb = d.pick("find", "find", "find", "keys", "count", "view", "one", "page", "page", "scan", "best", "groups", "first", "find many")
		op.q, op.n = d.query(), 1+d.IntN(4)
		switch op.verb {
		case "find many":
			for range 1 + d.IntN(2) {
				op.more = append(op.more, d.query())
			}
		case "best":
			op.q = d.ranked()
		case "groups":
			op.q.offset = 0
			op.q.by = d.pick("kind", "score")
			if len(op.q.order) > 0 {
				op.q.by = strings.TrimPrefix(op.q.order[0], "-")
			}
		}
	}
	return op
}

func (d *draw) expect() string { return d.pick("", "", "", "current", "old") }

// low returns a number below n, low ones more often.
func (d *draw) low(n int) int { return min(d.IntN(n), d.IntN(n)) }

func (d *draw) entry() record.Entry {
	e := record.Entry{Part: record.PartName(d.low(record.Parts)), ID: int64(d.low(record.IdsOfPart)), Kind: d.kind(), Score: int64(d.IntN(4) - 1)}
	if d.IntN(3) > 0 {
		name := d.pick("n", "N", "n#", "nn")
		e.Name = &name
	}
	for range d.IntN(3) {
		e.Tags = append(e.Tags, d.pick("x", "y", "x y", ""))
	}
	if d.IntN(4) == 0 {
		e.Note = d.pick("a", "b\x00", "\U0010ffff")
	}
	if d.IntN(3) == 0 {
		e.Place = record.Place{City: d.city(), Rate: float64(d.IntN(4)) / 4}
	}
	if d.IntN(5) == 0 {
		e.Extra = map[string]any{d.pick("f", "g"): int64(d.IntN(3))}
	}
	if d.IntN(5) == 0 {
		e.Until = d.until()
	}
	return e
}

func (d *draw) until() time.Time {
	return time.UnixMilli(1_500_000_000_000 + int64(d.IntN(200_000))).UTC()
}

func (d *draw) bound() string { return d.pick("above", "at least", "below", "at most") }

func (d *draw) kind() string { return d.pick("k", "K", "k1", "k%") }

func (d *draw) city() string { return d.pick("Rome", "Oslo", "Rom") }

func (d *draw) edits() []edit {
	tags := []any{d.pick("x", "y"), d.pick("x", "z", "")}[:1+d.IntN(2)]
	all := []edit{
		{"kind", "set", d.kind(), 0}, {"score", "add", int64(d.IntN(5) - 2), 0}, {"note", "set", d.pick("a", "c"), 0}, {"note", "unset", nil, 0},
		{"tags", "set", []string{d.pick("x", "y"), d.pick("x", "z")}, 0}, {"tags", "unset", nil, 0}, {"name", "set", d.pick("n", "N", "nn"), 0}, {"name", "unset", nil, 0},
		{"f", "add", int64(1), 0}, {"g", "set", d.pick("text", ""), 0}, {"f", "unset", nil, 0}, {"score", "set", int64(d.IntN(4)), 0},
		{"", "expire", d.until(), 0}, {"", "expire", time.Time{}, 0},
		{"tags", "push", tags, d.IntN(4)}, {"tags", "push front", tags, d.IntN(4)}, {"tags", "pull", tags, 0}, {"tags.0", "set", d.pick("x", "z"), 0},
		{"place.city", "set", d.city(), 0}, {"place.city", "unset", nil, 0}, {"place.rate", "add", float64(d.IntN(9)-4) / 4, 0}, {"f", "add", 0.5, 0},
	}
	if d.IntN(4) == 0 {
		all = all[8:11] // of fields that no index has
	}
	var list []edit
	for range 1 + d.IntN(3) {
		e := all[d.IntN(len(all))]
		if !slices.ContainsFunc(list, func(o edit) bool { return o.field == e.field }) {
			list = append(list, e)
		}
	}
	return list
}

// writes returns writes for a group, of one partition, or for a bulk insert.
func (d *draw) writes(group bool) []operation {
	var list []operation
	part := record.PartName(d.IntN(record.Parts))
	for range 1 + d.IntN(4) {
		w := operation{verb: "insert", rec: d.entry()}
		if group {
			w.verb, w.expect = d.pick("insert", "put", "replace", "delete", "put"), d.expect()
			if d.IntN(20) > 0 {
				w.rec.Part = part
			}
		}
		list = append(list, w)
	}
	return list
}

// query returns a query of a form that some index answers, or now and then none.
func (d *draw) query() query {
	part := [2]any{"part", record.PartName(d.IntN(record.Parts))}
	kind := [2]any{"kind", d.kind()}
	forms := []query{
		{equal: [][2]any{part}},
		{equal: [][2]any{part}, order: []string{d.pick("id", "-id")}},
		{equal: [][2]any{part}, rng: "id", order: []string{d.pick("id", "-id")}},
		{equal: [][2]any{part, {"id", int64(d.IntN(record.IdsOfPart))}}},
		{equal: [][2]any{part}, rng: "score", order: []string{d.pick("score", "-score")}},
		{equal: [][2]any{part}, order: []string{d.pick("score", "-score")}},
		{equal: [][2]any{part, kind}, order: []string{d.pick("score", "-score", "id", "-id")}},
		{equal: [][2]any{part}, rng: "kind", ends: [][2]any{{"prefix", d.pick("k", "K", "k1", "x", "")}}},
		{equal: [][2]any{part}, rng: "kind", ends: [][2]any{{"prefix", d.pick("k", "")}, {d.bound(), d.kind()}}},
		{equal: [][2]any{kind}, order: []string{d.pick("score", "-score")}},
		{equal: [][2]any{kind}, rng: "score", order: []string{d.pick("score", "-score")}},
		{equal: [][2]any{{"tags[]", d.pick("x", "y", "x y", "", "z")}}, order: []string{d.pick("score", "-score")}},
		{equal: [][2]any{{"tags[]", d.pick("x", "y")}}, rng: "score"},
		{equal: [][2]any{{"name", d.pick("n", "N", "n#", "nn", "none")}}},
		{equal: [][2]any{kind, {"tags[]", d.pick("x", "y")}}},
		{rng: "score", order: []string{d.pick("score", "-score")}},
		{order: []string{d.pick("score", "-score")}},
		{equal: [][2]any{{"note", "a"}}},
		{equal: [][2]any{part, {"place.city", d.city()}}},
		{equal: [][2]any{part}, order: []string{d.pick("place.city", "-place.city")}},
	}
	q := forms[d.IntN(len(forms))]
	if q.rng == "score" || q.rng == "id" {
		for range d.IntN(3) {
			q.ends = append(q.ends, [2]any{d.bound(), int64(d.IntN(5) - 1)})
		}
	}
	if len(q.equal) > 0 && d.IntN(4) == 0 {
		q.any = d.others(q.equal[0][0].(string))
		q.all = q.equal[0][0] == "tags[]" && d.IntN(2) == 0
	}
	if d.IntN(3) == 0 {
		q.limit = 1 + d.IntN(4)
	}
	return d.narrowed(q)
}

// narrowed adds conditions that no index meets, now and then.
func (d *draw) narrowed(q query) query {
	if d.IntN(5) == 0 {
		q.offset = 1 + d.IntN(3)
	}
	switch d.IntN(9) {
	case 3:
		q.filter = [][2]any{{"place.city", d.city()}}
	case 0:
		q.none = d.others("tags[]")
	case 1:
		q.filter = [][2]any{{"score", int64(d.IntN(4) - 1)}}
	case 2:
		q.filter = [][2]any{{"note", d.pick("", "", "a")}, {"tags[]", d.pick("x", "y")}}
	}
	return q
}

// ranked returns a query for the records that have the most of some tags.
func (d *draw) ranked() query {
	q := query{equal: [][2]any{{"tags[]", d.pick("x", "y", "x y", "")}}, any: append(d.others("tags[]"), d.pick("x", "y")), limit: 1 + d.IntN(5)}
	switch d.IntN(4) {
	case 0:
		q.equal = append(q.equal, [2]any{"kind", d.kind()})
	case 1:
		q.rng, q.ends = "score", [][2]any{{d.bound(), int64(d.IntN(4) - 1)}}
	case 2:
		q.order = []string{d.pick("score", "-score")}
	}
	return d.narrowed(q)
}

// others returns values of a field, none sometimes, and some twice.
func (d *draw) others(field string) []any {
	list := []any{}
	for range d.IntN(4) {
		switch field {
		case "part":
			list = append(list, record.PartName(d.IntN(record.Parts)))
		case "kind":
			list = append(list, d.kind())
		case "name":
			list = append(list, d.pick("n", "N", "n#", "nn"))
		default:
			list = append(list, d.pick("x", "y", "x y", "a"))
		}
	}
	return list
}
