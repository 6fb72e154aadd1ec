package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
)

func patchRules() []entry {
	return []entry{
		{Name: "patch", Sentence: "Patch changes the fields that it names and no others.", Check: patchFields},
		{Name: "patch undeclared", Sentence: "Patch may set, add to and remove undeclared fields.", Check: patchUndeclared},
		{Name: "patch together", Sentence: "Patches of different fields at once all hold.", Check: patchTogether},
		{Name: "patch add", Sentence: "Add at once from many goroutines counts every one.", Check: patchAdd},
		{Name: "patch overflow", Sentence: "A sum that no int64 holds is ErrInvalid, and nothing is written.", Check: patchOverflow},
		{Name: "patch nothing", Sentence: "Patch of a record that is not there is ErrNotFound, and makes none.", Check: patchNothing},
		{Name: "put whole", Sentence: "Put and Replace write the record whole: fields that it has not are gone.", Check: putWhole},
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
		e.OK(fmt.Sprintf("patch %d", i), err)
		step.do(&want)
		want.Version = v
		rule.Equal(e, fmt.Sprintf("the record after patch %d", i), e.getItem(ctx, "a"), want)
	}
}

func patchUndeclared(ctx context.Context, e *env) {
	it := e.item("a")
	it.Extra = map[string]any{"logins": int64(1), "role": "ADMIN", "gone": true}
	e.insertItem(ctx, it)
	_, err := e.items(ctx).Patch(ctx, e.itemKey("a"), repo.Add("logins", 2), repo.Add("likes", 58), repo.Set("city name", "Seoul"), repo.Unset("gone"))
	e.OK("patch", err)
	rule.Equal(e, "the undeclared fields", e.getItem(ctx, "a").Extra, map[string]any{"logins": int64(3), "likes": int64(58), "city name": "Seoul", "role": "ADMIN"})
	_, err = e.items(ctx).Patch(ctx, e.itemKey("a"), repo.Set("_own", 1))
	e.Is("patch of a field of the library", err, repo.ErrInvalid)
	_, err = e.items(ctx).Patch(ctx, e.itemKey("a"), repo.Add("role", 1))
	e.Is("add to text", err, repo.ErrInvalid)
}

func patchTogether(ctx context.Context, e *env) {
	e.insertItem(ctx, e.item("a"))
	fields := []string{"text", "f1", "f2", "f3", "f4", "f5"}
	e.Parallel(len(fields), func(i int) error {
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
	rule.Equal(e, "the fields", got.Extra, want)
	rule.Equal(e, "the declared field", got.Text, "text19")
}

func patchAdd(ctx context.Context, e *env) {
	e.insertItem(ctx, e.item("a"))
	e.Parallel(8, func(i int) error {
		for range 20 {
			if _, err := e.items(ctx).Patch(ctx, e.itemKey("a"), repo.Add("count", 1), repo.Add("likes", int64(i))); err != nil {
				return err
			}
		}
		return nil
	})
	got := e.getItem(ctx, "a")
	rule.Equal(e, "the sums", fmt.Sprint(got.Count, got.Extra), fmt.Sprint(8*20, map[string]any{"likes": int64(28 * 20)}))
}

func patchOverflow(ctx context.Context, e *env) {
	it := e.item("a")
	it.Count = math.MaxInt64 - 1
	want := e.insertItem(ctx, it)
	for _, n := range []int64{2, math.MaxInt64} {
		_, err := e.items(ctx).Patch(ctx, e.itemKey("a"), repo.Set("text", "new"), repo.Add("count", n))
		e.Is("add over the range", err, repo.ErrInvalid)
	}
	rule.Equal(e, "the record", e.getItem(ctx, "a"), want)
	_, err := e.items(ctx).Patch(ctx, e.itemKey("a"), repo.Add("count", 1))
	e.OK("add to the edge", err)
	rule.Equal(e, "the sum at the edge", e.getItem(ctx, "a").Count, int64(math.MaxInt64))
}

func patchNothing(ctx context.Context, e *env) {
	for _, edit := range []repo.Edit{repo.Set("text", "x"), repo.Unset("text"), repo.Add("count", 1), repo.Set("extra", 1)} {
		_, err := e.items(ctx).Patch(ctx, e.itemKey("none"), edit)
		e.Is("patch of nothing", err, repo.ErrNotFound)
	}
	_, err := e.items(ctx).PatchIf(ctx, e.itemKey("none"), repo.Version{1}, repo.Set("text", "x"))
	e.That(errors.Is(err, repo.ErrNotFound) || errors.Is(err, repo.ErrConflict), "patch of nothing with a version to fail", "%s", rule.OutcomeText(err))
	ok, err := e.items(ctx).Exists(ctx, e.itemKey("none"))
	e.That(err == nil && !ok, "no record", "%v, %v", ok, err)
}

func putWhole(ctx context.Context, e *env) {
	full := e.insertItem(ctx, fullItem(e, "a"))
	bare := item{Shelf: full.Shelf, ID: "a", Version: full.Version}
	for _, write := range []func(context.Context, *item, ...repo.WriteOption) error{e.items(ctx).Put, e.items(ctx).Replace} {
		e.OK("write", write(ctx, &bare))
		got := e.getItem(ctx, "a")
		got.Address, bare.Address = netip.Addr{}, netip.Addr{}
		rule.Equal(e, "the record", got, bare)
		full.Version = bare.Version
		e.OK("put", e.items(ctx).Put(ctx, &full))
		bare.Version = full.Version
	}
	e.That(slices.Equal(e.getItem(ctx, "a").Data, full.Data), "the record whole again", "%s", rule.Brief(e.getItem(ctx, "a")))
}
