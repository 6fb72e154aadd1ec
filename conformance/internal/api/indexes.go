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

func indexRules() []entry {
	list := []entry{
		{Name: "inserted", Sentence: "A record is found by every index from its insert on.", Check: indexInsert},
		{Name: "moved", Sentence: "A record whose indexed field changes is found by the new value and no longer by the old one.", Check: indexMoves},
		{Name: "deleted", Sentence: "A deleted record is found by no index.", Check: indexDelete},
		{Name: "covered fields", Sentence: "The fields that an index covers follow those of the record.", Check: coveredFields},
		{Name: "covered whole", Sentence: "An index that covers the whole record gives its version too.", Check: coveredWhole},
		{Name: "sparse", Sentence: "A record in which an indexed field is absent has no row in that index.", Check: sparse},
		{Name: "elements", Sentence: "An index over the elements of a list has a row for each different element.", Check: elements},
		{Name: "elements move", Sentence: "The rows of elements come and go with the elements.", Check: elementsMove},
		{Name: "any of", Sentence: "AnyOf finds the records that have one of several values, each once and in one order, by pages, too.", Check: anyOf},
		{Name: "all of", Sentence: "AllOf finds the records of which a list has all of several values, whichever of them is the rarest.", Check: allOf},
		{Name: "none of", Sentence: "NoneOf leaves out the records that have one of several values, those that lack the field not.", Check: noneOf},
		{Name: "filter", Sentence: "A filter leaves out the records that do not meet it, and looks at as many as it may.", Check: filtered},
		{Name: "ranked", Sentence: "Best finds the records that have the most of several values, as they are, the best first, and counts these.", Check: ranked},
		{Name: "passed over", Sentence: "An offset passes over the first records found; First returns the first.", Check: passedOver},
		{Name: "queries at once", Sentence: "FindMany returns what each of several queries finds.", Check: queriesAtOnce},
		{Name: "groups", Sentence: "Groups have the records with the same values, in order, counted, summed, and with the first of each.", Check: groupsOf},
		{Name: "groups of elements", Sentence: "Groups by the elements of a list have each record that has the element.", Check: groupsOfElements},
		{Name: "buckets", Sentence: "The buckets of an index are merged in order, in both directions.", Check: buckets},
		{Name: "any text", Sentence: "Indexed values may be any text, and are found exactly.", Check: indexedText},
		{Name: "order of an index", Sentence: "Records that are equal in an index come in the order of their keys.", Check: indexTies},
		{Name: "refused write", Sentence: "A write that is refused leaves the index rows as they are.", Check: refusedIndexWrite},
		{Name: "writes at once", Sentence: "Writes at once leave every index in step.", Check: indexAtOnce},
		{Name: "many elements", Sentence: "A record may have 256 index rows; with more it is ErrTooLarge and not written.", Check: manyElements},
		{Name: "long index keys", Sentence: "An index key of over 1 KiB is ErrTooLarge, and nothing is written.", Check: longIndexKeys},
	}
	for i := range list {
		list[i].Needs = tested.KeepsRemote
	}
	return append(list,
		entry{Name: "verify", Sentence: "Verify counts the rows that are missing and those that no record should have.", Needs: tested.ChangesPartition, Check: verifyFinds},
		entry{Name: "moved behind", Sentence: "A record that moves during a query to a place that the query has passed is found all the same.", Needs: keepsApart, Check: movedBehind},
		entry{Name: "parts of fields", Sentence: "Indexes, conditions, views and edits take parts of a field, named by paths, and agree.", Needs: tested.Both(tested.ChangesPartition, tested.KeepsRemote), Check: partsOfFields},
		entry{Name: "local index", Sentence: "An index in the partition of the records is kept in step.", Needs: tested.KeepsLocal, Check: localIndex},
		entry{Name: "many indexes", Sentence: "A collection may have 63 indexes, and a record with a row in each is written, changed and deleted.", Needs: tested.KeepsLocal, Check: manyIndexes},
		entry{Name: "every kind", Sentence: "Fields of every kind can be indexed, upwards and downwards, up to their edges.", Needs: tested.KeepsLocal, Check: everyKind})
}

