package mongo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/repo/driver"
)

// Documents of other programs are an error that names them wherever they are read, and
// those of the store are as they were.
func TestDocumentsOfOtherPrograms(t *testing.T) {
	t.Parallel()
	s, ts, db := shared(t)
	rev := bson.Binary{Data: make([]byte, 16)}
	rev.Data[0] = 1
	good := []string{"ann#1#", "eve#1#"}
	for _, id := range good {
		backendtest.MustCommit(t, s, ts.Insert(t, id[:3], "1")[:1])
	}
	for field, doc := range map[string]bson.D{
		"_rev":     d("title", "no rev"),
		"title":    d("_rev", rev, "title", int64(5)),
		"views":    d("_rev", rev, "views", int32(5)),
		"rating":   d("_rev", rev, "rating", "5"),
		"at":       d("_rev", rev, "at", int64(5)),
		"photo":    d("_rev", rev, "photo", bson.Binary{Subtype: 4, Data: rev.Data}),
		"tags":     d("_rev", rev, "tags", d("a", int64(1))),
		"other":    d("_rev", rev, "other", "nobody declared it"),
		"_other":   d("_rev", rev, "_other", "the library has no such field"),
		"_ring":    d("_rev", rev, "_ring", "text"),
		"_dead":    d("_rev", rev, "_dead", "yes"),
		"_expires": d("_rev", rev, "_expires", int64(5)),
		"_note":    d("_rev", rev, "_note", true),
		"_extra":   d("_rev", rev, "_extra", d("x", bson.NewDecimal128(1, 1))),
		"slug":     d("_rev", rev, "slug", bson.Regex{Pattern: "x"}),
	} {
		id := "bob#" + strings.ReplaceAll(field, "_", "x") + "#"
		doc = append(d("_id", id), doc...)
		if _, err := db.Collection("posts").InsertOne(t.Context(), doc); err != nil {
			t.Fatal(err)
		}
		key := driver.Key{Partition: "bob#", Sort: id[4:]}
		get := s.Get(t.Context(), ts.Posts, []driver.Key{key}, nil, make([]driver.Row, 1))
		scan := backendtest.Drain(s.Range(t.Context(), driver.Span{Table: ts.Posts, Key: driver.Key{Partition: "bob#"}}))
		walk := backendtest.Drain(s.Walk(t.Context(), ts.Posts, ""))
		errs := map[string]error{"get": get, "range": scan, "walk": walk}
		if field[0] == '_' && field != "_extra" && field != "_other" {
			errs["get of one field"] = s.Get(t.Context(), ts.Posts, []driver.Key{key}, []int{backendtest.FieldTitle}, make([]driver.Row, 1))
		}
		if field == "_ring" {
			errs["put"] = backendtest.Commit(t, s, []driver.Op{{Do: driver.Put, Table: ts.Posts, Row: driver.Row{Key: key}}})
			errs["puts"] = backendtest.Commit(t, s, append(ts.Insert(t, "ann", "2")[:1], driver.Op{Do: driver.Put, Table: ts.Posts, Row: driver.Row{Key: key}}))
		}
		for what, err := range errs {
			if !errors.Is(err, driver.ErrCorrupt) || !strings.Contains(err.Error(), `"`+id+`"`) || !strings.Contains(err.Error(), `"`+field+`"`) {
				t.Errorf("%s of a document with a bad %s: %v, want ErrCorrupt that names %s", what, field, err, id)
			}
		}
		if keys, unread := backendtest.WalkAll(t, s, ts.Posts); !slices.Equal(keys, good) || len(unread) != 1 {
			t.Errorf("beside a document with a bad %s a walk finds %q, and %d that it cannot read; want %q and one", field, keys, len(unread), good)
		}
		if _, err := db.Collection("posts").DeleteOne(t.Context(), d("_id", id)); err != nil {
			t.Fatal(err)
		}
	}
}

