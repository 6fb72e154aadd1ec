package conformance

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
)

func indexRules() []rule {
	list := []rule{
		{name: "inserted", sentence: "A record is found by every index from its insert on.", check: indexInsert},
		{name: "moved", sentence: "A record whose indexed field changes is found by the new value and no longer by the old one.", check: indexMoves},
		{name: "deleted", sentence: "A deleted record is found by no index.", check: indexDelete},
		{name: "covered fields", sentence: "The fields that an index covers follow those of the record.", check: coveredFields},
		{name: "covered whole", sentence: "An index that covers the whole record gives its version too.", check: coveredWhole},
		{name: "sparse", sentence: "A record in which an indexed field is absent has no row in that index.", check: sparse},
		{name: "elements", sentence: "An index over the elements of a list has a row for each different element.", check: elements},
		{name: "elements move", sentence: "The rows of elements come and go with the elements.", check: elementsMove},
		{name: "buckets", sentence: "The buckets of an index are merged in order, in both directions.", check: buckets},
		{name: "any text", sentence: "Indexed values may be any text, and are found exactly.", check: indexedText},
		{name: "order of an index", sentence: "Records that are equal in an index come in the order of their keys.", check: indexTies},
		{name: "refused write", sentence: "A write that is refused leaves the index rows as they are.", check: refusedIndexWrite},
		{name: "writes at once", sentence: "Writes at once leave every index in step.", check: indexAtOnce},
		{name: "many elements", sentence: "A record may have 256 index rows; with more it is ErrTooLarge and not written.", check: manyElements},
		{name: "long index keys", sentence: "An index key of over 1 KiB is ErrTooLarge, and nothing is written.", check: longIndexKeys},
	}
	for i := range list {
		list[i].needs = tested.KeepsFar
	}
	return append(list,
		rule{name: "verify", sentence: "Verify counts the rows that are missing and those that no record should have.", needs: tested.ChangesPartition, check: verifyFinds},
		rule{name: "moved behind", sentence: "A record that moves during a query to a place that the query has passed is found all the same.", needs: keepsApart, check: movedBehind},
		rule{name: "near index", sentence: "An index in the partition of the records is kept in step.", needs: tested.KeepsNear, check: nearIndex},
		rule{name: "many indexes", sentence: "A collection may have 63 indexes, and a record with a row in each is written, changed and deleted.", needs: tested.KeepsNear, check: manyIndexes},
		rule{name: "every kind", sentence: "Fields of every kind can be indexed, upwards and downwards, up to their edges.", needs: tested.KeepsNear, check: everyKind})
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
	equal(e, "what the indexes find before the insert", byEvery(ctx, e, "IT", "go", "hello"), all())
	insertAll(ctx, e, e.posts(ctx), e.post("a", "IT", 1).with(e.name("hello"), e.name("go")))
	equal(e, "what the indexes find after it", byEvery(ctx, e, "IT", "go", "hello"), all("a"))
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
		e.ok(fmt.Sprintf("write %d", n), write(n))
		old, now := fmt.Sprintf("v%d", i), fmt.Sprintf("v%d", n)
		equal(e, fmt.Sprintf("what the indexes find by the new value after write %d", n), byEvery(ctx, e, now, now, now), all("a"))
		gone := byEvery(ctx, e, old, old, old)
		delete(gone, "author")
		delete(gone, "created")
		equal(e, fmt.Sprintf("what they find by the old value after write %d", n), gone, map[string][]string{"category": {}, "tag": {}, "slug": {}})
	}
	clean(ctx, e, posts)
}

