package backendtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// Spoilt changes at random what a store has, as another program might, and then calls every
// operation. No operation panics, and with Options.Redact no error has a key or a value.
type Spoilt struct {
	// Store returns a store for one round.
	Store func(t *testing.T) driver.Store

	// Spoil changes something of what is stored of a collection, and returns the store that
	// has it: the same, or the one that was opened again.
	Spoil func(t *testing.T, rng *rand.Rand, s driver.Store, collection string) driver.Store

	Kind   string // of indexes
	Rounds int    // each with a collection of its own
	Turns  int    // of damage in each round

	corrupt, faults int // how many errors were of ErrCorrupt, and how many faults were found
}

const mostShown = 5

// fault reports what is wrong, the first few times.
func (sp *Spoilt) fault(t *testing.T, what string) {
	t.Helper()
	if sp.faults < mostShown {
		t.Error(what)
	}
	sp.faults++
}

// Hush is part of every key and value.
const Hush = "hush"

// A private is a record of which nothing may be told.
type private struct {
	Author string            `repo:"author"`
	ID     string            `repo:"id"`
	Slug   string            `repo:"slug"`
	Topic  string            `repo:"topic"`
	N      int64             `repo:"n"`
	F      float64           `repo:"f"`
	B      bool              `repo:"b"`
	At     time.Time         `repo:"at"`
	Raw    []byte            `repo:"raw"`
	Tags   []string          `repo:"tags"`
	List   []any             `repo:"list"`
	Map    map[string]any    `repo:"map"`
	Names  map[string]string `repo:"names"`
	Rest   map[string]any    `repo:",extra"`
}

func privateSchema(name, kind string) repo.Schema {
	return repo.Schema{Collection: name, Partition: []string{"author"}, Sort: []string{"id"}, Indexes: []repo.Index{
		{Name: "newest", Partition: []string{"author"}, Sort: []string{"-n"}, Covers: []string{"list", "map"}, Kind: kind},
		{Name: "topic", Partition: []string{"topic"}, Sort: []string{"n"}},
		{Name: "slug", Partition: []string{"author"}, Sort: []string{"slug"}, Unique: true},
	}}
}

func privateOf(i int) *private {
	text := func(s string) string { return fmt.Sprint(Hush, "-", s, i) }
	return &private{Author: Hush + "-ann", ID: text("id"), Slug: text("slug"), Topic: Hush + "-topic", N: int64(i), F: 1.5, B: true,
		At: time.UnixMilli(1e12), Raw: []byte(text("raw")), Tags: []string{text("tag")}, List: []any{text("list"), int64(1), []any{true}},
		Map: map[string]any{text("key"): text("value"), "m": map[string]any{"x": 1.5}}, Names: map[string]string{"a": text("name")},
		Rest: map[string]any{text("field"): text("rest")}}
}

// Check does the rounds. Seed is logged, and repeats them.
func (sp *Spoilt) Check(t *testing.T) {
	t.Helper()
	seed := rand.Uint64()
	t.Log("seed", seed)
	sp.Repeat(t, seed)
}

// Repeat is Check with a seed.
func (sp *Spoilt) Repeat(t *testing.T, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	told, failed := 0, 0
	// A round whose first damage ends every Open tells little: others follow it.
	for round := 0; round < sp.Rounds || (told == 0 || sp.corrupt == 0) && round < sp.Rounds+10; round++ {
		s, name := sp.Store(t), fmt.Sprint("private", round, driver.NewToken().String()[:8])
		sp.fill(t, s, name)
		for turn := range sp.Turns {
			s = sp.Spoil(t, rng, s, name)
			where := fmt.Sprintf("round %d, turn %d", round, turn)
			for _, redact := range []bool{true, false} {
				a, b := sp.look(t, s, name, where, redact)
				told, failed = told+a, failed+b
			}
		}
	}
	t.Logf("%d errors, %d of them of ErrCorrupt; %d have a key or a value where texts are not redacted", failed, sp.corrupt, told)
	if told == 0 || sp.corrupt == 0 {
		t.Error("this test looks at nothing")
	}
	if sp.faults > mostShown {
		t.Errorf("%d faults in all", sp.faults)
	}
}