// byEvery returns what each index finds of the rule's posts, by name.
func byEvery(ctx context.Context, e *env, category, tag, slug string) map[string][]string {
	return map[string][]string{
		"author":   e.ids(ctx, repo.Where("author", e.name("author")).Order("-created")),
		"category": e.ids(ctx, repo.Where("category", e.name(category)).Order("-created")),
		"tag":      e.ids(ctx, repo.Where("tags[]", e.name(tag)).Order("-created")),
		"slug":     e.ids(ctx, repo.Where("slug", e.name(slug))),
		"created":  e.ids(ctx, e.created()),
	}
}

// created returns the query for all posts of the rule, oldest first.
func (e *env) created() repo.Query {
	return repo.All().Range("created", e.when(0), e.when(500_000)).Order("created")
}

func all(ids ...string) map[string][]string {
	ids = append([]string{}, ids...)
	return map[string][]string{"author": ids, "category": ids, "tag": ids, "slug": ids, "created": ids}
}

func indexInsert(ctx context.Context, e *env) {
	rule.Equal(e, "what the indexes find before the insert", byEvery(ctx, e, "IT", "go", "hello"), all())
	insertAll(ctx, e, e.posts(ctx), e.post("a", "IT", 1).with(e.name("hello"), e.name("go")))
	rule.Equal(e, "what the indexes find after it", byEvery(ctx, e, "IT", "go", "hello"), all("a"))
	clean(ctx, e, e.posts(ctx))
}

func indexMoves(ctx context.Context, e *env) {
	posts, key := e.posts(ctx), e.postKey("a")
	p := e.post("a", "v0", 0).with(e.name("v0"), e.name("v0"))
	insertAll(ctx, e, posts, p)
	value := func(n int) string { return e.name(fmt.Sprintf("v%d", n)) }
	writes := []func(n int) error{
		func(n int) error {
			q := e.post("a", fmt.Sprintf("v%d", n), n).with(value(n), value(n))
			return posts.Put(ctx, &q)
		},
		func(n int) error {
			q := e.post("a", fmt.Sprintf("v%d", n), n).with(value(n), value(n))
			return posts.Replace(ctx, &q)
		},
		func(n int) error {
			_, err := posts.Update(ctx, key, func(q *post) error {
				*q = e.post("a", fmt.Sprintf("v%d", n), n).with(value(n), value(n))
				return nil
			})
			return err
		},
		func(n int) error {
			_, err := posts.Patch(ctx, key, repo.Set("category", value(n)), repo.Set("tags", []string{value(n)}), repo.Set("slug", value(n)), repo.Set("created", e.when(n)))
			return err
		},
	}
	for i, write := range writes {
		n := i + 1
		e.OK(fmt.Sprintf("write %d", n), write(n))
		old, now := fmt.Sprintf("v%d", i), fmt.Sprintf("v%d", n)
		rule.Equal(e, fmt.Sprintf("what the indexes find by the new value after write %d", n), byEvery(ctx, e, now, now, now), all("a"))
		gone := byEvery(ctx, e, old, old, old)
		delete(gone, "author")
		delete(gone, "created")
		rule.Equal(e, fmt.Sprintf("what they find by the old value after write %d", n), gone, map[string][]string{"category": {}, "tag": {}, "slug": {}})
	}
	clean(ctx, e, posts)
}

func indexDelete(ctx context.Context, e *env) {
	posts := e.posts(ctx)
	insertAll(ctx, e, posts, e.post("a", "IT", 1).with(e.name("a"), e.name("go")), e.post("b", "IT", 2).with(e.name("b"), e.name("go")))
	e.OK("delete", posts.Delete(ctx, e.postKey("a")))
	rule.Equal(e, "what the indexes find of the other", byEvery(ctx, e, "IT", "go", "b"), all("b"))
	rule.Equal(e, "what the slug of the deleted one finds", e.ids(ctx, repo.Where("slug", e.name("a"))), []string{})
	for _, q := range []repo.Query{repo.Where("category", e.name("IT")), repo.Where("tags[]", e.name("go")), e.created()} {
		n, err := posts.Count(ctx, q)
		e.OK("count", err)
		rule.Equal(e, "the count of "+q.String(), n, 1)
	}
	clean(ctx, e, posts)
}

