package api

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
)

func queryRules() []entry {
	local := []entry{
		{Name: "equality", Sentence: "A query finds the records whose field has a value, and no others.", Check: equality},
		{Name: "ranges", Sentence: "Range asks for from <= field < to; nil leaves an end open.", Check: halfOpenRanges},
		{Name: "ranges of every kind", Sentence: "Ranges are half open for every kind, in columns upwards and downwards.", Check: kindRanges},
		{Name: "prefix", Sentence: "Prefix asks for text that begins with it, byte by byte.", Check: prefixes},
		{Name: "leading parts", Sentence: "A key of several parts is selected by any leading ones, and the next by range or prefix.", Check: leadingParts},
		{Name: "order", Sentence: "Order sorts, greater values first where the field has a minus, and Limit takes the first.", Check: ordered},
		{Name: "key order", Sentence: "Sort fields marked with a minus put greater values first.", Check: descendingKey},
		{Name: "query anew", Sentence: "The query runs anew for each range loop, lazily.", Check: queryAnew},
		{Name: "error at the end", Sentence: "An error comes once, last, with the zero value.", Check: errorAtTheEnd},
		{Name: "count", Sentence: "Count is the number of records that a query finds, at most its limit.", Check: countRule},
		{Name: "keys", Sentence: "Keys yields the keys of the records that a query finds.", Check: keysRule},
		{Name: "one", Sentence: "One finds the one record; none is ErrNotFound and several are ErrInvalid.", Check: oneRule},
		{Name: "views", Sentence: "A view reads the fields of a smaller struct, by Get, GetMany, One, Find and Page.", Check: views},
		{Name: "view by other fields", Sentence: "A view finds records by fields that it has not.", Check: viewByOthers},
		{Name: "hundreds", Sentence: "A query that finds hundreds of records finds all of them, once and in order.", Check: hundreds},
		{Name: "what is sent", Sentence: "The Tally of a call has the round trips and requests that Paging foretells, and without it a call is one trip.", Check: sent},
		{Name: "requests told", Sentence: "Each request that a call begins on its Tally ends; together they are what the Tally counts.", Check: requestsTold},
	}
	for i := range local {
		local[i].Needs = tested.KeepsLocal
	}
	return slices.Concat(local, boundRules(), []entry{
		{Name: "composite index", Sentence: "An index of several fields answers equality on the leading ones and a range on the next.", Needs: tested.KeepsLocal, Check: compositeIndex},
		{Name: "covered view", Sentence: "A view of covered fields is answered by one read of the index.", Needs: tested.ChangesStore, Check: coveredView},
	}, cursorRules())
}

// fillMessages inserts n messages of a host, a second apart, and returns their
// texts, oldest first.
func fillMessages(ctx context.Context, e *env, host string, n int) []string {
	var texts []string
	for i := range n {
		m := message{Host: e.name(host), Time: e.when(i), ID: int64(i), Level: []string{"error", "info", "warn"}[i%3], Text: fmt.Sprintf("%s %03d", host, i)}
		insertAll(ctx, e, e.messages(ctx), m)
		texts = append(texts, m.Text)
	}
	return texts
}

func textOfMessage(m message) string { return m.Text }

func messageTexts(ctx context.Context, e *env, q repo.Query) []string {
	return find(ctx, e, e.messages(ctx), q, textOfMessage)
}

func equality(ctx context.Context, e *env) {
	a, b := fillMessages(ctx, e, "a", 6), fillMessages(ctx, e, "A", 3)
	slices.Reverse(a)
	slices.Reverse(b)
	rule.Equal(e, "the messages of a", messageTexts(ctx, e, repo.Where("host", e.name("a"))), a)
	rule.Equal(e, "the messages of A", messageTexts(ctx, e, repo.Where("host", e.name("A"))), b)
	rule.Equal(e, "the messages of nobody", messageTexts(ctx, e, repo.Where("host", e.name("b"))), []string{})
	rule.Equal(e, "the errors of a", messageTexts(ctx, e, repo.Where("host", e.name("a")).Where("level", "error")), []string{"a 003", "a 000"})
	rule.Equal(e, "one by its whole key", messageTexts(ctx, e, repo.Where("host", e.name("a")).Where("time", e.when(4)).Where("id", 4)), []string{"a 004"})
}

