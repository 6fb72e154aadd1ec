package api

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/spi"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

func walkRules() []entry {
	return []entry{
		{Name: "rows that cannot be read", After: "chunks for good", Sentence: "A row whose key nobody can take apart is named and keeps neither a walk nor Maintain from the others.", Check: oddRows},
		{Name: "walk records", Sentence: "Walk yields all records of a collection, and goes on after a mark.", Check: walkRecords},
		{Name: "scan", Sentence: "Scan answers any query as an index would.", Needs: tested.KeepsLocal, Check: scan},
		{Name: "scan without an index", Sentence: "Scan answers queries that no index answers, ties in the order of the keys.", Check: scanAny},
		{Name: "scan leaves out", Sentence: "Scan in an order leaves out records that lack a field of it.", Check: scanLeavesOut},
	}
}

// oddRows writes rows with keys that nobody can take apart, to a table and to a collection.
func oddRows(ctx context.Context, e *env) {
	if spi.WalkBesideOdd(ctx, e.Env) {
		maintainBeside(ctx, e)
	}
}

// maintainBeside sees that Walk and Maintain find what is beside an odd record.
func maintainBeside(ctx context.Context, e *env) {
	known := &tap{Store: e.Store, tables: map[string]*driver.Table{}}
	schema := sessionSchema()
	schema.Collection, schema.Indexes = e.FreshName(), nil
	r, err := repo.Open[session](ctx, repo.NewStore(known, nil), schema)
	e.OK("open", err)
	for i := range 10 {
		s := session{User: e.name("user"), ID: fmt.Sprint(i)}
		if i%2 == 0 {
			s.Until = time.Now().Add(-time.Hour)
		}
		e.OK("insert", r.Insert(ctx, &s))
	}
	t := known.tables[schema.Collection]
	spi.PutOdd(ctx, e.Env, t, spi.OddKey(e.Env, t, "5"))
	done, err := r.Maintain(ctx)
	e.Is("maintain beside a record that cannot be read", err, repo.ErrCorrupt)
	rule.Equal(e, "the expired records that were removed", done.Expired, 5)
	records, faults := 0, 0
	for chunk, err := range r.Walk(ctx, "") {
		if records += len(chunk.Items); err != nil {
			e.Is("walk", err, repo.ErrCorrupt)
			faults++
		}
	}
	rule.Equal(e, "the records by walk", records, 5)
	e.That(faults > 0, "an error of the record that cannot be read", "none")
}

func walkRecords(ctx context.Context, e *env) {
	items := rule.Fresh[item](ctx, e, itemSchema())
	list := itemList(e, 700)
	_, err := items.InsertAll(ctx, double.Sequence(list, nil))
	e.OK("insert all", err)
	seen, marks := map[string]int{}, []string{}
	for chunk, err := range items.Walk(ctx, "") {
		e.OK("walk", err)
		for _, it := range chunk.Items {
			seen[it.ID]++
			e.That(!it.Version.IsZero() && it.Text == "text of "+it.ID, "a whole record", "%s", rule.Brief(it))
		}
		marks = append(marks, chunk.Mark)
	}
	rule.Equal(e, "the number of records", len(seen), 700)
	if marks[0] != "" {
		rest := 0
		for chunk, err := range items.Walk(ctx, marks[0]) {
			e.OK("walk", err)
			rest += len(chunk.Items)
		}
		e.That(rest > 0 && rest < 700, "some records after the first mark", "%d", rest)
	}
	for _, err := range items.Walk(ctx, "no mark") {
		e.Is("walk from a bad mark", err, repo.ErrInvalid)
	}
}

func scan(ctx context.Context, e *env) {
	fillMessages(ctx, e, "h", 40)
	h := repo.Where("host", e.name("h"))
	for _, q := range []repo.Query{h, h.Order("time"), h.Limit(7), h.Order("time").Limit(7), h.Where("level", "info").Order("-time"), h.Range("time", e.when(5), e.when(9)).Order("time"), h.Where("level", "none"), h.Where("level", "warn").Limit(3).Order("time")} {
		want := messageTexts(ctx, e, q)
		var got []string
		for _, m := range collect(e, "scan", e.messages(ctx).Scan(ctx, q)) {
			got = append(got, m.Text)
		}
		e.That(len(got) == len(want), fmt.Sprintf("%d records by scan of %s", len(want), q), "%d", len(got))
		if strings.Contains(q.String(), "order") {
			rule.Equal(e, "what a scan of "+q.String()+" finds", append([]string{}, got...), want)
		}
	}
}

func scanAny(ctx context.Context, e *env) {
	for i := range 30 {
		it := e.item(fmt.Sprintf("%02d", i))
		it.Shelf, it.Count, it.Ratio, it.Text = e.name(fmt.Sprint("shelf", i%3)), int64(i%4), float64(i%5), e.Tag
		e.insertItem(ctx, it)
	}
	id := func(it item) string { return it.ID }
	own := repo.Where("text", e.Tag)
	for _, tt := range []struct {
		q    repo.Query
		want []string
	}{
		{own.Where("count", 3).Order("-ratio", "id"), []string{"19", "03", "23", "07", "27", "11", "15"}},
		{own.Where("ratio", 4).Order("-id").Limit(2), []string{"29", "24"}},
		{own.Range("count", 3, nil).Order("ratio").Limit(3), []string{"15", "11", "27"}},
		{own.Prefix("id", "1").Order("count", "id").Limit(4), []string{"12", "16", "13", "17"}},
	} {
		var got []string
		for _, it := range collect(e, "scan", e.items(ctx).Scan(ctx, tt.q)) {
			got = append(got, id(it))
		}
		rule.Equal(e, "what a scan of "+tt.q.String()+" finds", got, tt.want)
	}
}

func scanLeavesOut(ctx context.Context, e *env) {
	for i, option := range []string{"b", "", "a", ""} {
		it := e.item(fmt.Sprint(i))
		it.Text = e.Tag
		if option != "" {
			it.Option = &option
		}
		e.insertItem(ctx, it)
	}
	own := repo.Where("text", e.Tag)
	var got []string
	for _, it := range collect(e, "scan", e.items(ctx).Scan(ctx, own.Order("option"))) {
		got = append(got, it.ID)
	}
	rule.Equal(e, "the records in the order of a field that some lack", got, []string{"2", "0"})
	rule.Equal(e, "the number of records without an order", len(collect(e, "scan", e.items(ctx).Scan(ctx, own))), 4)
}
