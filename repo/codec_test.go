package repo_test

import (
	"errors"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/polystore/polystore/repo"
)

type part struct {
	Name  string    `repo:"name"`
	Price float64   `repo:"price"`
	Next  *part     `repo:"next"`
	At    time.Time `repo:"at"`
}

type embedded struct {
	Street string `repo:"street"`
}

type color string

// everything has a field of every type that can be stored.
type everything struct {
	ID    string `repo:"id"`
	Bool  bool
	I8    int8
	I64   int64
	U8    uint8
	U64   uint64
	F32   float32
	F64   float64
	Text  string
	Color color
	Bytes []byte
	At    time.Time
	Nano  time.Time `repo:"nano,nanos"`
	Ptr   *int
	Strs  []string
	Parts []part
	Array [2]int
	Map   map[string]int
	Any   map[string]any
	Addr  netip.Addr
	Wait  time.Duration
	embedded
	Skip    chan int       `repo:"-"`
	Version repo.Version   `repo:",version"`
	Extra   map[string]any `repo:",extra"`
}

func openAll(t *testing.T) *repo.Repo[everything] {
	t.Helper()
	r, err := repo.Open[everything](t.Context(), newStore(t, nil), repo.Schema{Collection: "all", Partition: []string{"id"}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRoundTrip(t *testing.T) {
	seven := 7
	at := time.Date(2026, 5, 6, 7, 8, 9, 123456789, time.FixedZone("x", 3600))
	full := everything{
		ID: "full", Bool: true, I8: -128, I64: math.MinInt64, U8: 255, U64: math.MaxInt64, F32: 1.5, F64: math.Inf(-1),
		Text: "a\x00b\U0010FFFF", Color: "red", Bytes: []byte{0, 255}, At: at, Nano: at, Ptr: &seven,
		Strs: []string{"", "x"}, Parts: []part{{Name: "p", Price: 1, Next: &part{Name: "q"}, At: at}}, Array: [2]int{1, 2},
		Map: map[string]int{"": 1, "é": 2}, Addr: netip.MustParseAddr("::1"), Wait: time.Hour, embedded: embedded{"Main St"},
		Any:   map[string]any{"n": int64(1), "f": 1.5, "s": "x", "l": []any{true, "y"}, "m": map[string]any{"t": at.Truncate(time.Millisecond).UTC()}},
		Extra: map[string]any{"Installed-Size": int64(3), "ключ": "v"},
	}
	r, ctx := openAll(t), t.Context()
	for _, want := range []everything{full, {ID: "empty", Strs: []string{}, Bytes: []byte{}, Map: map[string]int{}}} {
		if err := r.Insert(ctx, &want); err != nil {
			t.Fatalf("Insert(%s): %v", want.ID, err)
		}
		got, err := r.Get(ctx, repo.Key{want.ID})
		if err != nil {
			t.Fatalf("Get(%s): %v", want.ID, err)
		}
		opts := cmp.Options{cmpopts.EquateEmpty(), cmp.AllowUnexported(everything{}), cmpopts.IgnoreFields(everything{}, "Skip"),
			cmpopts.EquateComparable(netip.Addr{}), cmpopts.EquateApproxTime(time.Millisecond)}
		if d := cmp.Diff(want, got, opts); d != "" {
			t.Errorf("%s came back otherwise (-want +got):\n%s", want.ID, d)
		}
		if !got.Nano.Equal(want.Nano) && !want.Nano.IsZero() {
			t.Errorf("nanos: %v, want %v", got.Nano, want.Nano)
		}
		if ms := want.At.UnixMilli(); got.At.UnixMilli() != ms || got.At.Nanosecond()%1e6 != 0 {
			t.Errorf("time %v, want %v cut to milliseconds", got.At, want.At)
		}
	}
}

func TestRefusedValues(t *testing.T) {
	loop := map[string]any{}
	loop["self"] = loop
	chain := &part{}
	chain.Next = chain
	tests := []struct {
		name string
		rec  everything
		want string
		err  error
	}{
		{"unsigned too great", everything{U64: math.MaxInt64 + 1}, "field u64: a number is over", repo.ErrInvalid},
		{"NaN", everything{F64: math.NaN()}, "field f64: not a number", repo.ErrInvalid},
		{"text", everything{Text: "\xff"}, "field text", repo.ErrInvalid},
		{"text in a list", everything{Strs: []string{"ok", "\xff"}}, "field strs: [1]", repo.ErrInvalid},
		{"NUL in a map key", everything{Map: map[string]int{"a\x00": 1}}, "field map", repo.ErrInvalid},
		{"nil in a list", everything{Any: map[string]any{"l": []any{nil}}}, "may not be nil", repo.ErrInvalid},
		{"a map that holds itself", everything{Any: loop}, "holds itself", repo.ErrInvalid},
		{"a pointer to itself", everything{Parts: []part{*chain}}, "holds itself", repo.ErrInvalid},
		{"a channel", everything{Any: map[string]any{"c": make(chan int)}}, "cannot be stored", repo.ErrInvalid},
		{"our prefix", everything{Extra: map[string]any{"_rev": 1}}, "begin with '_'", repo.ErrInvalid},
		{"declared twice", everything{Extra: map[string]any{"text": 1}}, "is declared", repo.ErrInvalid},
		{"nanos too far", everything{Nano: time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)}, "too far off", repo.ErrInvalid},
		{"record too large", everything{Text: strings.Repeat("x", 1<<20)}, "at most 1048576", repo.ErrTooLarge},
		{"key too large", everything{ID: strings.Repeat("x", 1<<10)}, "at most 1024", repo.ErrTooLarge},
	}
	r, ctx := openAll(t), t.Context()
	for _, tt := range tests {
		if err := r.Insert(ctx, &tt.rec); !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %v with %q", tt.name, err, tt.err, tt.want)
		}
	}
	for chunk, err := range r.Walk(ctx, "") {
		if err != nil || len(chunk.Items) > 0 {
			t.Errorf("refused records left %d behind, %v", len(chunk.Items), err)
		}
	}
}

// A struct that is too small for what is stored says so instead of cutting it.
func TestNarrowField(t *testing.T) {
	type wide struct {
		ID string `repo:"id"`
		N  int64  `repo:"n"`
	}
	type narrow struct {
		ID string `repo:"id"`
		N  int8   `repo:"n"`
	}
	store, ctx := newStore(t, nil), t.Context()
	schema := repo.Schema{Collection: "n", Partition: []string{"id"}}
	w, err := repo.Open[wide](ctx, store, schema)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Insert(ctx, &wide{"a", 300}); err != nil {
		t.Fatal(err)
	}
	n, err := repo.Open[narrow](ctx, store, schema)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := n.Get(ctx, repo.Key{"a"}); !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), "a stored int does not fit a Go int8") {
		t.Errorf("Get into an int8 = %+v, %v, want ErrSchema", got, err)
	}
}