// An _id that is no key is an error, one that is no string is not seen.
func TestForeignIds(t *testing.T) {
	t.Parallel()
	s, ts, db := shared(t)
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1")[:1])
	rev := bson.Binary{Data: []byte("0123456789abcdef")}
	if _, err := db.Collection("posts").InsertOne(t.Context(), d("_id", bson.NewObjectID(), "_rev", rev)); err != nil {
		t.Fatal(err)
	}
	if err := backendtest.Drain(s.Walk(t.Context(), ts.Posts, "")); err != nil {
		t.Errorf("walk over a document with another type of _id: %v", err)
	}
	if _, err := db.Collection("posts").InsertOne(t.Context(), d("_id", "ann#zzz", "_rev", rev)); err != nil {
		t.Fatal(err)
	}
	seen := 0
	var last error
	for row, err := range s.Range(t.Context(), driver.Span{Table: ts.Posts, Key: driver.Key{Partition: "ann#"}}) {
		if last = err; row != nil {
			seen++
		}
	}
	if seen != 1 || !errors.Is(last, driver.ErrCorrupt) || !strings.Contains(last.Error(), "ann#zzz") {
		t.Errorf("range: %d rows, then %v; want one and ErrCorrupt", seen, last)
	}
	var many []any // chunks of nothing else, and marks that are no keys
	for i := range 600 {
		many = append(many, d("_id", fmt.Sprintf("bob#%03d", i), "_rev", rev))
	}
	if _, err := db.Collection("posts").InsertMany(t.Context(), many); err != nil {
		t.Fatal(err)
	}
	backendtest.MustCommit(t, s, ts.Insert(t, "eve", "1")[:1])
	if keys, unread := backendtest.WalkAll(t, s, ts.Posts); !slices.Equal(keys, []string{"ann#1#", "eve#1#"}) || len(unread) != 601 {
		t.Errorf("a walk finds %q, and %d that it cannot read; want those of ann and eve, and 601", keys, len(unread))
	}
}

// A large map whose keys another program has in the opposite order is read in a time that
// is of the order of its size.
func TestForeignOrderOfManyKeys(t *testing.T) {
	t.Parallel()
	s, ts, db := shared(t)
	const keys = 500_000
	mixed := make(bson.D, keys)
	for i := range mixed {
		mixed[i] = bson.E{Key: fmt.Sprintf("%06d", keys-1-i), Value: true}
	}
	doc := d("_id", annOne, "_rev", bson.Binary{Data: []byte("0123456789abcdef")}, "tags", bson.A{mixed})
	if _, err := db.Collection("posts").InsertOne(t.Context(), doc); err != nil {
		t.Fatal(err)
	}
	var rows [1]driver.Row
	done := make(chan error, 1)
	go func() {
		done <- s.Get(t.Context(), ts.Posts, []driver.Key{{Partition: "ann#", Sort: "1#"}}, nil, rows[:])
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute): // some hundred times what it takes
		t.Fatal("reading it hangs")
	}
	got := rows[0].Fields[backendtest.FieldTags].List()[0].List()
	if len(got) != 2*keys || got[0].Str() != "000000" || got[2*keys-2].Str() != fmt.Sprintf("%06d", keys-1) {
		t.Errorf("%d keys and values from %v", len(got), got[0])
	}
}

// Another program may leave out what is not set, write null for it, and have nested
// fields in any order.
func TestForeignButReadable(t *testing.T) {
	t.Parallel()
	s, ts, db := shared(t)
	doc := d("_id", annOne, "views", int64(3), "title", nil, "_rev", bson.Binary{Data: []byte("0123456789abcdef")},
		"tags", bson.A{d("z", int64(1), "a", nil, "b", 1.5)}, "_extra", d("y", int64(1), "x", bson.A{}, "a%2Eb", "c"))
	if _, err := db.Collection("posts").InsertOne(t.Context(), doc); err != nil {
		t.Fatal(err)
	}
	var rows [1]driver.Row
	if err := s.Get(t.Context(), ts.Posts, []driver.Key{{Partition: "ann#", Sort: "1#"}}, nil, rows[:]); err != nil {
		t.Fatal(err)
	}
	inner := driver.MapValue([]driver.Value{driver.StringValue("b"), driver.FloatValue(1.5), driver.StringValue("z"), driver.IntValue(1)})
	f := rows[0].Fields
	if !f[backendtest.FieldTitle].IsNone() || f[backendtest.FieldViews].Int() != 3 || !f[backendtest.FieldTags].Equal(driver.ListValue([]driver.Value{inner})) {
		t.Errorf("fields %v", f)
	}
	if x := rows[0].Extra; len(x) != 2 || x[0].Name != "a.b" || x[1].Name != "y" {
		t.Errorf("undeclared fields %v", x)
	}
	backendtest.MustCommit(t, s, ts.Add(t, "ann", "1"))
	if n := ts.Views(t, s, "ann", "1"); n != 4 {
		t.Errorf("%d views, want 4", n)
	}
}

