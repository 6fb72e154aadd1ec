package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"time"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
)

func recordRules() []entry {
	return []entry{
		{Name: "every type", Sentence: "A record reads as it was written: every type of field, by Get, GetMany and Walk.", Check: everyType},
		{Name: "nothing and empty", Sentence: "Nil, and an empty list, map or run of bytes, are absent; the empty text is a value.", Check: nothingAndEmpty},
		{Name: "milliseconds", Sentence: "A time is kept in UTC to the millisecond; one tagged nanos keeps its nanoseconds. So has the record that was written.", Check: milliseconds},
		{Name: "unsigned", Sentence: "An unsigned number above the greatest integer is ErrInvalid; the greatest itself is kept.", Check: unsigned},
		{Name: "numbers that are none", Sentence: "NaN is ErrInvalid; infinities are kept, and negative zero is zero.", Check: notANumber},
		{Name: "invalid text", Sentence: "Text that is not UTF-8, and NUL in the key of a map, are ErrInvalid; NUL in text is kept.", Check: invalidText},
		{Name: "nested documents", Sentence: "Nested structs, lists and maps are kept as one value, up to 32 deep.", Check: nested},
		{Name: "fields that differ", Sentence: "Records of a collection of maps may each have fields of their own.", Check: fieldsThatDiffer},
		{Name: "fields of a newer program", Sentence: "Update keeps the fields that the program does not know.", Check: newerFields},
		{Name: "types", Sentence: "Records of several types are read as what they are; one of a type that a program does not know is kept as it is.", Check: severalTypes},
		{Name: "get nothing", Sentence: "Get of a record that is not there is ErrNotFound, and Exists says so.", Check: getNothing},
		{Name: "get many", Sentence: "GetMany answers in the order of the keys, and found says which are there.", Check: getManyRecords},
		{Name: "versions", Sentence: "The version of a record is another one after every write and never an earlier one.", Check: versions},
		{Name: "version fields", Sentence: "A write fills the version field with the version that Get then shows.", Check: versionFields},
	}
}

// fullItem returns an item with something in every field.
func fullItem(e *env, id string) item {
	it, option := e.item(id), ""
	it.Flag, it.Count, it.Small, it.Size, it.Ratio = true, math.MinInt64, -128, math.MaxInt64, -0.1
	it.Text, it.Data, it.List, it.Option = "a\x00é\U0010ffff", []byte{0, 255, 0}, []string{"b", "", "a", "b"}, &option
	it.When, it.Exact = time.UnixMilli(1521080087123).UTC(), time.Unix(1521080087, 123456789).UTC()
	it.Part = &part{Name: "grommet", Cost: 0.94, Parts: []part{{Name: "inner"}, {Name: ""}}}
	it.Parts = []part{{Name: "x", Props: map[string]any{"color": "red", "size": int64(3), "tags": []any{"a", int64(1), true}}}, {Cost: math.Inf(-1)}}
	it.Props = map[string]int64{"a": 1, "A": 2, "": 3, "$x.y": 4}
	it.Address = netip.MustParseAddr("127.66.66.66")
	it.Extra = map[string]any{"age": int64(34), "score": 1.5, "at": time.UnixMilli(5).UTC(), "on": false, "blob": []byte{1}, "array": []any{"x"}, "object": map[string]any{"k": "v"}, "name with spaces": ""}
	return it
}

func everyType(ctx context.Context, e *env) {
	items, want := e.items(ctx), e.insertItem(ctx, fullItem(e, "full"))
	rule.Equal(e, "the record by get", e.getItem(ctx, "full"), want)
	many, _, err := items.GetMany(ctx, []repo.Key{e.itemKey("full")})
	e.OK("get many", err)
	rule.Equal(e, "the record by get many", many[0], want)
	for chunk, err := range items.Walk(ctx, "") {
		e.OK("walk", err)
		for _, got := range chunk.Items {
			if got.Shelf == want.Shelf {
				rule.Equal(e, "the record by walk", got, want)
				return
			}
		}
	}
	e.Broken("the record by walk", "nothing")
}

func nothingAndEmpty(ctx context.Context, e *env) {
	it := e.item("a")
	it.Text, it.Data, it.List, it.Parts, it.Props, it.Extra = "", []byte{}, []string{}, []part{}, map[string]int64{}, map[string]any{"none": nil, "empty": []any{}, "value": ""}
	e.insertItem(ctx, it)
	got := e.getItem(ctx, "a")
	e.That(got.Data == nil && got.List == nil && got.Parts == nil && got.Props == nil && got.Option == nil && got.Part == nil, "empty values to be absent", "%s", rule.Brief(got))
	rule.Equal(e, "the undeclared fields", got.Extra, map[string]any{"value": ""})
	empty := ""
	it.Option = &empty
	e.OK("put", e.items(ctx).Put(ctx, &it))
	got = e.getItem(ctx, "a")
	e.That(got.Option != nil && *got.Option == "", "the empty text to be a value", "%v", got.Option)
}

