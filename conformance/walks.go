package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

func walkRules() []rule {
	return []rule{
		{name: "walk", sentence: "Walk yields all rows of a table, with all fields and their Key, in chunks.", check: walkAll},
		{name: "empty table", sentence: "Walk of an empty table yields no row.", check: walkEmpty},
		{name: "marks", sentence: "A walk goes on after the chunk whose mark it is given.", check: walkMarks},
		{name: "last mark", sentence: "A walk that goes on after the last full chunk, behind which there is nothing, yields no row and no error.", check: lastMark},
		{name: "marks of deleted rows", sentence: "A walk goes on after its mark although the rows before it were deleted.", check: marksOfDeleted},
		{name: "bad marks", sentence: "A bad mark is ErrInvalid.", check: badMarks},
		{name: "chunks for good", sentence: "Chunks belong to the caller.", check: chunksForGood},
		{name: "rows that cannot be read", sentence: "A row whose key nobody can take apart is named and keeps neither a walk nor Maintain from the others.", check: oddRows},
		{name: "walk at once", sentence: "A row that is there during the whole walk comes at least once, while others come and go.", check: walkAtOnce},
		{name: "walk records", sentence: "Walk yields all records of a collection, and goes on after a mark.", check: walkRecords},
		{name: "scan", sentence: "Scan answers any query as an index would.", needs: tested.KeepsNear, check: scan},
		{name: "scan without an index", sentence: "Scan answers queries that no index answers, ties in the order of the keys.", check: scanAny},
		{name: "scan leaves out", sentence: "Scan in an order leaves out records that lack a field of it.", check: scanLeavesOut},
	}
}

// walkTable makes a table with n rows.
func walkTable(ctx context.Context, e *env, n int) (*driver.Table, []string) {
	t := e.ownTable(fieldColumns()...)
	e.define(ctx, t)
	var ops []driver.Op
	var want []string
	for i := range n {
		r := row(e.at(t, fmt.Sprint("p", i%7), fmt.Sprintf("%05d", i)), fmt.Sprint("row ", i))
		r.Extra, r.Note, r.Expires = []driver.Pair{{Name: "x", Value: num(int64(i))}}, fmt.Sprint("note ", i), int64(i)
		want = append(want, r.Key.Partition+r.Key.Sort)
		ops = append(ops, put(t, r))
	}
	for part := range 7 {
		var own []driver.Op
		for i := part; i < n; i += 7 {
			own = append(own, ops[i])
		}
		e.commitMany(ctx, own)
	}
	slices.Sort(want)
	return t, want
}

// walkFrom returns the keys and marks of a walk.
func walkFrom(ctx context.Context, e *env, t *driver.Table, mark string) (keys []string, chunks []driver.Chunk) {
	for chunk, err := range e.store.Walk(ctx, t, mark) {
		e.ok("walk", err)
		e.that(len(chunk.Rows) <= 1000, "some hundreds of rows in a chunk", "%d", len(chunk.Rows))
		if len(chunks) > 0 {
			e.that(chunks[len(chunks)-1].Mark != "", "a mark with every chunk but the last", "none")
		}
		for i := range chunk.Rows {
			keys = append(keys, chunk.Rows[i].Key.Partition+chunk.Rows[i].Key.Sort)
		}
		chunks = append(chunks, chunk)
	}
	slices.Sort(keys)
	return keys, chunks
}

func walkAll(ctx context.Context, e *env) {
	t, want := walkTable(ctx, e, 1500)
	keys, chunks := walkFrom(ctx, e, t, "")
	equal(e, "the number of rows", len(slices.Compact(keys)), len(want))
	for _, chunk := range chunks {
		for i := range chunk.Rows {
			r := &chunk.Rows[i]
			n, ok := strings.CutPrefix(textOf(r), "row ")
			e.that(ok, "a row with its fields", "%s", show(r))
			equal(e, "note, expiry and undeclared field of row "+n, fmt.Sprint(r.Note, " ", r.Expires, " ", r.Extra), fmt.Sprint("note "+n, " ", n, " ", []driver.Pair{{Name: "x", Value: num(r.Expires)}}))
		}
	}
}

func walkEmpty(ctx context.Context, e *env) {
	t := e.ownTable(fieldColumns()...)
	e.define(ctx, t)
	keys, _ := walkFrom(ctx, e, t, "")
	equal(e, "the number of rows", len(keys), 0)
	key := e.at(t, "p", "a")
	e.commit(ctx, put(t, row(key, "x")))
	keys, _ = walkFrom(ctx, e, t, "")
	equal(e, "the rows", keys, []string{key.Partition + key.Sort})
}