// An older program's Update keeps the fields of a newer one.
func TestUpdateKeepsUnknownFields(t *testing.T) {
	type newer struct {
		ID    string         `repo:"id"`
		Name  string         `repo:"name"`
		Extra map[string]any `repo:",extra"`
	}
	type older struct {
		ID   string `repo:"id"`
		Name string `repo:"name"`
	}
	store, ctx := newStore(t, nil), t.Context()
	schema := repo.Schema{Collection: "k", Partition: []string{"id"}}
	n, err := repo.Open[newer](ctx, store, schema)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Insert(ctx, &newer{ID: "a", Name: "x", Extra: map[string]any{"new": "kept"}}); err != nil {
		t.Fatal(err)
	}
	o, err := repo.Open[older](ctx, store, schema)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Update(ctx, repo.Key{"a"}, func(r *older) error { r.Name = "y"; return nil }); err != nil {
		t.Fatal(err)
	}
	if got, err := n.Get(ctx, repo.Key{"a"}); err != nil || got.Name != "y" || got.Extra["new"] != "kept" {
		t.Errorf("Get = %+v, %v, want name y and the newer field", got, err)
	}
}

func TestMapRecords(t *testing.T) {
	store, ctx := newStore(t, nil), t.Context()
	r, err := repo.Open[map[string]any](ctx, store, repo.Schema{Collection: "maps", Partition: []string{"id"},
		Fields:  map[string]string{"id": "string", "n": "int", "tags": "list"},
		Indexes: []repo.Index{{Partition: []string{"tags[]"}, Sort: []string{"-n"}, Covers: []string{"*"}}}})
	if err != nil {
		t.Fatal(err)
	}
	rec := map[string]any{"id": "a", "n": 5, "tags": []string{"x", "y"}, "free": map[string]any{"k": 1.5}}
	if err := r.Insert(ctx, &rec); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"id": "a", "n": int64(5), "tags": []any{"x", "y"}, "free": map[string]any{"k": 1.5}, "_version": rec["_version"]}
	got, err := r.Get(ctx, repo.Key{"a"})
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("Get: %v (-want +got):\n%s", err, d)
	}
	list, err := repo.Collect(r.Find(ctx, repo.Where("tags[]", "y").Order("-n")))
	if err != nil || len(list) != 1 || cmp.Diff(want, list[0]) != "" {
		t.Errorf("Find through the covering index = %v, %v, want %v", list, err, want)
	}
	got["n"] = "five"
	if err := r.Replace(ctx, &got); !errors.Is(err, repo.ErrInvalid) || !strings.Contains(err.Error(), "n is of kind int, not string") {
		t.Errorf("Replace with text in an integer field: %v, want ErrInvalid", err)
	}
}

