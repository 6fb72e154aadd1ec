package link_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/link"
)

// A code has a text of its own.
type code int

func (c code) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "code %d", int(c)), nil }

func (c *code) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "code %d", (*int)(c))
	return err
}

type like struct {
	User int32 `repo:"user"`
	Post code  `repo:"post"`
}

// A counter counts operations, by their names.
type counter struct {
	mu   sync.Mutex
	list []repo.Event
}

func (c *counter) options() *repo.Options {
	return &repo.Options{Tracer: repo.Tracer{Begin: func(ctx context.Context, _ repo.Event) (context.Context, func(repo.Event)) {
		return ctx, func(e repo.Event) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.list = append(c.list, e)
		}
	}}}
}

// texts returns what was counted since the last call, and forgets it.
func (c *counter) texts() (list []string) {
	for _, e := range c.list {
		list = append(list, fmt.Sprintf("%s %s, %d keys, depth %d", e.Op, e.Collection, e.Batch, e.Depth))
	}
	c.list = nil
	return list
}

// filled returns a repository of n people, each of whom follows the half of their number. Those above 900 do not exist.
func people(t *testing.T, store *repo.Store, n int) *repo.Repo[follow] {
	t.Helper()
	r, err := repo.Open[follow](t.Context(), store, repo.Schema{Collection: "people", Partition: []string{"who"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.InsertAll(t.Context(), func(yield func(follow, error) bool) {
		for i := range n {
			if !yield(follow{Who: fmt.Sprint(i), Whom: fmt.Sprint(i / 2)}, nil) {
				return
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	return r
}

func text(list []*follow) string {
	var all []string
	for _, f := range list {
		if f == nil {
			all = append(all, "none")
		} else {
			all = append(all, f.Who)
		}
	}
	return strings.Join(all, " ")
}

// A level costs one request, however many records there are; references come in order, and absent ones as nil.
func TestJoin(t *testing.T) {
	var c counter
	r := people(t, newStore(t, "memory", c.options()), 900)
	v, err := repo.ViewOf[struct {
		Who string `repo:"who"`
	}](r)
	if err != nil {
		t.Fatal(err)
	}
	of := func(n int) []repo.Key { // n, its neighbours, and n again
		return []repo.Key{{fmt.Sprint(n)}, {fmt.Sprint(n + 1)}, {fmt.Sprint(n - 1)}, {fmt.Sprint(n)}}[:n%5]
	}
	for _, tt := range []struct{ records, keys int }{{0, 0}, {1, 0}, {2, 1}, {5, 5}, {50, 50}, {400, 400}} {
		var records []int
		for i := range tt.records {
			records = append(records, i)
		}
		c.texts()
		lists, err := link.Join(t.Context(), records, of, r)
		if err != nil || len(lists) != tt.records {
			t.Fatal(len(lists), err)
		}
		for i, list := range lists {
			want := strings.Join([]string{fmt.Sprint(i), fmt.Sprint(i + 1), fmt.Sprint(i - 1), fmt.Sprint(i)}[:i%5], " ")
			if got := text(list); got != want || len(list) == 4 && list[0] != list[3] {
				t.Errorf("record %d: got %s, want %s", i, got, want)
			}
		}
		want := fmt.Sprintf("[get many people, %d keys, depth 1]", tt.keys)
		if got := fmt.Sprint(c.texts()); got != want && (tt.keys > 0 || got != "[]") {
			t.Errorf("%d records: %s, want %s", tt.records, got, want)
		}
	}
	lists, err := link.Join(t.Context(), []int{899, 4, 902}, of, r)
	if err != nil || text(lists[0]) != "899 none 898 899" || text(lists[2]) != "none none" {
		t.Errorf("got %s and %s, %v", text(lists[0]), text(lists[2]), err)
	}
	c.texts()
	seen, err := link.Join(t.Context(), []int{7, 8}, of, v)
	if got := fmt.Sprint(c.texts()); err != nil || len(seen[0]) != 2 || seen[0][1].Who != "8" || seen[1][2].Who != "7" || got != "[get many people, 3 keys, depth 1]" {
		t.Errorf("got %v, %v, by %s", seen, err, got)
	}
}

// The result of a Join is joined again: as many requests as levels.
func TestJoinLevels(t *testing.T) {
	var c counter
	r := people(t, newStore(t, "memory", c.options()), 900)
	page, err := repo.Collect(r.Find(t.Context(), repo.Where("who", "899")))
	for i := 700; i < 1000; i++ {
		page = append(page, follow{Who: "x", Whom: fmt.Sprint(i)})
	}
	if err != nil {
		t.Fatal(err)
	}
	c.texts()
	next := func(list []*follow) (keys []repo.Key) {
		for _, f := range list {
			if f != nil {
				keys = append(keys, repo.Key{f.Whom})
			}
		}
		return keys
	}
	first, err := link.Join(t.Context(), page, func(f follow) []repo.Key { return next([]*follow{&f}) }, r)
	if err != nil {
		t.Fatal(err)
	}
	second, err := link.Join(t.Context(), first, next, r)
	if err != nil {
		t.Fatal(err)
	}
	third, err := link.Join(t.Context(), second, next, r)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int][3]string{0: {"449", "224", "112"}, 1: {"700", "350", "175"}, 200: {"899", "449", "224"}, 201: {"none", "", ""}} {
		if got := [3]string{text(first[i]), text(second[i]), text(third[i])}; got != want {
			t.Errorf("record %d: got %q, want %q", i, got, want)
		}
	}
	if got, want := fmt.Sprint(c.texts()), "[get many people, 301 keys, depth 1 get many people, 101 keys, depth 1 get many people, 51 keys, depth 1]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Many keys are some requests of 1,000.
func TestJoinBatches(t *testing.T) {
	var c counter
	r := people(t, newStore(t, "memory", c.options()), 900)
	c.texts()
	lists, err := link.Join(t.Context(), make([]int, 1), func(int) (keys []repo.Key) {
		for i := range 2500 {
			keys = append(keys, repo.Key{fmt.Sprint(i * 7 % 2500)})
		}
		return keys
	}, r)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range lists[0] {
		if n := i * 7 % 2500; (n < 900) != (f != nil) || f != nil && f.Who != fmt.Sprint(n) {
			t.Fatalf("reference %d of %d: %v", i, n, f)
		}
	}
	if got, want := fmt.Sprint(c.texts()), "[get many people, 1000 keys, depth 1 get many people, 1000 keys, depth 1 get many people, 500 keys, depth 1]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// fake tells which keys it is asked for, and returns nothing.
type fake struct{ asked []repo.Key }

func (f *fake) GetMany(_ context.Context, keys []repo.Key) ([]int, []bool, error) {
	f.asked = append(f.asked, keys...)
	return make([]int, len(keys)), make([]bool, len(keys)), nil
}

// Keys are asked for once if they are certainly the same, and never taken for each other.
func TestJoinKeys(t *testing.T) {
	type name string
	at := time.Unix(1, 0)
	different := []repo.Key{{"a"}, {"a", ""}, {"", "a"}, {"a/b"}, {"a", "b"}, {"a\x00b"}, {"1"}, {1}, {-1}, {1, 2}, {12}, {"i"}, {""}, {}, {code(1)}}
	same := []repo.Key{{name("a")}, {int64(1)}, {uint8(1)}, {int16(-1)}, {"code 1"}}
	unknown := []repo.Key{{at}, {at}, {1.5}, {nil}, {(*code)(nil)}, {uint64(1 << 63)}, {[]byte("a")}, {true}}
	f := &fake{}
	if _, err := link.Join(t.Context(), [][]repo.Key{different, same, different, unknown}, func(list []repo.Key) []repo.Key { return list }, f); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%q", f.asked), fmt.Sprintf("%q", append(different[:len(different):len(different)], unknown...)); got != want {
		t.Errorf("asked for %s, want %s", got, want)
	}
}

func TestJoinRefused(t *testing.T) {
	r := people(t, newStore(t, "memory", nil), 3)
	keys := func(list repo.Key) []repo.Key { return []repo.Key{list} }
	records := []repo.Key{{"1"}}
	var none *repo.Repo[follow]
	_, noContext := link.Join(nil, records, keys, r) //nolint:staticcheck // it is what is tested
	_, noKeys := link.Join(t.Context(), records, nil, r)
	_, noRepo := link.Join(t.Context(), records, keys, none)
	_, noGetter := link.Join[repo.Key, follow](t.Context(), records, keys, nil)
	_, bad := link.Join(t.Context(), []repo.Key{{"1"}, {2}}, keys, r)
	_, long := link.Join(t.Context(), []repo.Key{{"1"}, {"2", "3"}}, keys, r)
	for i, err := range []error{noContext, noKeys, noRepo, noGetter, bad, long} {
		if _, ok := errors.AsType[*repo.Error](err); !ok || !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	lists, err := link.Join(ctx, records, keys, r)
	if isKind(t, err, repo.ErrTimeout); lists != nil {
		t.Errorf("got %v", lists)
	}
}