func walkMarks(ctx context.Context, e *env) {
	t, want := walkTable(ctx, e, 1500)
	_, chunks := walkFrom(ctx, e, t, "")
	e.that(len(chunks) > 1, "more than one chunk", "%d", len(chunks))
	for i, chunk := range chunks {
		if chunk.Mark == "" {
			continue
		}
		rest, _ := walkFrom(ctx, e, t, chunk.Mark)
		for _, before := range chunks[:i+1] {
			for j := range before.Rows {
				rest = append(rest, before.Rows[j].Key.Partition+before.Rows[j].Key.Sort)
			}
		}
		slices.Sort(rest)
		equal(e, fmt.Sprintf("the number of rows up to chunk %d and after its mark", i), len(slices.Compact(rest)), len(want))
	}
	equal(e, "how many rows there are at most after the first mark", lenAfter(ctx, e, t, chunks[0].Mark) <= len(want)-len(chunks[0].Rows)/2, true)
}

func lenAfter(ctx context.Context, e *env, t *driver.Table, mark string) int {
	keys, _ := walkFrom(ctx, e, t, mark)
	return len(keys)
}

func badMarks(ctx context.Context, e *env) {
	t, _ := walkTable(ctx, e, 1500)
	_, chunks := walkFrom(ctx, e, t, "")
	good := at(e, "the chunks of a walk", chunks, 0).Mark
	for _, mark := range []string{"\x00", "no mark", "\xff\xfe", strings.Repeat("m", 5000), good + "\x00x"} {
		seen := 0
		for chunk, err := range e.store.Walk(ctx, t, mark) {
			seen++
			e.is("walk from the mark "+brief(mark), err, driver.ErrInvalid)
			equal(e, "the rows with the error", len(chunk.Rows), 0)
		}
		equal(e, "how often the error came", seen, 1)
	}
	e.that(lenAfter(ctx, e, t, good) > 0, "rows after a good mark", "none")
}

func chunksForGood(ctx context.Context, e *env) {
	t, want := walkTable(ctx, e, 1500)
	_, chunks := walkFrom(ctx, e, t, "")
	walkFrom(ctx, e, t, "")
	var got []string
	for _, chunk := range chunks {
		for i := range chunk.Rows {
			r := &chunk.Rows[i]
			e.that(textOf(r) == "row "+strings.TrimPrefix(r.Note, "note "), "a row as it was yielded", "%s", show(r))
			got = append(got, r.Key.Partition+r.Key.Sort)
		}
	}
	slices.Sort(got)
	equal(e, "the keys of all chunks, looked at later", len(slices.Compact(got)), len(want))
}

// oddEnd is how keys end that no codec makes.
const oddEnd = "#odd"

// oddKey returns a key that nobody can take apart: there is more than its parts, without
// an end.
func oddKey(e *env, t *driver.Table, parts ...string) driver.Key {
	key := e.at(t, parts...)
	key.Sort = strings.TrimSuffix(key.Sort, "#") + oddEnd
	return key
}

// putOdd writes rows with odd keys, as another program might. A store may take none.
func putOdd(ctx context.Context, e *env, t *driver.Table, keys ...driver.Key) (taken bool) {
	for _, key := range keys {
		refusal, err := e.store.Commit(ctx, driver.NewToken(), []driver.Op{put(t, driver.Row{Key: key, Expires: 1})})
		if errors.Is(err, driver.ErrInvalid) {
			return false
		}
		e.ok("put of a row with an odd key", err)
		e.that(refusal == nil, "a put to be done", "a refusal")
	}
	return true
}

func oddRows(ctx context.Context, e *env) {
	t, want := walkTable(ctx, e, 600)
	if !putOdd(ctx, e, t, oddKey(e, t, "p0", "00003"), oddKey(e, t, "p6", "00500")) {
		return
	}
	seen, named := map[string]bool{}, 0
	for chunk, err := range e.store.Walk(ctx, t, "") {
		unread, ok := errors.AsType[driver.Unread](err)
		if named += len(unread); ok {
			e.is("what a walk cannot read", err, driver.ErrCorrupt)
			e.that(chunk.Mark != "" || len(seen)+len(chunk.Rows) >= len(want), "a mark with a chunk that is not the last", "none")
		} else {
			e.ok("walk", err)
		}
		for i := range chunk.Rows {
			seen[chunk.Rows[i].Key.Partition+chunk.Rows[i].Key.Sort] = true
		}
	}
	for _, key := range want {
		e.that(seen[key], "the row "+brief(key)+" by a walk", "none")
	}
	e.that(named+len(seen)-len(want) >= 2, "both rows with an odd key, or their names", "%d", named+len(seen)-len(want))
	maintainBeside(ctx, e)
}

