package gate_test

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/repo/driver"
)

// several commits a record with the rows and claims of its indexes, in one
// partition: done, sent again, and refused by each of its conditions.
func several(ctx context.Context, p *play) error {
	a, b := p.post(p.author, "a"), p.post(p.author, "b")
	ops := p.inserted(a, "slug-a", 1)
	rev, err := p.do(ctx, ops...)
	if err != nil {
		return err
	}
	if err := p.commit(ctx, rev, ops...); err != nil {
		return fmt.Errorf("sent again: %w", err)
	}
	revB, err := p.do(ctx, p.inserted(b, "slug-b", 2)...)
	if err != nil {
		return err
	}
	for name, ops := range map[string][]driver.Op{
		"record is there":      p.inserted(a, "slug-new", 3),
		"slug is taken":        p.inserted(p.post(p.author, "c"), "slug-a", 3),
		"both are":             p.inserted(a, "slug-b", 3),
		"record has moved on":  p.moved(a, driver.NewToken(), "slug-a", "slug-c"),
		"claim was given up":   p.moved(a, rev, "slug-none", "slug-none"),
		"slug taken by update": p.moved(a, rev, "slug-a", "slug-b"),
		"second record":        append(p.moved(a, rev, "slug-a", "slug-d"), postOp(p, driver.Put, b, driver.Absent, rev)),
		"second patch": append(p.moved(a, rev, "slug-a", "slug-d"), driver.Op{Do: driver.Patch, Table: p.posts, If: driver.Present,
			Row: driver.Row{Key: b}, Edits: []driver.Edit{{Do: driver.Add, Field: views, Value: driver.IntValue(1<<63 - 1)}}}),
		"fences, one has moved on":     {postOp(p, driver.Fence, a, driver.AtRev, rev), postOp(p, driver.Fence, b, driver.AtRev, driver.NewToken())},
		"fences, each Rev the other's": {postOp(p, driver.Fence, a, driver.AtRev, revB), postOp(p, driver.Fence, b, driver.AtRev, rev)},
		"failed check":                 append(p.moved(a, rev, "slug-a", "slug-d"), postOp(p, driver.Check, b, driver.AtRev, rev)),
	} {
		if err := p.refused(ctx, ops); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return p.severalDone(ctx, a, b, rev, revB)
}

// severalDone does commits whose conditions hold.
func (p *play) severalDone(ctx context.Context, a, b driver.Key, rev, revB driver.Token) error {
	check := driver.Op{Do: driver.Check, Table: p.posts, Row: driver.Row{Key: b}, If: driver.Present}
	free := driver.Op{Do: driver.Check, Table: p.posts, Row: driver.Row{Key: p.post(p.author, "free")}, If: driver.Absent}
	rev, err := p.do(ctx, append(p.moved(a, rev, "slug-a", "slug-e"), check, free)...)
	if err != nil {
		return err
	}
	patch := driver.Op{Do: driver.Patch, Table: p.posts, Row: driver.Row{Key: a}, If: driver.AtRev, Rev: rev,
		Edits: []driver.Edit{{Do: driver.Set, Field: title, Value: text("patched")}, {Do: driver.Add, Field: views, Value: driver.IntValue(2)}}}
	entry := driver.Op{Do: driver.Put, Table: p.byAt, Row: driver.Row{Key: p.entry(p.author, 5, "a"), Fields: []driver.Value{text("patched")}}}
	if rev, err = p.do(ctx, patch, entry); err != nil {
		return err
	}
	if rev, err = p.do(ctx, append(p.moved(a, rev, "slug-e", "slug-e"), postOp(p, driver.Fence, b, driver.AtRev, revB))...); err != nil {
		return err
	}
	if rev, err = p.do(ctx, postOp(p, driver.Fence, a, driver.AtRev, rev), postOp(p, driver.Fence, b, driver.AtRev, rev)); err != nil {
		return err
	}
	dead := driver.Op{Do: driver.Put, Table: p.posts, Row: driver.Row{Key: a, Dead: true, Expires: 99}, If: driver.AtRev, Rev: rev}
	if _, err := p.do(ctx, dead, driver.Op{Do: driver.Delete, Table: p.slug, Row: driver.Row{Key: p.claim(p.author, "slug-e")}}); err != nil {
		return err
	}
	for _, t := range []*driver.Table{p.posts, p.byAt, p.slug} {
		if err := p.sameRun(ctx, driver.Span{Table: t, Key: a}); err != nil {
			return err
		}
	}
	return nil
}

// refused commits ops that must be refused and compares all rows of the author.
func (p *play) refused(ctx context.Context, ops []driver.Op) error {
	token := driver.NewToken()
	if r, err := p.oracle.Commit(ctx, token, ops); err != nil || r == nil {
		return fmt.Errorf("memory did not refuse: %w", err)
	}
	if err := p.commit(ctx, token, ops...); err != nil {
		return err
	}
	for _, t := range []*driver.Table{p.posts, p.byAt, p.slug} {
		if err := p.sameRun(ctx, driver.Span{Table: t, Key: ops[0].Row.Key}); err != nil {
			return fmt.Errorf("half done: %w", err)
		}
	}
	return nil
}

// inserted returns the ops that insert a post.
func (p *play) inserted(k driver.Key, slug string, ms int64) []driver.Op {
	return []driver.Op{
		postOp(p, driver.Put, k, driver.Absent, driver.Token{}),
		{Do: driver.Put, Table: p.byAt, Row: driver.Row{Key: p.entry(p.author, ms, k.Sort), Fields: titled("new")[:2]}},
		{Do: driver.Put, Table: p.slug, Row: driver.Row{Key: p.claim(p.author, slug), Fields: []driver.Value{text(k.Partition + k.Sort)}}, If: driver.Absent},
	}
}

// moved returns the ops that give a post another slug, or keep it.
func (p *play) moved(k driver.Key, rev driver.Token, from, to string) []driver.Op {
	ops := []driver.Op{
		postOp(p, driver.Put, k, driver.AtRev, rev),
		{Do: driver.Delete, Table: p.byAt, Row: driver.Row{Key: p.entry(p.author, 1, k.Sort)}},
		{Do: driver.Put, Table: p.byAt, Row: driver.Row{Key: p.entry(p.author, 4, k.Sort), Fields: titled("moved")[:2], Expires: 3}},
	}
	claim := driver.Op{Do: driver.Put, Table: p.slug, Row: driver.Row{Key: p.claim(p.author, to), Fields: []driver.Value{text("owner")}}, If: driver.Present}
	if from != to {
		claim.If = driver.Absent
		ops = append(ops, driver.Op{Do: driver.Delete, Table: p.slug, Row: driver.Row{Key: p.claim(p.author, from)}})
	}
	return append(ops, claim)
}

// remote commits a record with a row that lies in another partition.
func remote(ctx context.Context, p *play) error {
	k := p.post(p.author, "a")
	row := func(category string) driver.Op {
		key := keyOf(p.byCategory, text(p.author+category), driver.TimeValue(1), text(p.author), text("a"))
		return driver.Op{Do: driver.Put, Table: p.byCategory, Row: driver.Row{Key: key, Fields: []driver.Value{text("t")}}}
	}
	rev, err := p.do(ctx, postOp(p, driver.Put, k, driver.Absent, driver.Token{}), row("IT"))
	if err != nil {
		return err
	}
	gone := row("IT")
	gone.Do = driver.Delete
	update := []driver.Op{postOp(p, driver.Put, k, driver.AtRev, rev), gone, row("Daily")}
	if _, err := p.do(ctx, update...); err != nil {
		return err
	}
	update[2] = row("Other") // refused: the record has moved on
	if _, err := p.do(ctx, update...); err != nil {
		return err
	}
	for _, category := range []string{"IT", "Daily", "Other"} {
		if err := p.sameRun(ctx, driver.Span{Table: p.byCategory, Key: row(category).Row.Key}); err != nil {
			return err
		}
	}
	return nil
}
