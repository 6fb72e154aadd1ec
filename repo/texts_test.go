package repo_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo"
)

// An error names the field or the path that it is about, of whatever length and signs, and a remedy that there is.
func TestTextsOfErrors(t *testing.T) {
	ctx := t.Context()
	r, err := repo.Open[map[string]any](ctx, newStore(t, nil), repo.Schema{Collection: "maps", Partition: []string{"id"},
		Fields: map[string]string{"id": "string", "m": "map", "n": "int", "s": "string", "tags": "list"}, Indexes: []repo.Index{{Partition: []string{"n"}, Sort: []string{"s"}}}})
	if err != nil {
		t.Fatal(err)
	}
	long := "m." + strings.Repeat("x", 1024)
	find := func(q repo.Query) error { return second(repo.Collect(r.Find(ctx, q))) }
	sum := func(name string) error {
		return second(repo.Collect(r.GroupBy("n").Sum(name).Find(ctx, repo.Where("n", 1))))
	}
	best := func(q repo.Query) error { _, err := repo.Best(ctx, r, q.Limit(5)); return err }
	patch := func(edits ...repo.Edit) error { _, err := r.Patch(ctx, repo.Key{"1"}, edits...); return err }
	for i, tt := range []struct {
		err  error
		want string
	}{
		{sum("no"), "the sum of no: the field is not declared; declare it as an int or a float"},
		{sum("m.x"), `the sum of m.x: it may be of any kind; declare it, as Schema{Fields: {"m.x": "float"}}`},
		{sum("s"), "the sum of s: it is of kind string, and sums are of numbers"},
		{sum("s.x"), `sum: "s.x": field s is of kind string, which has no parts`},
		{find(repo.Where("m..x", 1)), `"m..x": a path has a part that is empty`},
		{find(repo.Where("no..x", 1)), `"no..x": a path has a part that is empty`},
		{find(repo.Where("s.x", 1)), `"s.x": field s is of kind string`},
		{find(repo.Where("tags.x", 1)), `"tags.x": field tags is a list`},
		{find(repo.Where("m.x", "\xff")), "m.x: text is not valid UTF-8"},
		{find(repo.Where("m.x", make(chan int))), "m.x: type chan int cannot be stored"},
		{find(repo.Where("m.a\"b\n", 1)), `no index answers "m.a\"b\n" = ?; add {Partition: ["m.a\"b\n"]}, or use Scan`},
		{find(repo.Where("m.a\"b\n", 1).Where("m.a\"b\n", 2)), `field "m.a\"b\n" has two conditions`},
		{find(repo.Where("n", 1).Order("-m.a\"b")), `add {Partition: ["n"], Sort: ["-m.a\"b"]}, or use Scan`},
		{patch(repo.Set("m.a\nb", 1), repo.Unset("m.a\nb")), `field "m.a\nb" is edited twice`},
		{find(repo.Where(long, 1)), "no index answers"},
		{find(repo.Where(long, 1).Where(long, 1)), "has two conditions"},
		{find(repo.All().Above(long, 1).Order("n")), "the order must begin with"},
		{find(repo.Where("n", 1).Order(long)), "no index answers"},
		{find(repo.All().AtLeast(long, nil)), "the bound of"},
		{second(repo.Collect(r.Scan(ctx, repo.All().AtLeast("no."+long, 1).AtMost("no."+long, "x")))), "is of kind int, not string"},
		{patch(repo.Set(long, 1), repo.Unset(long)), "is edited twice"},
		{sum(long), "the sum of"},
		{best(repo.All().AnyOf("tags[]", "a")), `no index answers tags[] is any of (?); add {Partition: ["tags[]"]}: invalid`},
		{best(repo.All().AnyOf("tags[]", "a").Where("no", 1)), `field "no" is not declared, so no index has it; declare it: invalid`},
		{second(repo.Collect(r.GroupBy("s").Find(ctx, repo.Where("m.x", 1)))), `Sort: ["s"]}: invalid`},
	} {
		if !errors.Is(tt.err, repo.ErrInvalid) || !strings.Contains(tt.err.Error(), tt.want) || len(fmt.Sprint(tt.err)) > 512 || strings.Contains(tt.err.Error(), "\n") {
			t.Errorf("%d: %v (%T)\nwant ErrInvalid with %s", i, tt.err, tt.err, tt.want)
		}
	}
}