// Collections that another program made are left alone, and so are odd ones.
func TestCollectionsOfOtherPrograms(t *testing.T) {
	t.Parallel()
	s, ts, db := shared(t)
	table := func(name string) *driver.Table {
		return &driver.Table{Name: name, Partition: ts.Posts.Partition, Fields: ts.Posts.Fields}
	}
	if _, err := db.Collection("orders").InsertOne(t.Context(), d("_id", 1)); err != nil {
		t.Fatal(err)
	}
	do(t, db, d("create", "seen", "viewOn", "orders", "pipeline", bson.A{}))
	for name, want := range map[string]string{"orders": "another program made it", "seen": "is a view"} {
		if err := s.Define(t.Context(), []*driver.Table{table(name)}); !errors.Is(err, driver.ErrSchema) || !strings.Contains(err.Error(), want) {
			t.Errorf("define of %s: %v, want ErrSchema with %q", name, err, want)
		}
		if err := s.Drop(t.Context(), []*driver.Table{table(name)}); err != nil {
			t.Errorf("drop of %s: %v", name, err)
		}
	}
	if n, err := db.Collection("orders").CountDocuments(t.Context(), bson.D{}); n != 1 || err != nil {
		t.Errorf("the collection of another program has %d documents: %v", n, err)
	}
	for want, cmd := range map[string]bson.D{
		"has a collation": d("create", "posts.by_tag", "collation", d("locale", "en", "strength", 2)),
		"is capped":       d("create", "posts.slug", "capped", true, "size", 4096),
	} {
		name := cmd[0].Value.(string)
		do(t, db, d("drop", name))
		do(t, db, cmd)
		if err := s.Define(t.Context(), ts.All()); !errors.Is(err, driver.ErrSchema) || !strings.Contains(err.Error(), want) {
			t.Errorf("define of %s: %v, want ErrSchema with %q", name, err, want)
		}
		do(t, db, d("drop", name))
	}
	do(t, db, d("collMod", "posts", "validator", d("title", d("$type", "int"))))
	_, err := s.Commit(t.Context(), driver.NewToken(), ts.Insert(t, "ann", "1")[:1])
	if !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "validator") {
		t.Errorf("a commit against a validator: %v, want ErrInvalid", err)
	}
	for _, name := range []string{"_tables", "system.users"} {
		if err := s.Define(t.Context(), []*driver.Table{table(name)}); !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("define of %s: %v, want ErrInvalid", name, err)
		}
	}
	do(t, db, d("update", "_tables", "updates", bson.A{d("q", d("_id", "posts"), "u", d("$set", d("layout", 2)))}))
	if err := s.Attach(t.Context(), []*driver.Table{ts.Posts}); !errors.Is(err, driver.ErrSchema) || !strings.Contains(err.Error(), "later release") {
		t.Errorf("attach of a later layout: %v, want ErrSchema", err)
	}
	do(t, db, d("update", "_tables", "updates", bson.A{d("q", d("_id", "posts"), "u", d("$set", d("fields", "none")))}))
	if err := s.Attach(t.Context(), []*driver.Table{ts.Posts}); !errors.Is(err, driver.ErrCorrupt) {
		t.Errorf("attach with a catalog that cannot be read: %v, want ErrCorrupt", err)
	}
}