func milliseconds(ctx context.Context, e *env) {
	it := e.item("a")
	exact := time.Date(2018, 3, 15, 2, 14, 47, 123_987_654, time.FixedZone("east", 9*3600))
	it.When, it.Exact = exact, exact
	for _, write := range []func(*item) error{
		func(it *item) error { return e.items(ctx).Insert(ctx, it) },
		func(it *item) error { return e.items(ctx).Replace(ctx, it) },
		func(it *item) error { return e.items(ctx).Put(ctx, it) },
		func(it *item) (err error) {
			*it, err = e.items(ctx).Update(ctx, e.itemKey("a"), func(it *item) error { it.When = exact; return nil })
			return err
		},
	} {
		it.When, it.Exact = exact, exact
		e.OK("write", write(&it))
		rule.Equal(e, "the record that was written", it, e.getItem(ctx, "a"))
	}
	got := e.getItem(ctx, "a")
	rule.Equal(e, "a time", got.When, exact.Truncate(time.Millisecond).UTC())
	rule.Equal(e, "a time tagged nanos", got.Exact, exact.UTC())
	for i, at := range []time.Time{{}, time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC), time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), time.UnixMilli(-1).UTC()} {
		it := e.item(fmt.Sprint(i))
		it.When = at
		e.insertItem(ctx, it)
		rule.Equal(e, "a time", e.getItem(ctx, it.ID).When, at)
	}
	it.ID, it.Version, it.Exact = "far", repo.Version{}, time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)
	e.Is("insert of a time too far off for nanoseconds", e.items(ctx).Insert(ctx, &it), repo.ErrInvalid)
}

// refusedWrites sees that no verb writes a record, and that nothing is left of it.
func refusedWrites(ctx context.Context, e *env, what string, it item, kind error) {
	items := e.items(ctx)
	before, getErr := items.Get(ctx, repo.Key{it.Shelf, it.ID})
	for verb, err := range map[string]error{"insert": items.Insert(ctx, &it), "put": items.Put(ctx, &it), "replace": items.Replace(ctx, &it)} {
		e.Is(verb+" of "+what, err, kind)
	}
	after, err := items.Get(ctx, repo.Key{it.Shelf, it.ID})
	rule.Equal(e, "the record after it", after, before)
	rule.Equal(e, "whether it is there", errors.Is(err, repo.ErrNotFound), errors.Is(getErr, repo.ErrNotFound))
}

func unsigned(ctx context.Context, e *env) {
	it := e.item("a")
	it.Size = math.MaxInt64
	it = e.insertItem(ctx, it)
	rule.Equal(e, "the greatest number", e.getItem(ctx, "a").Size, uint64(math.MaxInt64))
	it.Size++
	refusedWrites(ctx, e, "an unsigned number above it", it, repo.ErrInvalid)
	_, err := e.items(ctx).Patch(ctx, e.itemKey("a"), repo.Set("size", uint64(math.MaxUint64)))
	e.Is("patch with it", err, repo.ErrInvalid)
}

func notANumber(ctx context.Context, e *env) {
	for i, f := range []float64{math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64, math.MaxFloat64, 0.1} {
		it := e.item(fmt.Sprint(i))
		it.Ratio = f
		e.insertItem(ctx, it)
		rule.Equal(e, "a float", e.getItem(ctx, it.ID).Ratio, f)
	}
	it := e.item("zero")
	it.Ratio = math.Copysign(0, -1)
	e.insertItem(ctx, it)
	e.That(!math.Signbit(e.getItem(ctx, "zero").Ratio), "negative zero to read as zero", "-0")
	it.ID, it.Ratio = "nan", math.NaN()
	refusedWrites(ctx, e, "NaN", it, repo.ErrInvalid)
	it.Ratio, it.Parts = 0, []part{{Cost: math.NaN()}}
	refusedWrites(ctx, e, "a nested NaN", it, repo.ErrInvalid)
}