// A title is what the index by category covers.
type title struct {
	Author string `repo:"author"`
	ID     string `repo:"id"`
	Title  string `repo:"title"`
}

// titlesOf returns the titles of a category by the index that covers them.
func titlesOf(ctx context.Context, e *env, category string) []string {
	view, err := repo.ViewOf[title](e.posts(ctx))
	e.OK("view", err)
	list := []string{}
	for _, t := range collect(e, "find by a view", view.Find(ctx, repo.Where("category", e.name(category)).Order("created"))) {
		list = append(list, t.Title)
	}
	return list
}

func coveredFields(ctx context.Context, e *env) {
	posts, key := e.posts(ctx), e.postKey("a")
	p := e.post("a", "IT", 1)
	insertAll(ctx, e, posts, p)
	rule.Equal(e, "the title after insert", titlesOf(ctx, e, "IT"), []string{"title of a"})
	_, err := posts.Patch(ctx, key, repo.Set("title", "patched"))
	e.OK("patch", err)
	rule.Equal(e, "the title after patch", titlesOf(ctx, e, "IT"), []string{"patched"})
	_, err = posts.Update(ctx, key, func(p *post) error { p.Title = "updated"; return nil })
	e.OK("update", err)
	rule.Equal(e, "the title after update", titlesOf(ctx, e, "IT"), []string{"updated"})
	p.Title, p.Version = "put", repo.Version{}
	e.OK("put", posts.Put(ctx, &p))
	rule.Equal(e, "the title after put", titlesOf(ctx, e, "IT"), []string{"put"})
	_, err = posts.Patch(ctx, key, repo.Unset("title"))
	e.OK("patch", err)
	rule.Equal(e, "the title after it was removed", titlesOf(ctx, e, "IT"), []string{""})
	clean(ctx, e, posts)
}

func coveredWhole(ctx context.Context, e *env) {
	posts, key := e.posts(ctx), e.postKey("a")
	insertAll(ctx, e, posts, e.post("a", "IT", 1).with(e.name("x"), e.name("t")))
	for n := range 4 {
		_, err := posts.Patch(ctx, key, repo.Add("views", 1))
		if n == 3 {
			_, err = posts.Update(ctx, key, func(p *post) error { p.Title = "new"; return nil })
		}
		e.OK("write", err)
		got := collect(e, "find", posts.Find(ctx, e.created()))
		want, err := posts.Get(ctx, key)
		e.OK("get", err)
		rule.Equal(e, "the record by the index that covers it", got, []post{want})
	}
	_, err := posts.Update(ctx, key, func(p *post) error { p.Views = 0; return nil }, repo.IfVersion(rule.At(e, "the posts found", collect(e, "find", posts.Find(ctx, e.created())), 0).Version))
	e.OK("update with the version that the index gave", err)
}

func buckets(ctx context.Context, e *env) {
	posts := e.posts(ctx)
	var want []string
	for i := range 40 {
		n := (i * 17) % 40
		p := e.post(fmt.Sprintf("%02d", n), "IT", n)
		p.Author = e.name(fmt.Sprint(n % 7))
		insertAll(ctx, e, posts, p)
		want = append(want, fmt.Sprintf("%02d", i))
	}
	rule.Equal(e, "the posts of all authors by time", e.ids(ctx, e.created()), want)
	rule.Equal(e, "the first seven", e.ids(ctx, e.created().Limit(7)), want[:7])
	rule.Equal(e, "those from 10 below 30", e.ids(ctx, repo.All().Range("created", e.when(10), e.when(30)).Order("created")), want[10:30])
	slices.Reverse(want)
	newest := e.created().Order("-created")
	rule.Equal(e, "the posts newest first", e.ids(ctx, newest), want)
	rule.Equal(e, "the newest seven", e.ids(ctx, newest.Limit(7)), want[:7])
	n, err := posts.Count(ctx, newest)
	e.OK("count", err)
	rule.Equal(e, "the count", n, 40)
}