func halfOpenRanges(ctx context.Context, e *env) {
	fillMessages(ctx, e, "h", 6)
	q := repo.Where("host", e.name("h")).Order("time")
	for _, tt := range []struct {
		from, to any
		want     []string
	}{
		{e.when(1), e.when(3), []string{"h 001", "h 002"}},
		{e.when(1).Add(time.Millisecond), e.when(3).Add(time.Millisecond), []string{"h 002", "h 003"}},
		{nil, e.when(2), []string{"h 000", "h 001"}},
		{e.when(4), nil, []string{"h 004", "h 005"}},
		{e.when(2), e.when(2), []string{}},
		{e.when(3), e.when(1), []string{}},
		{e.when(-5), e.when(0), []string{}},
		{e.when(6), nil, []string{}},
		{nil, nil, []string{"h 000", "h 001", "h 002", "h 003", "h 004", "h 005"}},
	} {
		got := messageTexts(ctx, e, q.Range("time", tt.from, tt.to))
		rule.Equal(e, fmt.Sprintf("the messages from %v below %v", tt.from, tt.to), got, tt.want)
		slices.Reverse(got)
		rule.Equal(e, "the same, newest first", messageTexts(ctx, e, q.Range("time", tt.from, tt.to).Order("-time")), got)
	}
}

func kindRanges(ctx context.Context, e *env) {
	samples, q := e.samples(ctx), repo.Where("scope", e.name("s"))
	values := map[string][]any{"count": nil, "ratio": nil, "text": nil, "data": nil, "when": nil}
	for i, n := range []int64{math.MinInt64, -10, -1, 0, 1, 9, 10, math.MaxInt64} {
		s := sample{Scope: e.name("s"), ID: fmt.Sprint(i), Count: n, Ratio: float64(n) / 4, Text: strings.Repeat("\U0010ffff", i), Data: []byte{byte(i * 36), 255}, When: time.UnixMilli(max(min(n, 1<<60), -1<<60))}
		insertAll(ctx, e, samples, s)
		for field, v := range map[string]any{"count": s.Count, "ratio": s.Ratio, "text": s.Text, "data": s.Data, "when": s.When} {
			values[field] = append(values[field], v)
		}
	}
	for field, vals := range values {
		if !slices.Contains(sampleFields(e), field) {
			continue
		}
		for _, b := range [][2]int{{0, 8}, {0, 1}, {1, 4}, {3, 3}, {5, 2}, {7, 8}, {2, 7}} {
			var to any
			want := []string{}
			for i := b[0]; i < b[1]; i++ {
				want = append(want, fmt.Sprint(i))
			}
			if b[1] < len(vals) {
				to = vals[b[1]]
			}
			r := q.Range(field, vals[b[0]], to)
			id := func(s sample) string { return s.ID }
			rule.Equal(e, fmt.Sprintf("the records with %s from %d below %d", field, b[0], b[1]), find(ctx, e, samples, r.Order(field), id), want)
			slices.Reverse(want)
			rule.Equal(e, fmt.Sprintf("the records with %s from %d below %d backwards", field, b[0], b[1]), find(ctx, e, samples, r.Order("-"+field), id), want)
		}
	}
}

// insertJobs inserts jobs of one scope, by parts joined with '|'.
func insertJobs(ctx context.Context, e *env, list ...string) {
	for _, text := range list {
		parts := append(strings.Split(text, "|"), "", "")
		insertAll(ctx, e, e.jobs(ctx), job{Scope: e.name("s"), Category: parts[0], Sub: parts[1], Position: parts[2], Text: text})
	}
}

func jobTexts(ctx context.Context, e *env, q repo.Query) []string {
	return find(ctx, e, e.jobs(ctx), q.Where("scope", e.name("s")), func(j job) string { return j.Text })
}