func invalidText(ctx context.Context, e *env) {
	it := e.item("a")
	it.Text = "a\x00b\x00"
	e.insertItem(ctx, it)
	rule.Equal(e, "text with NUL", e.getItem(ctx, "a").Text, "a\x00b\x00")
	for what, change := range map[string]func(*item){
		"invalid text":                             func(it *item) { it.Text = "a\xff" },
		"half a character":                         func(it *item) { it.Text = "\xe9\x95" },
		"a surrogate":                              func(it *item) { it.Text = "\xed\xa0\x80" },
		"invalid text in a list":                   func(it *item) { it.List = []string{"\xc0\x80"} },
		"invalid text in a key":                    func(it *item) { it.ID = "\xfe" },
		"NUL in the key of a map":                  func(it *item) { it.Props = map[string]int64{"a\x00": 1} },
		"an invalid key of a map":                  func(it *item) { it.Props = map[string]int64{"\xff": 1} },
		"invalid text in a struct":                 func(it *item) { it.Part = &part{Name: "\xff"} },
		"an undeclared field with an invalid name": func(it *item) { it.Extra = map[string]any{"\xff": 1} },
		"an undeclared field of the library":       func(it *item) { it.Extra = map[string]any{"_rev": 1} },
		"an undeclared field that is declared":     func(it *item) { it.Extra = map[string]any{"text": 1} },
	} {
		bad := e.item("bad")
		change(&bad)
		refusedWrites(ctx, e, what, bad, repo.ErrInvalid)
	}
}

func nested(ctx context.Context, e *env) {
	it := e.item("a")
	for i := range 14 { // two levels each: a list and the struct in it
		it.Parts = []part{{Name: fmt.Sprint("level ", i), Cost: float64(i), Parts: it.Parts, Props: map[string]any{"é": []any{int64(i), "x", deepMap()}}}}
	}
	it = e.insertItem(ctx, it)
	rule.Equal(e, "the nested parts", e.getItem(ctx, "a").Parts, it.Parts)
	deep := e.item("deep")
	for range 40 {
		deep.Parts = []part{{Parts: deep.Parts}}
	}
	deep.Parts[0].Name = "x"
	refusedWrites(ctx, e, "a record nested too deep", deep, repo.ErrInvalid)
	it.Part = &part{Name: "#4 grommet", Cost: 3.99}
	e.OK("replace", e.items(ctx).Replace(ctx, &it))
	rule.Equal(e, "the record", e.getItem(ctx, "a"), it)
}

func deepMap() map[string]any { return map[string]any{"k": map[string]any{"deep": true}} }

func fieldsThatDiffer(ctx context.Context, e *env) {
	things := e.things(ctx)
	list := []thing{
		{"id": e.name("1"), "name": "Jane", "at": time.UnixMilli(1570000000000).UTC()},
		{"id": e.name("2"), "name": "john", "friends": []any{"Jane", "jeff"}},
		{"id": e.name("3"), "n": int64(7), "address": map[string]any{"state": "California", "nationality": "USA"}, "score": 0.5, "on": false},
		{"id": e.name("4")},
	}
	for _, want := range list {
		e.OK("insert", things.Insert(ctx, &want))
		e.That(want["_version"] != nil, "insert to fill _version", "nothing")
		got, err := things.Get(ctx, repo.Key{want["id"]})
		e.OK("get", err)
		rule.Equal(e, "a record with fields of its own", got, want)
	}
	bad := thing{"id": e.name("5"), "n": "text"}
	e.Is("insert of text in an integer field", things.Insert(ctx, &bad), repo.ErrInvalid)
	_, err := things.Get(ctx, repo.Key{bad["id"]})
	e.Is("get of it", err, repo.ErrNotFound)
}

// olderItem is an item as an older program knows it.
type olderItem struct {
	Shelf string `repo:"shelf"`
	ID    string `repo:"id"`
	Count int64  `repo:"count"`
}

func newerFields(ctx context.Context, e *env) {
	want := e.insertItem(ctx, fullItem(e, "a"))
	schema := itemSchema()
	schema.Collection = e.ID + "_" + schema.Collection
	older, err := repo.Open[olderItem](ctx, e.Repo, schema)
	e.OK("open as the older program does", err)
	_, err = older.Update(ctx, e.itemKey("a"), func(it *olderItem) error { it.Count = 7; return nil })
	e.OK("update by the older program", err)
	got := e.getItem(ctx, "a")
	e.That(got.Version != want.Version, "another version", "the same")
	want.Count, want.Version = 7, got.Version
	rule.Equal(e, "the record, as the newer program sees it", got, want)
}