func indexedText(ctx context.Context, e *env) {
	posts := e.posts(ctx)
	var texts []string
	for _, text := range append(rule.Separators(), "", "a\x00b", "\x00", "A", "é", "e\u0301", "\ud7ff", "\ue000", "\U0010ffff", " a", "a ", "a\n") {
		texts = append(texts, text)
		p := e.post(fmt.Sprintf("%03d", len(texts)), "IT", len(texts)).with(e.name(text), e.name(text))
		p.Category = e.name(text)
		insertAll(ctx, e, posts, p)
	}
	for i, text := range texts {
		want := []string{fmt.Sprintf("%03d", i+1)}
		for _, field := range []string{"category", "tags[]", "slug"} {
			rule.Equal(e, "the posts by "+field+" = "+rule.Brief(text), e.ids(ctx, repo.Where(field, e.name(text))), want)
		}
	}
	clean(ctx, e, posts)
}

func indexTies(ctx context.Context, e *env) {
	posts := e.posts(ctx)
	for _, id := range []string{"c", "a", "b", "B", "", "aa"} {
		insertAll(ctx, e, posts, e.post(id, "IT", 5))
	}
	want := []string{"", "B", "a", "aa", "b", "c"}
	q := repo.Where("category", e.name("IT"))
	rule.Equal(e, "ties read forwards", e.ids(ctx, q.Order("-created")), want)
	slices.Reverse(want)
	rule.Equal(e, "ties read backwards", e.ids(ctx, q.Order("created")), want)
}

func refusedIndexWrite(ctx context.Context, e *env) {
	posts := e.posts(ctx)
	insertAll(ctx, e, posts, e.post("a", "IT", 1).with(e.name("a"), e.name("t")), e.post("b", "IT", 2).with(e.name("b")))
	taken := e.post("c", "new", 3).with(e.name("a"), e.name("new"))
	e.Is("insert with a taken slug", posts.Insert(ctx, &taken), repo.ErrExists)
	stale := e.post("b", "new", 4).with("", e.name("new"))
	stale.Version = repo.Version{1}
	e.Is("replace with another version", posts.Replace(ctx, &stale), repo.ErrConflict)
	missing := e.post("d", "new", 4)
	e.Is("replace of nothing", posts.Replace(ctx, &missing), repo.ErrNotFound)
	e.Is("delete with another version", posts.Delete(ctx, e.postKey("a"), repo.IfVersion(repo.Version{1})), repo.ErrConflict)
	found := byEvery(ctx, e, "new", "new", "new")
	rule.Equal(e, "what the indexes find", found, map[string][]string{"author": {"b", "a"}, "category": {}, "tag": {}, "slug": {}, "created": {"a", "b"}})
	clean(ctx, e, posts)
}