func prefixes(ctx context.Context, e *env) {
	insertJobs(ctx, e, "c|", "c|a", "c|ab", "c|ab%", "c|ab%c", "c|ab#", "c|aB", "c|b", "c|\ud7ff", "c|\ud7ffx", "c|\ue000", "c|\U0010ffff", "c|\U0010ffff\U0010ffff", "c|é", "c|e\u0301", "C|ab")
	for prefix, want := range map[string][]string{
		"ab":         {"c|ab", "c|ab#", "c|ab%", "c|ab%c"},
		"ab%":        {"c|ab%", "c|ab%c"},
		"a":          {"c|a", "c|aB", "c|ab", "c|ab#", "c|ab%", "c|ab%c"},
		"abc":        {},
		"e":          {"c|e\u0301"},
		"\ud7ff":     {"c|\ud7ff", "c|\ud7ffx"},
		"\ue000":     {"c|\ue000"},
		"\U0010ffff": {"c|\U0010ffff", "c|\U0010ffff\U0010ffff"},
		"A":          {},
	} {
		rule.Equal(e, "the jobs whose sub begins with "+rule.Brief(prefix), jobTexts(ctx, e, repo.Where("category", "c").Prefix("sub", prefix)), want)
	}
	rule.Equal(e, "the number of those that begin with nothing", len(jobTexts(ctx, e, repo.Where("category", "c").Prefix("sub", ""))), 15)
	_, err := repo.Collect(e.jobs(ctx).Find(ctx, repo.Where("scope", e.name("s")).Where("category", "c").Prefix("sub", "\xff")))
	e.Is("find by a prefix that is not UTF-8", err, repo.ErrInvalid)
}

func leadingParts(ctx context.Context, e *env) {
	insertJobs(ctx, e, "a|b|c", "a|b|d", "a|bb|c", "a||bc", "a|b", "ab||c", "ab|c", "|ab|c", "a|b:c|")
	for _, tt := range []struct {
		q    repo.Query
		want []string
	}{
		{repo.Where("category", "a"), []string{"a||bc", "a|b", "a|b|c", "a|b|d", "a|b:c|", "a|bb|c"}},
		{repo.Where("category", "a").Where("sub", "b"), []string{"a|b", "a|b|c", "a|b|d"}},
		{repo.Where("category", "a").Where("sub", "b").Where("position", "c"), []string{"a|b|c"}},
		{repo.Where("category", "a").Where("sub", "b").Prefix("position", "c"), []string{"a|b|c"}},
		{repo.Where("category", "a").Range("sub", "b", "bb"), []string{"a|b", "a|b|c", "a|b|d", "a|b:c|"}},
		{repo.Where("category", "a").Where("sub", ""), []string{"a||bc"}},
		{repo.Where("category", ""), []string{"|ab|c"}},
		{repo.Where("category", "a").Where("position", "c"), []string{"a|b|c", "a|bb|c"}},
		{repo.Where("category", "ab"), []string{"ab||c", "ab|c"}},
	} {
		rule.Equal(e, "the jobs with "+tt.q.String(), jobTexts(ctx, e, tt.q), tt.want)
	}
}

func ordered(ctx context.Context, e *env) {
	up := fillMessages(ctx, e, "h", 9)
	down := slices.Clone(up)
	slices.Reverse(down)
	q := repo.Where("host", e.name("h"))
	for n := range 11 {
		want := func(list []string) []string {
			if n == 0 {
				return list
			}
			return list[:min(n, len(list))]
		}
		rule.Equal(e, fmt.Sprintf("the %d oldest messages", n), messageTexts(ctx, e, q.Order("time").Limit(n)), want(up))
		rule.Equal(e, fmt.Sprintf("the %d newest messages", n), messageTexts(ctx, e, q.Order("-time").Limit(n)), want(down))
	}
	rule.Equal(e, "the newest but one error", messageTexts(ctx, e, q.Where("level", "error").Order("-time").Limit(2)), []string{"h 006", "h 003"})
	rule.Equal(e, "the messages by level, newest first", messageTexts(ctx, e, q.Order("level", "-time")), []string{"h 006", "h 003", "h 000", "h 007", "h 004", "h 001", "h 008", "h 005", "h 002"})
	rule.Equal(e, "by level against it, oldest first", messageTexts(ctx, e, q.Order("-level", "time")), []string{"h 002", "h 005", "h 008", "h 001", "h 004", "h 007", "h 000", "h 003", "h 006"})
}

