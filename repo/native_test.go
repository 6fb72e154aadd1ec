package repo_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

type song struct {
	ID    string   `repo:"id"`
	Genre string   `repo:"genre"`
	Year  int64    `repo:"year"`
	Tags  []string `repo:"tags"`
	Cover []byte   `repo:"cover"`
	Code  *string  `repo:"code"`
}

func songSchema(kind string, indexes ...repo.Index) repo.Schema {
	for i := range indexes {
		indexes[i].Kind = kind
	}
	return repo.Schema{Collection: "songs", Partition: []string{"id"}, Indexes: indexes}
}

// The kind of an index is that of its schema, or what the store prefers; where one
// record is changed at a time there is only one.
func TestKindOfIndexes(t *testing.T) {
	record := driver.ScopeRecord
	byYear := repo.Index{Name: "by_year", Partition: []string{"genre"}, Sort: []string{"-year"}}
	byCover := repo.Index{Name: "by_cover", Partition: []string{"genre"}, Sort: []string{"cover"}}
	facts := func(opts memory.Options, order ...driver.Kind) driver.Facts {
		f := memory.New(&opts).Facts()
		f.NativeOrder = order
		return f
	}
	text := []driver.Kind{driver.String, driver.Int}
	partition := driver.ScopePartition
	near := facts(memory.Options{Scope: &partition, NativeLocal: text})
	byGenre := func(x repo.Index) repo.Index {
		x.Name, x.Partition = "by_genre", append([]string{"id", "genre"}, x.Partition...)
		return x
	}
	albums := songSchema("native", repo.Index{Name: "by_year", Partition: []string{"year"}})
	albums.Partition, albums.Sort = []string{"genre"}, []string{"id"}
	if err := repo.Check[song](near, albums); err == nil || !strings.Contains(err.Error(), "Partition lacks genre; use kind table, or add it if every query names it") {
		t.Errorf("near, without the partition of the records: %v", err)
	}
	for what, tt := range map[string]struct {
		facts driver.Facts
		kind  string
		index repo.Index
		want  string // of the error
	}{
		"native, wanted":                         {facts(memory.Options{}, text...), "native", byYear, ""},
		"native bytes":                           {facts(memory.Options{}, text...), "native", byCover, "another order of bytes"},
		"bytes, left open":                       {facts(memory.Options{Native: true}, text...), "", byCover, ""},
		"one record at a time":                   {facts(memory.Options{Scope: &record}, text...), "auto", byYear, ""},
		"one record at a time, bytes":            {facts(memory.Options{Scope: &record}, text...), "auto", byCover, "put it into Partition"},
		"one record at a time, no native index":  {driver.Facts{Name: "x", Native: driver.Ability{Reason: "none here"}}, "", byYear, "none here; use another store"},
		"one record at a time, a table":          {facts(memory.Options{Scope: &record}, text...), "table", byYear, "use kind native"},
		"a store that keeps none":                {driver.Facts{Name: "x", Scope: driver.ScopeStore, Native: driver.Ability{Reason: "none here"}}, "native", byYear, "none here"},
		"near":                                   {near, "native", byGenre(repo.Index{}), ""},
		"near, not with the records":             {near, "native", byYear, "by_year: kind native: memory finds records within one partition, and each record has one of its own here; use kind table"},
		"near, of another kind":                  {near, "native", byGenre(repo.Index{Partition: []string{"cover"}}), "finds nothing by cover, which is bytes"},
		"near, elements":                         {near, "native", byGenre(repo.Index{Partition: []string{"tags[]"}}), "looks into no lists, and tags is one"},
		"near, in another order":                 {near, "native", byGenre(repo.Index{Sort: []string{"-year"}}), "[-year] is not how their Sort, [], begins"},
		"near, unique":                           {near, "native", byGenre(repo.Index{Unique: true}), "keeps nothing unique"},
		"near, left open":                        {facts(memory.Options{Scope: &partition, NativeLocal: text, Native: true}), "", byYear, ""},
		"a store that keeps none and prefers it": {driver.Facts{Name: "x", Scope: driver.ScopeStore, PrefersNative: true}, "", byYear, ""},
	} {
		err := repo.Check[song](tt.facts, songSchema(tt.kind, tt.index))
		if tt.want == "" && err != nil || tt.want != "" && (!errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", what, err, tt.want)
		}
		if err != nil && strings.Count(err.Error(), "schema does not fit") != 1 {
			t.Errorf("%s: %v, want one fault with one remedy", what, err)
		}
	}
}

// Explain says which kind it is; an index that is opened in another kind is another one.
func TestExplainNative(t *testing.T) {
	s := memory.New(nil)
	store := repo.NewStore(s, nil)
	index := func() repo.Index {
		return repo.Index{Name: "by_year", Partition: []string{"genre"}, Sort: []string{"-year"}}
	}
	songs, err := repo.Open[song](t.Context(), store, songSchema("native", index()))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := songs.Explain(repo.Where("genre", "pop").Order("-year"))
	if err != nil || !plan.Covered || plan.Depth != 1 || plan.PerRecord || !strings.Contains(plan.Why, "store's own index") {
		t.Errorf("plan %v, %v", plan, err)
	}
	if err := songs.Insert(t.Context(), &song{ID: "1", Genre: "pop"}); err != nil {
		t.Fatal(err)
	}
	if _, err := repo.Open[song](t.Context(), store, songSchema("table", index()), repo.WithBuild()); !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), "another name") {
		t.Errorf("open as a table: %v", err)
	}
	if err := repo.DropIndex(t.Context(), store, "songs", "by_year"); err != nil {
		t.Fatal(err)
	}
	tabled := built[song](t, store, songSchema("table", index()))
	home := &driver.Table{Name: "songs", Partition: []driver.Column{{Name: "id", Kind: driver.String}}, Fields: []driver.Column{{Name: "genre", Kind: driver.String}, {Name: "year", Kind: driver.Int}}}
	was := &driver.Table{Name: "songs.by_year", Class: driver.Rows, Native: true, Home: home, Partition: home.Fields[:1], Sort: []driver.Column{{Name: "year", Kind: driver.Int, Desc: true}}}
	if err := s.Attach(t.Context(), []*driver.Table{home, was}); !errors.Is(err, driver.ErrSchema) {
		t.Errorf("attach of the native index that is no more: %v", err)
	}
	if n, err := tabled.Count(t.Context(), repo.Where("genre", "pop")); n != 1 || err != nil {
		t.Errorf("pop by the table: %d, %v", n, err)
	}
}