func indexDelete(ctx context.Context, e *env) {
	posts := e.posts(ctx)
	insertAll(ctx, e, posts, e.post("a", "IT", 1).with(e.name("a"), e.name("go")), e.post("b", "IT", 2).with(e.name("b"), e.name("go")))
	e.ok("delete", posts.Delete(ctx, e.postKey("a")))
	equal(e, "what the indexes find of the other", byEvery(ctx, e, "IT", "go", "b"), all("b"))
	equal(e, "what the slug of the deleted one finds", e.ids(ctx, repo.Where("slug", e.name("a"))), []string{})
	for _, q := range []repo.Query{repo.Where("category", e.name("IT")), repo.Where("tags[]", e.name("go")), e.created()} {
		n, err := posts.Count(ctx, q)
		e.ok("count", err)
		equal(e, "the count of "+q.String(), n, 1)
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
	e.ok("view", err)
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
	equal(e, "the title after insert", titlesOf(ctx, e, "IT"), []string{"title of a"})
	_, err := posts.Patch(ctx, key, repo.Set("title", "patched"))
	e.ok("patch", err)
	equal(e, "the title after patch", titlesOf(ctx, e, "IT"), []string{"patched"})
	_, err = posts.Update(ctx, key, func(p *post) error { p.Title = "updated"; return nil })
	e.ok("update", err)
	equal(e, "the title after update", titlesOf(ctx, e, "IT"), []string{"updated"})
	p.Title, p.Version = "put", repo.Version{}
	e.ok("put", posts.Put(ctx, &p))
	equal(e, "the title after put", titlesOf(ctx, e, "IT"), []string{"put"})
	_, err = posts.Patch(ctx, key, repo.Unset("title"))
	e.ok("patch", err)
	equal(e, "the title after it was removed", titlesOf(ctx, e, "IT"), []string{""})
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
		e.ok("write", err)
		got := collect(e, "find", posts.Find(ctx, e.created()))
		want, err := posts.Get(ctx, key)
		e.ok("get", err)
		equal(e, "the record by the index that covers it", got, []post{want})
	}
	_, err := posts.Update(ctx, key, func(p *post) error { p.Views = 0; return nil }, repo.IfVersion(at(e, "the posts found", collect(e, "find", posts.Find(ctx, e.created())), 0).Version))
	e.ok("update with the version that the index gave", err)
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
	equal(e, "the posts of all authors by time", e.ids(ctx, e.created()), want)
	equal(e, "the first seven", e.ids(ctx, e.created().Limit(7)), want[:7])
	equal(e, "those from 10 below 30", e.ids(ctx, repo.All().Range("created", e.when(10), e.when(30)).Order("created")), want[10:30])
	slices.Reverse(want)
	newest := e.created().Order("-created")
	equal(e, "the posts newest first", e.ids(ctx, newest), want)
	equal(e, "the newest seven", e.ids(ctx, newest.Limit(7)), want[:7])
	n, err := posts.Count(ctx, newest)
	e.ok("count", err)
	equal(e, "the count", n, 40)
}