func (sp *Spoilt) fill(t *testing.T, s driver.Store, name string) {
	t.Helper()
	r, err := repo.Open[private](t.Context(), repo.NewStore(s, nil), privateSchema(name, sp.Kind))
	for i := 0; i < 6 && err == nil; i++ {
		err = r.Insert(t.Context(), privateOf(i))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// look calls everything, and reports panics and what leaks.
func (sp *Spoilt) look(t *testing.T, s driver.Store, name, where string, redact bool) (told, failed int) {
	t.Helper()
	store := repo.NewStore(s, &repo.Options{Redact: redact})
	uses := map[string]func(context.Context) error{}
	var typed *repo.Repo[private]
	var loose *repo.Repo[map[string]any]
	schema := privateSchema(name, sp.Kind)
	uses["0 open"] = func(ctx context.Context) (err error) { typed, err = repo.Open[private](ctx, store, schema); return err }
	uses["1 open of maps"] = func(ctx context.Context) error {
		found, err := repo.SchemaOf(ctx, store, name)
		if err == nil {
			loose, err = repo.Open[map[string]any](ctx, store, found, repo.WithoutDefine())
		}
		return err
	}
	try := func(all map[string]func(context.Context) error) {
		for _, what := range slices.Sorted(maps.Keys(all)) {
			err := sp.call(t, what+", "+where, all[what])
			if err == nil {
				continue
			}
			failed++
			leaks := slices.IndexFunc(textsOf(err), func(s string) bool { return strings.Contains(s, Hush) }) >= 0
			if leaks && redact {
				sp.fault(t, fmt.Sprintf("%s, %s: %q has a key or a value", what, where, textsOf(err)))
			} else if leaks {
				told++
			}
			if errors.Is(err, repo.ErrCorrupt) {
				sp.corrupt++
			}
		}
	}
	try(uses)
	if typed != nil {
		try(privateReads(typed, ""))
		try(privateWrites(typed))
		try(mistakes(typed))
	}
	if loose != nil {
		try(privateReads(loose, " as maps"))
	}
	return told, failed
}

// call does one operation, for which a panic is a fault of the test.
func (sp *Spoilt) call(t *testing.T, what string, do func(context.Context) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			sp.fault(t, fmt.Sprintf("%s: panic: %v\n%s", what, r, debug.Stack()))
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a bound for what hangs
	defer cancel()
	if err = do(ctx); errors.Is(err, context.DeadlineExceeded) {
		sp.fault(t, fmt.Sprintf("%s: hangs: %v", what, err))
	}
	return err
}

// textsOf returns the texts of an error, and of all that it wraps.
func textsOf(err error) []string {
	if err == nil {
		return nil
	}
	list := []string{err.Error(), fmt.Sprintf("%+v", err)}
	if e, ok := err.(*repo.Error); ok { //nolint:errorlint // each error of the tree by itself
		list = append(list, e.Key)
	}
	switch e := err.(type) { //nolint:errorlint // each error of the tree by itself
	case interface{ Unwrap() error }:
		list = append(list, textsOf(e.Unwrap())...)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			list = append(list, textsOf(inner)...)
		}
	}
	return list
}

func privateReads[T any](r *repo.Repo[T], as string) map[string]func(context.Context) error {
	author, topic := repo.Where("author", Hush+"-ann"), repo.Where("topic", Hush+"-topic")
	key := func(i int) repo.Key { return repo.Key{Hush + "-ann", fmt.Sprint(Hush, "-id", i)} }
	list := map[string]func(context.Context) error{
		"get many": func(ctx context.Context) error {
			_, _, err := r.GetMany(ctx, []repo.Key{key(0), key(1), key(2), key(9)})
			return err
		},
		"count":  func(ctx context.Context) error { _, err := r.Count(ctx, topic); return err },
		"walk":   func(ctx context.Context) error { return drainAll(r.Walk(ctx, "")) },
		"scan":   func(ctx context.Context) error { return Drain(r.Scan(ctx, repo.All())) },
		"sizes":  func(ctx context.Context) error { _, err := r.Sizes(ctx); return err },
		"verify": func(ctx context.Context) error { return reported(r.Verify(ctx)) },
	}
	for i := range 6 {
		slug := author.Where("slug", fmt.Sprint(Hush, "-slug", i))
		list[fmt.Sprint("get ", i)] = func(ctx context.Context) error { _, err := r.Get(ctx, key(i)); return err }
		list[fmt.Sprint("exists ", i)] = func(ctx context.Context) error { _, err := r.Exists(ctx, key(i)); return err }
		list[fmt.Sprint("one ", i)] = func(ctx context.Context) error { _, err := r.One(ctx, slug); return err }
	}
	for what, q := range map[string]repo.Query{"by key": author, "by local index": author.Order("-n"), "by index": topic.Order("n")} {
		list["find "+what] = func(ctx context.Context) error { return Drain(r.Find(ctx, q)) }
		list["keys "+what] = func(ctx context.Context) error { return Drain(r.Keys(ctx, q)) }
		list["page "+what] = func(ctx context.Context) error { _, err := r.Page(ctx, q.Limit(2), ""); return err }
	}
	all := map[string]func(context.Context) error{}
	for what, do := range list {
		all["read: "+what+as] = do
	}
	return all
}

// drainAll goes on after errors.
func drainAll[T any](seq iter.Seq2[T, error]) (all error) {
	for _, err := range seq {
		all = errors.Join(all, err)
	}
	return all
}

// reported makes the findings of a Verify an error, for what they show.
func reported(reports []repo.Report, err error) error {
	for i := range reports {
		err = errors.Join(err, fmt.Errorf("%+v", reports[i]))
	}
	return err
}

func privateWrites(r *repo.Repo[private]) map[string]func(context.Context) error {
	list := map[string]func(context.Context) error{}
	for i := range 6 {
		key, rec := repo.Key{Hush + "-ann", fmt.Sprint(Hush, "-id", i)}, privateOf(i)
		list[fmt.Sprint("write 1: update ", i)] = func(ctx context.Context) error {
			_, err := r.Update(ctx, key, func(p *private) error { p.N++; p.Slug += "x"; return nil })
			return err
		}
		list[fmt.Sprint("write 2: patch ", i)] = func(ctx context.Context) error { _, err := r.Patch(ctx, key, repo.Add("n", 1)); return err }
		list[fmt.Sprint("write 3: replace ", i)] = func(ctx context.Context) error { return r.Replace(ctx, rec) }
		list[fmt.Sprint("write 4: insert ", i)] = func(ctx context.Context) error { return r.Insert(ctx, rec) }
		list[fmt.Sprint("write 6: put ", i)] = func(ctx context.Context) error { return r.Put(ctx, rec) }
	}
	list["write 5: delete"] = func(ctx context.Context) error { return r.Delete(ctx, repo.Key{Hush + "-ann", Hush + "-id5"}) }
	list["write 7: group"] = func(ctx context.Context) error {
		g := r.Store().Group()
		in := r.In(g)
		in.Put(privateOf(0))
		in.Insert(privateOf(1))
		in.Delete(repo.Key{Hush + "-ann", Hush + "-id2"})
		return g.Commit(ctx)
	}
	list["write 8: insert all"] = func(ctx context.Context) error {
		_, err := r.InsertAll(ctx, func(yield func(private, error) bool) {
			for i := 0; i < 8 && yield(*privateOf(i), nil); i++ {
			}
		})
		return err
	}
	list["write 9: maintain"] = func(ctx context.Context) error { _, err := r.Maintain(ctx); return err }
	list["write 9: rebuild"] = func(ctx context.Context) error { return r.Rebuild(ctx, "newest") }
	list["write 9: rebuild of the unique one"] = func(ctx context.Context) error { return r.Rebuild(ctx, "slug") }
	return list
}

// mistakes are calls that every store refuses.
func mistakes(r *repo.Repo[private]) map[string]func(context.Context) error {
	long, bad := strings.Repeat(Hush, 20_000), Hush+"\xff"
	taken, wide, none := privateOf(9), privateOf(10), privateOf(11)
	taken.Slug, wide.Slug, none.Map = privateOf(1).Slug, long, map[string]any{Hush: make(chan int)}
	return map[string]func(context.Context) error{
		"x: taken":         func(ctx context.Context) error { return r.Insert(ctx, taken) },
		"x: too wide":      func(ctx context.Context) error { return r.Insert(ctx, wide) },
		"x: no value":      func(ctx context.Context) error { return r.Insert(ctx, none) },
		"x: long key":      func(ctx context.Context) error { _, err := r.Get(ctx, repo.Key{Hush, long}); return err },
		"x: bad key":       func(ctx context.Context) error { _, err := r.Get(ctx, repo.Key{bad, bad}); return err },
		"x: short key":     func(ctx context.Context) error { _, err := r.Get(ctx, repo.Key{Hush}); return err },
		"x: no kind":       func(ctx context.Context) error { _, err := r.Get(ctx, repo.Key{Hush, []string{Hush}}); return err },
		"x: more than one": func(ctx context.Context) error { _, err := r.One(ctx, repo.Where("topic", Hush+"-topic")); return err },
		"x: no index":      func(ctx context.Context) error { return Drain(r.Find(ctx, repo.Where("names", Hush))) },
		"x: wrong kind": func(ctx context.Context) error {
			return Drain(r.Find(ctx, repo.Where("topic", Hush).Range("n", Hush, nil)))
		},
		"x: bad cursor": func(ctx context.Context) error { _, err := r.Page(ctx, repo.Where("topic", Hush), Hush); return err },
		"x: bad mark":   func(ctx context.Context) error { return drainAll(r.Walk(ctx, Hush)) },
		"x: patch": func(ctx context.Context) error {
			_, err := r.Patch(ctx, repo.Key{Hush, Hush}, repo.Set("n", Hush))
			return err
		},
		"x: patch of a field that nobody declared": func(ctx context.Context) error {
			_, err := r.Patch(ctx, repo.Key{Hush + "-ann", Hush + "-id1"}, repo.Add(Hush+"-field1", 1))
			return err
		},
		"x: patch twice": func(ctx context.Context) error {
			_, err := r.Patch(ctx, repo.Key{Hush, Hush}, repo.Set(Hush, 1), repo.Set(Hush, 2))
			return err
		},
		"x: patch of a path": func(ctx context.Context) error {
			_, err := r.Patch(ctx, repo.Key{Hush, Hush}, repo.Set(Hush+".x", 1))
			return err
		},
		"x: find by a field that nobody declared": func(ctx context.Context) error { return Drain(r.Find(ctx, repo.Where(Hush, 1))) },
		"x: scan of two values": func(ctx context.Context) error {
			return Drain(r.Scan(ctx, repo.Where(Hush, 1).Where(Hush, 2)))
		},
		"x: scan of a value and a bound": func(ctx context.Context) error {
			return Drain(r.Scan(ctx, repo.Where(Hush, 1).Above(Hush, 2)))
		},
		"x: scan of other kinds": func(ctx context.Context) error {
			return Drain(r.Scan(ctx, repo.All().Above(Hush, 1).Below(Hush, "x")))
		},
		"x: key changed": func(ctx context.Context) error {
			_, err := r.Update(ctx, repo.Key{Hush + "-ann", Hush + "-id1"}, func(p *private) error { p.ID += "y"; return nil })
			return err
		},
		"x: group twice": func(ctx context.Context) error {
			g := r.Store().Group()
			in := r.In(g)
			in.Put(taken)
			in.Put(taken)
			return g.Commit(ctx)
		},
	}
}

// Garbled returns text with some damage, often with what is JSON but not expected.
func Garbled(rng *rand.Rand, text string) string {
	whole := []string{"", "null", "[null]", `{"a":null}`, `[[null],{"x":[null]}]`, "{", "[[[[", `{"$time":"x"}`, `{"$bytes":"%"}`, `{"$float":"x"}`,
		"1e999", "-0", "99999999999999999999", Hush, Hush + "\xff", `["` + Hush + `"]`, `{"` + Hush + `":1}`, "\x00\x00\x00\x00"}
	if len(text) == 0 || rng.IntN(2) == 0 {
		return whole[rng.IntN(len(whole))]
	}
	at := rng.IntN(len(text))
	switch rng.IntN(4) {
	case 0:
		return text[:at]
	case 1:
		return text[:at] + string([]byte{text[at] ^ 1<<rng.IntN(8)}) + text[at+1:]
	case 2:
		return text + text[at:]
	default:
		return text[:at] + whole[rng.IntN(len(whole))] + text[at:]
	}
}