// Where other programs may have a collection open, none of its indexes becomes one of another
// kind: they would go on reading the index that they know.
func TestKindStaysBesideOtherPrograms(t *testing.T) {
	index := repo.Index{Name: "by_year", Partition: []string{"genre"}, Sort: []string{"-year"}}
	for _, tt := range [][2]string{{"table", "native"}, {"native", "table"}} {
		s := memory.New(nil)
		before, err := repo.Open[song](t.Context(), repo.NewStore(&distant{Store: s}, nil), songSchema(tt[0], index))
		if err != nil {
			t.Fatal(err)
		}
		for _, opts := range [][]repo.OpenOption{nil, {repo.WithBuild()}, {repo.WithoutDefine()}} {
			_, err := repo.Open[song](t.Context(), repo.NewStore(&distant{Store: s}, nil), songSchema(tt[1], index), opts...)
			if !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), "by_year is of kind "+tt[0]) || !strings.Contains(err.Error(), "another name") {
				t.Errorf("%s, declared %s, %d options: %v, want ErrSchema with a remedy", tt[0], tt[1], len(opts), err)
			}
		}
		if err := before.Insert(t.Context(), &song{ID: "1", Genre: "pop"}); err != nil {
			t.Errorf("the program of before: %v", err)
		}
		if n, err := before.Count(t.Context(), repo.Where("genre", "pop")); n != 1 || err != nil {
			t.Errorf("the program of before finds %d records, %v", n, err)
		}
	}
}

// A record of a group that wants the value which another one of the group has, and keeps, is
// refused for its key if it is there already, and else for the value, as with index tables.
func TestValueThatAnotherKeeps(t *testing.T) {
	for _, kind := range []string{"table", "native"} {
		schema := songSchema(kind, repo.Index{Name: "by_code", Partition: []string{"code"}, Unique: true})
		schema.Partition, schema.Sort = []string{"genre"}, []string{"id"}
		songs, err := repo.Open[song](t.Context(), repo.NewStore(memory.New(nil), nil), schema)
		if err != nil {
			t.Fatal(err)
		}
		code := "C1"
		first := song{ID: "1", Code: &code}
		if err := songs.Insert(t.Context(), &first); err != nil {
			t.Fatal(err)
		}
		for _, there := range []bool{false, true} {
			if there {
				if err := songs.Insert(t.Context(), &song{ID: "2"}); err != nil {
					t.Fatal(err)
				}
			}
			g := songs.Store().Group()
			in := songs.In(g)
			in.Put(&first)
			in.Insert(&song{ID: "2", Code: &code})
			err := g.Commit(t.Context())
			e, ok := errors.AsType[*repo.Error](err)
			if !ok || !errors.Is(err, repo.ErrExists) || (e.Index == "") != there {
				t.Errorf("kind %s, the second is there: %v: %v", kind, there, err)
			}
		}
	}
}

// A unique index that a program does not know of refuses its writes, and says so.
func TestUnknownUniqueIndex(t *testing.T) {
	s := memory.New(nil)
	store := repo.NewStore(s, nil)
	songs, err := repo.Open[song](t.Context(), store, songSchema("native", repo.Index{Name: "by_code", Partition: []string{"code"}, Unique: true}))
	if err != nil {
		t.Fatal(err)
	}
	code := "C1"
	if err := songs.Insert(t.Context(), &song{ID: "1", Code: &code}); err != nil {
		t.Fatal(err)
	}
	err = songs.Insert(t.Context(), &song{ID: "2", Code: &code})
	if e, ok := errors.AsType[*repo.Error](err); !ok || !errors.Is(err, repo.ErrExists) || e.Index != "by_code" {
		t.Errorf("insert of the same code: %v, want ErrExists of by_code", err)
	}
	home := &driver.Table{Name: "songs", Partition: []driver.Column{{Name: "id", Kind: driver.String}}, Fields: []driver.Column{{Name: "year", Kind: driver.Int}, {Name: "genre", Kind: driver.String}}}
	hidden := &driver.Table{Name: "hidden", Class: driver.Claims, Native: true, Home: home, Partition: []driver.Column{{Name: "year", Kind: driver.Int}}}
	if err := s.Define(t.Context(), []*driver.Table{home, hidden}); err != nil {
		t.Fatal(err)
	}
	if err := songs.Insert(t.Context(), &song{ID: "3"}); !errors.Is(err, repo.ErrExists) || !strings.Contains(err.Error(), "hidden") {
		t.Errorf("insert against an index of another program: %v", err)
	}
}