// maintainBeside sees that Walk and Maintain find what is beside an odd record.
func maintainBeside(ctx context.Context, e *env) {
	known := &tap{Store: e.store, tables: map[string]*driver.Table{}}
	schema := sessionSchema()
	schema.Collection, schema.Indexes = e.freshName(), nil
	r, err := repo.Open[session](ctx, repo.NewStore(known, nil), schema)
	e.ok("open", err)
	for i := range 10 {
		s := session{User: e.name("user"), ID: fmt.Sprint(i)}
		if i%2 == 0 {
			s.Until = time.Now().Add(-time.Hour)
		}
		e.ok("insert", r.Insert(ctx, &s))
	}
	t := known.tables[schema.Collection]
	putOdd(ctx, e, t, oddKey(e, t, "5"))
	done, err := r.Maintain(ctx)
	e.is("maintain beside a record that cannot be read", err, repo.ErrCorrupt)
	equal(e, "the expired records that were removed", done.Expired, 5)
	records, faults := 0, 0
	for chunk, err := range r.Walk(ctx, "") {
		if records += len(chunk.Items); err != nil {
			e.is("walk", err, repo.ErrCorrupt)
			faults++
		}
	}
	equal(e, "the records by walk", records, 5)
	e.that(faults > 0, "an error of the record that cannot be read", "none")
}

func walkAtOnce(ctx context.Context, e *env) {
	t, want := walkTable(ctx, e, 1500)
	seen := map[string]bool{}
	for chunk, err := range e.store.Walk(ctx, t, "") {
		e.ok("walk", err)
		for i := range chunk.Rows {
			seen[chunk.Rows[i].Key.Partition+chunk.Rows[i].Key.Sort] = true
		}
		for i := range 60 {
			key := e.at(t, fmt.Sprint("p", i%7), fmt.Sprintf("%05d-%d", i*25, len(seen)%3))
			if (len(seen)/250)%2 == 0 {
				e.commit(ctx, put(t, row(key, "goes")))
			} else {
				e.commit(ctx, driver.Op{Do: driver.Delete, Table: t, Row: driver.Row{Key: key}})
			}
		}
	}
	missing := 0
	for _, key := range want {
		if !seen[key] {
			missing++
		}
	}
	equal(e, "how many rows that stayed were missed", missing, 0)
}

func walkRecords(ctx context.Context, e *env) {
	items := fresh[item](ctx, e, itemSchema())
	list := itemList(e, 700)
	_, err := items.InsertAll(ctx, double.Sequence(list, nil))
	e.ok("insert all", err)
	seen, marks := map[string]int{}, []string{}
	for chunk, err := range items.Walk(ctx, "") {
		e.ok("walk", err)
		for _, it := range chunk.Items {
			seen[it.ID]++
			e.that(!it.Version.IsZero() && it.Text == "text of "+it.ID, "a whole record", "%s", brief(it))
		}
		marks = append(marks, chunk.Mark)
	}
	equal(e, "the number of records", len(seen), 700)
	if marks[0] != "" {
		rest := 0
		for chunk, err := range items.Walk(ctx, marks[0]) {
			e.ok("walk", err)
			rest += len(chunk.Items)
		}
		e.that(rest > 0 && rest < 700, "some records after the first mark", "%d", rest)
	}
	for _, err := range items.Walk(ctx, "no mark") {
		e.is("walk from a bad mark", err, repo.ErrInvalid)
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
		e.that(len(got) == len(want), fmt.Sprintf("%d records by scan of %s", len(want), q), "%d", len(got))
		if strings.Contains(q.String(), "order") {
			equal(e, "what a scan of "+q.String()+" finds", append([]string{}, got...), want)
		}
	}
}

func scanAny(ctx context.Context, e *env) {
	for i := range 30 {
		it := e.item(fmt.Sprintf("%02d", i))
		it.Shelf, it.Count, it.Ratio, it.Text = e.name(fmt.Sprint("shelf", i%3)), int64(i%4), float64(i%5), e.tag
		e.insertItem(ctx, it)
	}
	id := func(it item) string { return it.ID }
	own := repo.Where("text", e.tag)
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
		equal(e, "what a scan of "+tt.q.String()+" finds", got, tt.want)
	}
}

func scanLeavesOut(ctx context.Context, e *env) {
	for i, option := range []string{"b", "", "a", ""} {
		it := e.item(fmt.Sprint(i))
		it.Text = e.tag
		if option != "" {
			it.Option = &option
		}
		e.insertItem(ctx, it)
	}
	own := repo.Where("text", e.tag)
	var got []string
	for _, it := range collect(e, "scan", e.items(ctx).Scan(ctx, own.Order("option"))) {
		got = append(got, it.ID)
	}
	equal(e, "the records in the order of a field that some lack", got, []string{"2", "0"})
	equal(e, "the number of records without an order", len(collect(e, "scan", e.items(ctx).Scan(ctx, own))), 4)
}