// FuzzRecord keeps random records and reads them back by key and by a covering
// index; a plain Go map is the naive store.
func FuzzRecord(f *testing.F) {
	f.Add("a", int64(1), 1.5, "x", []byte{1}, int64(0), true)
	f.Add("#%{|}~", int64(math.MinInt64), math.Inf(1), "\x00", []byte{}, int64(1521080087123), false)
	f.Fuzz(func(t *testing.T, id string, n int64, x float64, text string, raw []byte, ms int64, flag bool) {
		type rec struct {
			ID   string    `repo:"id"`
			N    int64     `repo:"n"`
			X    float64   `repo:"x"`
			Text string    `repo:"text"`
			Raw  []byte    `repo:"raw"`
			At   time.Time `repo:"at"`
			Flag *bool     `repo:"flag"`
		}
		r, err := repo.Open[rec](t.Context(), newStore(t, nil), repo.Schema{Collection: "r", Partition: []string{"id"},
			Indexes: []repo.Index{{Partition: []string{"n"}, Sort: []string{"-x", "text", "-at"}, Covers: []string{"raw", "flag"}}}})
		if err != nil {
			t.Fatal(err)
		}
		want := rec{id, n, x, text, raw, time.UnixMilli(ms).UTC(), &flag}
		err = r.Insert(t.Context(), &want)
		if errors.Is(err, repo.ErrInvalid) || errors.Is(err, repo.ErrTooLarge) {
			return
		}
		if err != nil {
			t.Fatalf("Insert(%+v): %v", want, err)
		}
		got, err := r.Get(t.Context(), repo.Key{id})
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || d != "" {
			t.Fatalf("Get: %v (-want +got):\n%s", err, d)
		}
		list, err := repo.Collect(r.Find(t.Context(), repo.Where("n", n).Range("x", x, nil)))
		if err != nil || len(list) != 1 || cmp.Diff(want, list[0], cmpopts.EquateEmpty()) != "" {
			t.Fatalf("Find = %+v, %v, want %+v", list, err, want)
		}
	})
}