// A field that was not declared when it was written, or is declared by another program
// only, is one field wherever it lies.
func TestFieldsDeclaredLater(t *testing.T) {
	t.Parallel()
	s, ts, _ := shared(t)
	key := backendtest.KeyOf(t, ts.Posts, "ann", "1")
	put := driver.Op{Do: driver.Put, Table: ts.Posts, Row: driver.Row{Key: key, Extra: []driver.Pair{{Name: "likes", Value: driver.IntValue(5)}}}}
	backendtest.MustCommit(t, s, []driver.Op{put})
	wide := *ts.Posts
	wide.Fields = append(append([]driver.Column{}, wide.Fields...), driver.Column{Name: "likes", Kind: driver.Int})
	if err := s.Define(t.Context(), []*driver.Table{&wide}); err != nil {
		t.Fatal(err)
	}
	likes := len(wide.Fields) - 1
	read := func(table *driver.Table, mask []int) driver.Row {
		t.Helper()
		var rows [1]driver.Row
		if err := s.Get(t.Context(), table, []driver.Key{key}, mask, rows[:]); err != nil {
			t.Fatal(err)
		}
		return rows[0]
	}
	if n := read(&wide, []int{likes}).Fields[0].Int(); n != 5 {
		t.Errorf("%d likes by a mask, want 5", n)
	}
	add := func(table *driver.Table, field int, cond driver.Cond) (*driver.Refusal, error) {
		return s.Commit(context.WithoutCancel(t.Context()), driver.NewToken(), []driver.Op{{Do: driver.Patch, Table: table, If: cond,
			Row: driver.Row{Key: key}, Edits: []driver.Edit{{Do: driver.Add, Field: field, Name: "likes", Value: driver.IntValue(1)}}}})
	}
	if refusal, err := add(&wide, likes, driver.Present); refusal != nil || err != nil {
		t.Fatalf("add: %v, %v", refusal, err)
	}
	if row := read(&wide, nil); row.Fields[likes].Int() != 6 || len(row.Extra) != 0 {
		t.Errorf("%v likes and %v beside, want 6", row.Fields[likes], row.Extra)
	}
	if row := read(ts.Posts, nil); len(row.Extra) != 1 || row.Extra[0].Value.Int() != 6 {
		t.Errorf("by who does not declare it: %v, want 6", row.Extra)
	}
	if refusal, err := add(ts.Posts, -1, driver.Present); refusal != nil || err != nil {
		t.Fatalf("add by who does not declare it: %v, %v", refusal, err)
	}
	if n := read(&wide, nil).Fields[likes].Int(); n != 7 {
		t.Errorf("%d likes, want 7", n)
	}
	put.Row.Extra[0].Value = driver.StringValue("many")
	if err := s.Attach(t.Context(), []*driver.Table{ts.Posts}); err != nil {
		t.Fatal(err)
	}
	backendtest.MustCommit(t, s, []driver.Op{put})
	if refusal, err := add(&wide, likes, driver.Present); err != nil || refusal == nil || !refusal.Overflow {
		t.Errorf("add to a text: %v, %v, want a refusal", refusal, err)
	}
}

// A null is nothing, also where a patch is to change it.
func TestForeignNulls(t *testing.T) {
	t.Parallel()
	s, ts, db := shared(t)
	key := driver.Key{Partition: "ann#", Sort: "1#"}
	add := func(name string, field int) driver.Op {
		return driver.Op{Do: driver.Patch, Table: ts.Posts, If: driver.Present, Row: driver.Row{Key: key},
			Edits: []driver.Edit{{Do: driver.Add, Field: field, Name: name, Value: driver.IntValue(2)}}}
	}
	beside := driver.Op{Do: driver.Check, If: driver.Absent, Table: ts.Posts, Row: driver.Row{Key: driver.Key{Partition: "bob#", Sort: "1#"}}}
	for what, doc := range map[string]bson.D{
		"number": d("views", nil),
		"ring":   d("_ring", nil),
		"rest":   d("_extra", nil, "_note", nil, "_dead", nil, "_expires", nil),
		"inside": d("_extra", d("likes", nil)),
	} {
		for _, ops := range [][]driver.Op{{add("", backendtest.FieldViews)}, {add("likes", -1)}, {add("", backendtest.FieldViews), beside}} {
			doc := append(d("_id", annOne, "_rev", bson.Binary{Data: []byte("0123456789abcdef")}), doc...)
			if _, err := db.Collection("posts").InsertOne(t.Context(), doc); err != nil {
				t.Fatal(err)
			}
			backendtest.MustCommit(t, s, ops)
			var rows [1]driver.Row
			err := s.Get(t.Context(), ts.Posts, []driver.Key{key}, nil, rows[:])
			sum := rows[0].Fields[backendtest.FieldViews].Int()
			for _, p := range rows[0].Extra {
				sum += p.Value.Int()
			}
			if err != nil || sum != 2 || len(rows[0].Ring) != 1 {
				t.Errorf("%s: %v %v after 2 was added, ring %v: %v", what, rows[0].Fields, rows[0].Extra, rows[0].Ring, err)
			}
			if _, err := db.Collection("posts").DeleteOne(t.Context(), d("_id", annOne)); err != nil {
				t.Fatal(err)
			}
		}
	}
}