func descendingKey(ctx context.Context, e *env) {
	host := e.name("h")
	for _, m := range []message{{Time: e.when(1), ID: 2}, {Time: e.when(1), ID: -1}, {Time: e.when(2), ID: 5}, {Time: e.when(1), ID: 10}, {Time: e.when(0), ID: 0}} {
		m.Host, m.Text = host, fmt.Sprint(m.ID)
		insertAll(ctx, e, e.messages(ctx), m)
	}
	rule.Equal(e, "the messages in the order of their keys", messageTexts(ctx, e, repo.Where("host", host)), []string{"5", "-1", "2", "10", "0"})
	rule.Equal(e, "the messages against it", messageTexts(ctx, e, repo.Where("host", host).Order("time")), []string{"0", "10", "2", "-1", "5"})
}

func queryAnew(ctx context.Context, e *env) {
	seq := e.messages(ctx).Find(ctx, repo.Where("host", e.name("h")))
	for n := 1; n <= 4; n++ {
		m := message{Host: e.name("h"), Time: e.when(n), ID: int64(n), Text: fmt.Sprint(n)}
		insertAll(ctx, e, e.messages(ctx), m)
		rule.Equal(e, fmt.Sprintf("the number of records in loop %d", n), len(collect(e, "find", seq)), n)
	}
	seen := 0
	for _, err := range seq {
		e.OK("find", err)
		if seen++; seen == 2 {
			break
		}
	}
	rule.Equal(e, "the records seen of a loop that was left", seen, 2)
}

func errorAtTheEnd(ctx context.Context, e *env) {
	fillMessages(ctx, e, "h", 6)
	for _, q := range []repo.Query{repo.Where("host", e.name("h")), repo.Where("host", e.name("h")).Where("level", "error"), repo.Where("text", "no index")} {
		limited, cancel := context.WithCancel(ctx)
		var errs, after int
		for m, err := range e.messages(ctx).Find(limited, q) {
			after++
			if err != nil {
				errs, after = errs+1, 0
				e.That(m == message{}, "the zero record with an error", "%+v", m)
			}
			cancel()
		}
		cancel()
		e.That(errs <= 1 && after == 0 || errs == 0, "at most one error, at the end", "%d errors, %d records after the last", errs, after)
	}
	_, err := repo.Collect(e.messages(ctx).Find(double.Ended(ctx, context.Canceled), repo.Where("host", e.name("h"))))
	e.Is("find with a context that has ended", err, context.Canceled)
}

func countRule(ctx context.Context, e *env) {
	fillMessages(ctx, e, "h", 25)
	h := repo.Where("host", e.name("h"))
	for _, q := range []repo.Query{h, h.Limit(10), h.Limit(25), h.Limit(26), h.Limit(1), h.Where("level", "info"), h.Where("level", "info").Limit(3), h.Range("time", e.when(5), e.when(20)).Order("time"),
		h.Where("level", "warn").Range("time", nil, e.when(12)), h.Where("level", "none"), h.Range("time", e.when(9), e.when(3)), repo.Where("host", e.name("none"))} {
		n, err := e.messages(ctx).Count(ctx, q)
		e.OK("count of "+q.String(), err)
		rule.Equal(e, "the count of "+q.String(), n, len(messageTexts(ctx, e, q)))
	}
	e.OK("delete", e.messages(ctx).Delete(ctx, repo.Key{e.name("h"), e.when(3), 3}))
	n, err := e.messages(ctx).Count(ctx, h)
	e.That(err == nil && n == 24, "a count of 24 after a delete", "%d, %v", n, err)
}