func indexedText(ctx context.Context, e *env) {
	posts := e.posts(ctx)
	var texts []string
	for _, text := range append(separators(), "", "a\x00b", "\x00", "A", "é", "e\u0301", "\ud7ff", "\ue000", "\U0010ffff", " a", "a ", "a\n") {
		texts = append(texts, text)
		p := e.post(fmt.Sprintf("%03d", len(texts)), "IT", len(texts)).with(e.name(text), e.name(text))
		p.Category = e.name(text)
		insertAll(ctx, e, posts, p)
	}
	for i, text := range texts {
		want := []string{fmt.Sprintf("%03d", i+1)}
		for _, field := range []string{"category", "tags[]", "slug"} {
			equal(e, "the posts by "+field+" = "+brief(text), e.ids(ctx, repo.Where(field, e.name(text))), want)
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
	equal(e, "ties read forwards", e.ids(ctx, q.Order("-created")), want)
	slices.Reverse(want)
	equal(e, "ties read backwards", e.ids(ctx, q.Order("created")), want)
}

func refusedIndexWrite(ctx context.Context, e *env) {
	posts := e.posts(ctx)
	insertAll(ctx, e, posts, e.post("a", "IT", 1).with(e.name("a"), e.name("t")), e.post("b", "IT", 2).with(e.name("b")))
	taken := e.post("c", "new", 3).with(e.name("a"), e.name("new"))
	e.is("insert with a taken slug", posts.Insert(ctx, &taken), repo.ErrExists)
	stale := e.post("b", "new", 4).with("", e.name("new"))
	stale.Version = repo.Version{1}
	e.is("replace with another version", posts.Replace(ctx, &stale), repo.ErrConflict)
	missing := e.post("d", "new", 4)
	e.is("replace of nothing", posts.Replace(ctx, &missing), repo.ErrNotFound)
	e.is("delete with another version", posts.Delete(ctx, e.postKey("a"), repo.IfVersion(repo.Version{1})), repo.ErrConflict)
	found := byEvery(ctx, e, "new", "new", "new")
	equal(e, "what the indexes find", found, map[string][]string{"author": {"b", "a"}, "category": {}, "tag": {}, "slug": {}, "created": {"a", "b"}})
	clean(ctx, e, posts)
}

func indexAtOnce(ctx context.Context, e *env) {
	posts := e.posts(ctx)
	e.parallel(6, func(w int) error {
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
	equal(e, "the number of posts by time", len(e.ids(ctx, e.created())), len(e.ids(ctx, repo.Where("author", e.name("author")))))
}

func longIndexKeys(ctx context.Context, e *env) {
	posts := e.posts(ctx)
	fits := strings.Repeat("x", 900)
	insertAll(ctx, e, posts, e.post("a", fits, 1))
	equal(e, "the posts of a long category", e.ids(ctx, repo.Where("category", e.name(fits))), []string{"a"})
	long := e.post("b", strings.Repeat("x", 1100), 2).with(e.name("slug"))
	e.is("insert with a category too long for its index", posts.Insert(ctx, &long), repo.ErrTooLarge)
	equal(e, "the posts of the author", e.ids(ctx, repo.Where("author", e.name("author"))), []string{"a"})
	equal(e, "the posts of the slug", e.ids(ctx, repo.Where("slug", e.name("slug"))), []string{})
}

func nearIndex(ctx context.Context, e *env) {
	messages, host := e.messages(ctx), e.name("host")
	for i := range 20 {
		insertAll(ctx, e, messages, message{Host: host, Time: e.when(i), ID: int64(i), Level: []string{"error", "info"}[i%2], Text: fmt.Sprint("m", i)})
	}
	text := func(m message) string { return m.Text }
	equal(e, "the newest errors", find(ctx, e, messages, repo.Where("host", host).Where("level", "error").Order("-time").Limit(3), text), []string{"m18", "m16", "m14"})
	key := repo.Key{host, e.when(18), 18}
	_, err := messages.Patch(ctx, key, repo.Set("level", "info"))
	e.ok("patch", err)
	equal(e, "the newest errors after one was changed", find(ctx, e, messages, repo.Where("host", host).Where("level", "error").Order("-time").Limit(2), text), []string{"m16", "m14"})
	e.ok("delete", messages.Delete(ctx, repo.Key{host, e.when(19), 19}))
	equal(e, "the newest infos", find(ctx, e, messages, repo.Where("host", host).Where("level", "info").Order("-time").Limit(2), text), []string{"m18", "m17"})
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
		equal(e, "the order by "+field, up, []string{"0", "1", "2", "3", "4", "5"})
		down := find(ctx, e, samples, q.Order("-"+field), id)
		equal(e, "the order by -"+field, down, []string{"5", "4", "3", "2", "1", "0"})
	}
	equal(e, "the order by three fields", find(ctx, e, samples, q.Order("flag", "-count", "text"), id), []string{"2", "1", "0", "5", "4", "3"})
	equal(e, "the true ones from 9 up", find(ctx, e, samples, q.Where("flag", true).Range("count", 9, int64(math.MaxInt64)).Order("-count"), id), []string{"4", "3"})
	clean(ctx, e, samples)
}
