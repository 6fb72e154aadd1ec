package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/polystore/polystore/repo"
)

func patchRules() []rule {
	return []rule{
		{name: "patch", sentence: "Patch changes the fields that it names and no others.", check: patchFields},
		{name: "patch undeclared", sentence: "Patch may set, add to and remove undeclared fields.", check: patchUndeclared},
		{name: "patch together", sentence: "Patches of different fields at once all hold.", check: patchTogether},
		{name: "patch add", sentence: "Add at once from many goroutines counts every one.", check: patchAdd},
		{name: "patch overflow", sentence: "A sum that no int64 holds is ErrInvalid, and nothing is written.", check: patchOverflow},
		{name: "patch nothing", sentence: "Patch of a record that is not there is ErrNotFound, and makes none.", check: patchNothing},
		{name: "put whole", sentence: "Put and Replace write the record whole: fields that it has not are gone.", check: putWhole},
	}
}

func patchFields(ctx context.Context, e *env) {
	want := e.insertItem(ctx, fullItem(e, "a"))
	steps := []struct {
		edits []repo.Edit
		do    func(*item)
	}{
		{[]repo.Edit{repo.Set("text", ""), repo.Add("small", 3)}, func(it *item) { it.Text, it.Small = "", -125 }},
		{[]repo.Edit{repo.Unset("flag"), repo.Set("data", nil), repo.Set("list", []string{})}, func(it *item) { it.Flag, it.Data, it.List = false, nil, nil }},
		{[]repo.Edit{repo.Unset("option"), repo.Set("ratio", 2), repo.Set("list", []string{"z", "a"})}, func(it *item) { it.Option, it.Ratio, it.List = nil, 2, []string{"z", "a"} }},
		{[]repo.Edit{repo.Unset("count"), repo.Set("part", part{Name: "new"}), repo.Set("props", map[string]int64{"k": 1})}, func(it *item) { it.Count, it.Part, it.Props = 0, &part{Name: "new"}, map[string]int64{"k": 1} }},
		{[]repo.Edit{repo.Add("count", 5), repo.Set("exact", time.Unix(1, 1))}, func(it *item) { it.Count, it.Exact = 5, time.Unix(1, 1).UTC() }},
	}
	for i, step := range steps {
		v, err := e.items(ctx).Patch(ctx, e.itemKey("a"), step.edits...)
		e.ok(fmt.Sprintf("patch %d", i), err)
		step.do(&want)
		want.Version = v
		equal(e, fmt.Sprintf("the record after patch %d", i), e.getItem(ctx, "a"), want)
	}
}

func patchUndeclared(ctx context.Context, e *env) {
	it := e.item("a")
	it.Extra = map[string]any{"logins": int64(1), "role": "ADMIN", "gone": true}
	e.insertItem(ctx, it)
	_, err := e.items(ctx).Patch(ctx, e.itemKey("a"), repo.Add("logins", 2), repo.Add("likes", 58), repo.Set("city name", "Seoul"), repo.Unset("gone"))
	e.ok("patch", err)
	equal(e, "the undeclared fields", e.getItem(ctx, "a").Extra, map[string]any{"logins": int64(3), "likes": int64(58), "city name": "Seoul", "role": "ADMIN"})
	_, err = e.items(ctx).Patch(ctx, e.itemKey("a"), repo.Set("_own", 1))
	e.is("patch of a field of the library", err, repo.ErrInvalid)
	_, err = e.items(ctx).Patch(ctx, e.itemKey("a"), repo.Add("role", 1))
	e.is("add to text", err, repo.ErrInvalid)
}

func patchTogether(ctx context.Context, e *env) {
	e.insertItem(ctx, e.item("a"))
	fields := []string{"text", "f1", "f2", "f3", "f4", "f5"}
	e.parallel(len(fields), func(i int) error {
		for n := range 20 {
			if _, err := e.items(ctx).Patch(ctx, e.itemKey("a"), repo.Set(fields[i], fmt.Sprint(fields[i], n))); err != nil {
				return err
			}
		}
		return nil
	})
	got := e.getItem(ctx, "a")
	want := map[string]any{}
	for _, f := range fields[1:] {
		want[f] = f + "19"
	}
	equal(e, "the fields", got.Extra, want)
	equal(e, "the declared field", got.Text, "text19")
}

func patchAdd(ctx context.Context, e *env) {
	e.insertItem(ctx, e.item("a"))
	e.parallel(8, func(i int) error {
		for range 20 {
			if _, err := e.items(ctx).Patch(ctx, e.itemKey("a"), repo.Add("count", 1), repo.Add("likes", int64(i))); err != nil {
				return err
			}
		}
		return nil
	})
	got := e.getItem(ctx, "a")
	equal(e, "the sums", fmt.Sprint(got.Count, got.Extra), fmt.Sprint(8*20, map[string]any{"likes": int64(28 * 20)}))
}

func patchOverflow(ctx context.Context, e *env) {
	it := e.item("a")
	it.Count = math.MaxInt64 - 1
	want := e.insertItem(ctx, it)
	for _, n := range []int64{2, math.MaxInt64} {
		_, err := e.items(ctx).Patch(ctx, e.itemKey("a"), repo.Set("text", "new"), repo.Add("count", n))
		e.is("add over the range", err, repo.ErrInvalid)
	}
	equal(e, "the record", e.getItem(ctx, "a"), want)
	_, err := e.items(ctx).Patch(ctx, e.itemKey("a"), repo.Add("count", 1))
	e.ok("add to the edge", err)
	equal(e, "the sum at the edge", e.getItem(ctx, "a").Count, int64(math.MaxInt64))
}

func patchNothing(ctx context.Context, e *env) {
	for _, edit := range []repo.Edit{repo.Set("text", "x"), repo.Unset("text"), repo.Add("count", 1), repo.Set("extra", 1)} {
		_, err := e.items(ctx).Patch(ctx, e.itemKey("none"), edit)
		e.is("patch of nothing", err, repo.ErrNotFound)
	}
	_, err := e.items(ctx).PatchIf(ctx, e.itemKey("none"), repo.Version{1}, repo.Set("text", "x"))
	e.that(errors.Is(err, repo.ErrNotFound) || errors.Is(err, repo.ErrConflict), "patch of nothing with a version to fail", "%s", outcomeText(err))
	ok, err := e.items(ctx).Exists(ctx, e.itemKey("none"))
	e.that(err == nil && !ok, "no record", "%v, %v", ok, err)
}

func putWhole(ctx context.Context, e *env) {
	full := e.insertItem(ctx, fullItem(e, "a"))
	bare := item{Shelf: full.Shelf, ID: "a", Version: full.Version}
	for _, write := range []func(context.Context, *item, ...repo.WriteOption) error{e.items(ctx).Put, e.items(ctx).Replace} {
		e.ok("write", write(ctx, &bare))
		got := e.getItem(ctx, "a")
		got.Address, bare.Address = netip.Addr{}, netip.Addr{}
		equal(e, "the record", got, bare)
		full.Version = bare.Version
		e.ok("put", e.items(ctx).Put(ctx, &full))
		bare.Version = full.Version
	}
	e.that(slices.Equal(e.getItem(ctx, "a").Data, full.Data), "the record whole again", "%s", brief(e.getItem(ctx, "a")))
}