func indexAtOnce(ctx context.Context, e *env) {
	posts := e.posts(ctx)
	e.Parallel(6, func(w int) error {
		for n := range 12 {
			id := fmt.Sprint((w + n) % 4)
			p := e.post(id, fmt.Sprint("c", (w*n)%3), w*100+n).with("", e.name(fmt.Sprint(n%3)), e.name(fmt.Sprint(w%3)))
			err := posts.Put(ctx, &p)
			if n%5 == 4 {
				err = posts.Delete(ctx, e.postKey(id))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	clean(ctx, e, posts)
	rule.Equal(e, "the number of posts by time", len(e.ids(ctx, e.created())), len(e.ids(ctx, repo.Where("author", e.name("author")))))
}

func longIndexKeys(ctx context.Context, e *env) {
	posts := e.posts(ctx)
	fits := strings.Repeat("x", 900)
	insertAll(ctx, e, posts, e.post("a", fits, 1))
	rule.Equal(e, "the posts of a long category", e.ids(ctx, repo.Where("category", e.name(fits))), []string{"a"})
	long := e.post("b", strings.Repeat("x", 1100), 2).with(e.name("slug"))
	e.Is("insert with a category too long for its index", posts.Insert(ctx, &long), repo.ErrTooLarge)
	rule.Equal(e, "the posts of the author", e.ids(ctx, repo.Where("author", e.name("author"))), []string{"a"})
	rule.Equal(e, "the posts of the slug", e.ids(ctx, repo.Where("slug", e.name("slug"))), []string{})
}

func localIndex(ctx context.Context, e *env) {
	messages, host := e.messages(ctx), e.name("host")
	for i := range 20 {
		insertAll(ctx, e, messages, message{Host: host, Time: e.when(i), ID: int64(i), Level: []string{"error", "info"}[i%2], Text: fmt.Sprint("m", i)})
	}
	text := func(m message) string { return m.Text }
	rule.Equal(e, "the newest errors", find(ctx, e, messages, repo.Where("host", host).Where("level", "error").Order("-time").Limit(3), text), []string{"m18", "m16", "m14"})
	key := repo.Key{host, e.when(18), 18}
	_, err := messages.Patch(ctx, key, repo.Set("level", "info"))
	e.OK("patch", err)
	rule.Equal(e, "the newest errors after one was changed", find(ctx, e, messages, repo.Where("host", host).Where("level", "error").Order("-time").Limit(2), text), []string{"m16", "m14"})
	e.OK("delete", messages.Delete(ctx, repo.Key{host, e.when(19), 19}))
	rule.Equal(e, "the newest infos", find(ctx, e, messages, repo.Where("host", host).Where("level", "info").Order("-time").Limit(2), text), []string{"m18", "m17"})
	clean(ctx, e, messages)
}

func everyKind(ctx context.Context, e *env) {
	samples := e.samples(ctx)
	edges := []sample{
		{ID: "0", Flag: false, Count: math.MinInt64, Ratio: math.Inf(-1), Text: "", Data: []byte{0}, When: time.UnixMilli(math.MinInt64 / 2)},
		{ID: "1", Flag: false, Count: -10, Ratio: -1.5, Text: "\x00", Data: []byte{0, 0}, When: time.UnixMilli(-1)},
		{ID: "2", Flag: false, Count: -9, Ratio: 0, Text: "A", Data: []byte{0, 255}, When: time.UnixMilli(0)},
		{ID: "3", Flag: true, Count: 9, Ratio: 5e-324, Text: "a", Data: []byte{1}, When: time.UnixMilli(1)},
		{ID: "4", Flag: true, Count: 10, Ratio: 2, Text: "ab", Data: []byte{128}, When: time.UnixMilli(1521080087000)},
		{ID: "5", Flag: true, Count: math.MaxInt64, Ratio: math.Inf(1), Text: "\U0010ffff", Data: []byte{255, 255}, When: time.UnixMilli(math.MaxInt64 / 2)},
	}
	for _, i := range []int{3, 1, 5, 0, 4, 2} {
		edges[i].Scope = e.name("s")
		insertAll(ctx, e, samples, edges[i])
	}
	id := func(s sample) string { return s.ID }
	q := repo.Where("scope", e.name("s"))
	for _, field := range sampleFields(e) {
		up := find(ctx, e, samples, q.Order(field), id)
		rule.Equal(e, "the order by "+field, up, []string{"0", "1", "2", "3", "4", "5"})
		down := find(ctx, e, samples, q.Order("-"+field), id)
		rule.Equal(e, "the order by -"+field, down, []string{"5", "4", "3", "2", "1", "0"})
	}
	rule.Equal(e, "the order by three fields", find(ctx, e, samples, q.Order("flag", "-count", "text"), id), []string{"2", "1", "0", "5", "4", "3"})
	rule.Equal(e, "the true ones from 9 up", find(ctx, e, samples, q.Where("flag", true).Range("count", 9, int64(math.MaxInt64)).Order("-count"), id), []string{"4", "3"})
	clean(ctx, e, samples)
}