func keysRule(ctx context.Context, e *env) {
	fillMessages(ctx, e, "h", 12)
	h := repo.Where("host", e.name("h"))
	for _, q := range []repo.Query{h, h.Limit(5), h.Where("level", "info").Order("time"), h.Range("time", e.when(2), e.when(9)).Order("time"), h.Where("level", "none")} {
		var want, got []string
		for _, m := range collect(e, "find", e.messages(ctx).Find(ctx, q)) {
			want = append(want, repo.Key{m.Host, m.Time, m.ID}.String())
		}
		for _, k := range collect(e, "keys", e.messages(ctx).Keys(ctx, q)) {
			got = append(got, k.String())
			_, err := e.messages(ctx).Get(ctx, k)
			e.OK("get by a key that Keys yielded", err)
		}
		rule.Equal(e, "the keys of "+q.String(), got, want)
	}
}

func oneRule(ctx context.Context, e *env) {
	fillMessages(ctx, e, "h", 4)
	h := repo.Where("host", e.name("h"))
	got, err := e.messages(ctx).One(ctx, h.Where("level", "info"))
	e.OK("one", err)
	rule.Equal(e, "the one message", got.Text, "h 001")
	got, err = e.messages(ctx).One(ctx, h.Where("level", "none"))
	e.Is("one of none", err, repo.ErrNotFound)
	rule.Equal(e, "what comes with the error", got, message{})
	_, err = e.messages(ctx).One(ctx, h.Where("level", "error"))
	e.Is("one of several", err, repo.ErrInvalid)
	_, err = e.messages(ctx).One(ctx, h.Limit(1))
	e.Is("one of several with a limit", err, repo.ErrInvalid)
}

func hundreds(ctx context.Context, e *env) {
	want := fillMessages(ctx, e, "h", 700)
	h := repo.Where("host", e.name("h"))
	rule.Equal(e, "all messages by the key", messageTexts(ctx, e, h.Order("time")), want)
	var infos []string
	for i := 1; i < len(want); i += 3 {
		infos = append(infos, want[i])
	}
	for _, m := range want[:60] {
		i := slices.Index(want, m)
		_, err := e.messages(ctx).Patch(ctx, repo.Key{e.name("h"), e.when(i), i}, repo.Set("level", "info"))
		e.OK("patch", err)
	}
	infos = append(slices.Clone(want[:60]), infos[20:]...)
	rule.Equal(e, "the messages by an index that does not cover them", messageTexts(ctx, e, h.Where("level", "info").Order("time")), infos)
	slices.Reverse(infos)
	rule.Equal(e, "the same backwards, with a limit over one batch", messageTexts(ctx, e, h.Where("level", "info").Order("-time").Limit(280)), infos[:min(280, len(infos))])
}

func compositeIndex(ctx context.Context, e *env) {
	samples := e.samples(ctx)
	for i := range 24 {
		insertAll(ctx, e, samples, sample{Scope: e.name("s"), ID: fmt.Sprintf("%02d", i), Flag: i%2 == 0, Count: int64(i / 6), Text: string(rune('a' + i%4))})
	}
	id := func(s sample) string { return s.ID }
	q := repo.Where("scope", e.name("s")).Where("flag", true)
	rule.Equal(e, "equality on the first", find(ctx, e, samples, q.Order("-count", "text").Limit(6), id), []string{"20", "18", "22", "12", "16", "14"})
	rule.Equal(e, "a range on the second", find(ctx, e, samples, q.Range("count", 1, 3).Order("-count"), id), []string{"12", "16", "14", "08", "06", "10"})
	rule.Equal(e, "equality on two", find(ctx, e, samples, q.Where("count", 2).Order("text"), id), []string{"12", "16", "14"})
	rule.Equal(e, "a prefix on the third", find(ctx, e, samples, q.Where("count", 2).Prefix("text", "a"), id), []string{"12", "16"})
	rule.Equal(e, "the same against the order", find(ctx, e, samples, q.Where("count", 2).Order("-text"), id), []string{"14", "16", "12"})
	_, err := repo.Collect(samples.Find(ctx, q.Order("count", "text")))
	e.Is("an order that turns one of two columns round", err, repo.ErrInvalid)
}