func getNothing(ctx context.Context, e *env) {
	items := e.items(ctx)
	e.insertItem(ctx, e.item("a"))
	for id, there := range map[string]bool{"a": true, "A": false, "": false, "aa": false} {
		_, err := items.Get(ctx, e.itemKey(id))
		if !there {
			e.Is("get of a record that is not there", err, repo.ErrNotFound)
			err = nil
		}
		e.OK("get", err)
		ok, err := items.Exists(ctx, e.itemKey(id))
		e.OK("exists", err)
		rule.Equal(e, "whether "+rule.Brief(id)+" exists", ok, there)
	}
	e.OK("delete", items.Delete(ctx, e.itemKey("a")))
	_, err := items.Get(ctx, e.itemKey("a"))
	e.Is("get of a deleted record", err, repo.ErrNotFound)
	ok, err := items.Exists(ctx, e.itemKey("a"))
	e.That(err == nil && !ok, "a deleted record not to exist", "%v, %v", ok, err)
}

func getManyRecords(ctx context.Context, e *env) {
	items := e.items(ctx)
	var keys []repo.Key
	var want []string
	for i := range 300 {
		id := fmt.Sprintf("%03d", (i*7)%300)
		keys, want = append(keys, e.itemKey(id)), append(want, "")
		if i%3 != 0 {
			want[i] = e.insertItem(ctx, e.item(id)).Text
		}
	}
	keys, want = append(keys, keys[1]), append(want, want[1])
	records, found, err := items.GetMany(ctx, keys)
	e.OK("get many", err)
	for i := range keys {
		rule.Equal(e, fmt.Sprintf("record %d, found", i), fmt.Sprint(records[i].Text, found[i]), fmt.Sprint(want[i], want[i] != ""))
	}
	records, found, err = items.GetMany(ctx, nil)
	e.That(err == nil && len(records) == 0 && len(found) == 0, "get many of no keys to answer nothing", "%v %v %v", records, found, err)
	_, _, err = items.GetMany(ctx, []repo.Key{keys[0], {"too", "many", "parts"}})
	e.Is("get many with a key of three parts", err, repo.ErrInvalid)
}

func versions(ctx context.Context, e *env) {
	items, seen := e.items(ctx), map[repo.Version]string{}
	it, key := e.item("a"), e.itemKey("a")
	note := func(what string) {
		got := e.getItem(ctx, "a")
		e.That(!got.Version.IsZero(), "a version after "+what, "the zero version")
		e.That(seen[got.Version] == "", "another version after "+what, "that of %s", seen[got.Version])
		seen[got.Version] = what
	}
	for round := range 5 {
		it.Version = repo.Version{}
		e.OK("insert", items.Insert(ctx, &it))
		note(fmt.Sprint("insert ", round))
		e.OK("replace", items.Replace(ctx, &it))
		note(fmt.Sprint("replace by the same ", round))
		_, err := items.Patch(ctx, key, repo.Set("text", it.Text))
		e.OK("patch", err)
		note(fmt.Sprint("patch ", round))
		it.Version = repo.Version{}
		e.OK("put", items.Put(ctx, &it))
		note(fmt.Sprint("put ", round))
		_, err = items.Update(ctx, key, func(*item) error { return nil })
		e.OK("update", err)
		note(fmt.Sprint("update ", round))
		e.OK("delete", items.Delete(ctx, key))
	}
}

func versionFields(ctx context.Context, e *env) {
	items, key := e.items(ctx), e.itemKey("a")
	it := e.item("a")
	is := func(what string, v repo.Version) {
		rule.Equal(e, "the version by "+what, v, e.getItem(ctx, "a").Version)
	}
	e.OK("insert", items.Insert(ctx, &it))
	is("insert", it.Version)
	e.OK("replace", items.Replace(ctx, &it))
	is("replace", it.Version)
	e.OK("put", items.Put(ctx, &it))
	is("put", it.Version)
	v, err := items.Patch(ctx, key, repo.Add("count", 1))
	e.OK("patch", err)
	is("patch", v)
	it, err = items.Update(ctx, key, func(it *item) error { it.Count++; return nil })
	e.OK("update", err)
	is("update", it.Version)
	g := items.Store().Group()
	in := items.In(g)
	in.Replace(&it)
	e.OK("group", g.Commit(ctx))
	is("group", it.Version)
	text, err := it.Version.MarshalText()
	e.OK("marshal of a version", err)
	var back repo.Version
	e.OK("unmarshal of a version", back.UnmarshalText(text))
	rule.Equal(e, "a version from its text", back, it.Version)
	err = back.UnmarshalText([]byte("W/" + strings.ToUpper(string(text))))
	e.That(errors.Is(err, repo.ErrInvalid), "any other text to be ErrInvalid", "%v", err)
}
