package gate_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// order writes rows under hostile keys and reads runs of them.
func order(ctx context.Context, p *play) error {
	times := []int64{math.MinInt64, math.MaxInt64, 0, -1, 1521080087000, 1521080201000}
	var sorts []string
	for i, id := range append(hostileTexts(), strings.Repeat("long", 60), "aa", "ab", "a#") {
		record := driver.Op{Do: driver.Put, Table: p.posts, If: driver.Absent,
			Row: driver.Row{Key: p.post(p.author, id), Fields: titled(id), Dead: i%7 == 3}}
		entry := driver.Op{Do: driver.Put, Table: p.byAt, Row: driver.Row{Key: p.entry(p.author, times[i%len(times)], id)}}
		claim := driver.Op{Do: driver.Put, Table: p.slug, If: driver.Absent,
			Row: driver.Row{Key: p.claim(p.author, id), Fields: []driver.Value{text("owner " + id)}}}
		if _, err := p.do(ctx, record, entry, claim); err != nil {
			return err
		}
		sorts = append(sorts, record.Row.Key.Sort)
	}
	slices.Sort(sorts)
	for _, t := range []*driver.Table{p.posts, p.byAt, p.slug} {
		if err := p.runs(ctx, driver.Span{Table: t, Key: driver.Key{Partition: p.post(p.author, "").Partition}}, sorts); err != nil {
			return err
		}
	}
	return nil
}

// runs reads spans of one partition, both ways.
func (p *play) runs(ctx context.Context, span driver.Span, sorts []string) error {
	spans := []driver.Span{span}
	with := func(change func(*driver.Span)) {
		s := span
		change(&s)
		spans = append(spans, s)
	}
	with(func(s *driver.Span) { s.Limit = 3 })
	with(func(s *driver.Span) { s.Mask = []int{} })
	with(func(s *driver.Span) { s.Mask, s.Limit = []int{title}, 1 })
	for i := 0; i < len(sorts); i += 3 {
		with(func(s *driver.Span) { s.From, s.To, s.Mask = sorts[i], sorts[min(i+5, len(sorts)-1)], []int{} })
		with(func(s *driver.Span) { s.From, s.Limit = driver.After(sorts[i]), 2 })
	}
	for _, prefix := range []string{"a", "A", "l", "\uD7FF", "\U0010FFFF"} {
		head, err := driver.AppendPrefix(nil, span.Table.Sort[len(span.Table.Sort)-1], prefix)
		if err != nil {
			return err
		}
		with(func(s *driver.Span) { s.From, s.To = string(head), driver.After(string(head)) })
	}
	for _, s := range spans {
		for _, s.Reverse = range []bool{false, true} {
			if err := p.sameRun(ctx, s); err != nil {
				return err
			}
		}
	}
	return p.counts(ctx, span, sorts)
}

func (p *play) counts(ctx context.Context, span driver.Span, sorts []string) error {
	for range 2 {
		want, err := p.oracle.Count(ctx, span)
		if err != nil {
			return err
		}
		got, err := p.store.Count(ctx, span)
		if err != nil {
			return fmt.Errorf("count: %w", err)
		}
		if got != want {
			return differs("count of %s from %q to %q = %d, want %d", span.Table.Name, span.From, span.To, got, want)
		}
		span.From, span.To = sorts[3], sorts[9]
	}
	return nil
}

// authors writes records of authors whose names are hostile, the empty one among
// them. Those few names may be shared with other plays; the ids are not.
func authors(ctx context.Context, p *play) error {
	for _, name := range append(hostileTexts(), "##", "#a") {
		if name != "" && strings.Trim(name, "#a") != "" {
			name = p.author + name
		}
		entry := driver.Op{Do: driver.Put, Table: p.byAt, Row: driver.Row{Key: p.entry(name, 1, p.author)}}
		if _, err := p.do(ctx, postOp(p, driver.Put, p.post(name, p.author), driver.Absent, driver.Token{}), entry); err != nil {
			return fmt.Errorf("author %q: %w", name, err)
		}
		k := entry.Row.Key
		if err := p.sameRun(ctx, driver.Span{Table: p.byAt, Key: k, From: k.Sort, To: driver.After(k.Sort)}); err != nil {
			return fmt.Errorf("author %q: %w", name, err)
		}
		gone := driver.Op{Do: driver.Delete, Table: p.posts, Row: driver.Row{Key: p.post(name, p.author)}}
		entry.Do = driver.Delete
		if _, err := p.do(ctx, gone, entry); err != nil { // two ops without a condition
			return fmt.Errorf("author %q: %w", name, err)
		}
	}
	return nil
}

// comeAndGo lets all records of an author die, all and some of others die and one come back,
// and rows go and come back. It notes in want what a walk finds then.
func (p *play) comeAndGo(ctx context.Context, want map[string]driver.Token) error {
	do := func(op driver.Op) error {
		name := op.Row.Key.Partition + op.Row.Key.Sort
		if op.If == driver.AtRev { // as who has read it
			var was [1]driver.Row
			if err := p.oracle.Get(ctx, op.Table, []driver.Key{op.Row.Key}, []int{}, was[:]); err != nil {
				return err
			}
			op.Rev, op.Row.Ring = was[0].Rev, was[0].Ring
		}
		token, err := p.do(ctx, op)
		if want[name] = token; op.Do == driver.Delete {
			delete(want, name)
		}
		return err
	}
	var ops []driver.Op
	for _, i := range []int{7, 27, 47, 8, 28, 6, 26, 46} {
		death := postOp(p, driver.Put, p.post(fmt.Sprint(p.author, i%20), fmt.Sprint(i)), driver.AtRev, driver.Token{})
		death.Row = driver.Row{Key: death.Row.Key, Dead: true, Expires: 99}
		ops = append(ops, death)
	}
	for _, i := range []int{28, 26} {
		ops = append(ops, postOp(p, driver.Put, p.post(fmt.Sprint(p.author, i%20), fmt.Sprint(i)), driver.AtRev, driver.Token{}))
	}
	for _, row := range []struct {
		do driver.Verb
		at int64
	}{{driver.Delete, 9}, {driver.Delete, 29}, {driver.Put, 29}, {driver.Delete, 49}} {
		ops = append(ops, driver.Op{Do: row.do, Table: p.byAt, Row: driver.Row{Key: p.entry(fmt.Sprint(p.author, 9), row.at, "x")}})
	}
	for _, op := range ops {
		if err := do(op); err != nil {
			return err
		}
	}
	return nil
}

// walk reads a whole table in pieces and finds all rows of this play.
func walk(ctx context.Context, p *play) error {
	want := map[string]driver.Token{}
	for i := range 61 {
		author := fmt.Sprint(p.author, i%20)
		switch {
		case i == 60:
			author += "alone" // who never has a second record
		case i%20 >= 10:
			author += "\x00z"
		}
		record := postOp(p, driver.Put, p.post(author, fmt.Sprint(i)), driver.Absent, driver.Token{})
		entry := driver.Op{Do: driver.Put, Table: p.byAt, Row: driver.Row{Key: p.entry(author, int64(i), "x")}}
		token, err := p.do(ctx, record, entry)
		if err != nil {
			return err
		}
		want[record.Row.Key.Partition+record.Row.Key.Sort] = token
		want[entry.Row.Key.Partition+entry.Row.Key.Sort] = token
	}
	if err := p.comeAndGo(ctx, want); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, t := range []*driver.Table{p.posts, p.byAt} {
		mark, pieces := "", 0
		for more := true; more; more = mark != "" {
			rows, next, err := p.store.Walk(ctx, t, mark)
			if err != nil {
				return fmt.Errorf("walk: %w", err)
			}
			for _, r := range rows {
				if token, ours := want[r.Key.Partition+r.Key.Sort]; ours && token == r.Rev {
					seen[r.Key.Partition+r.Key.Sort] = true
				}
			}
			mark, pieces = next, pieces+1
		}
		if pieces < 3 {
			return differs("a walk of %s has %d pieces: marks are not tried", t.Name, pieces)
		}
	}
	if len(seen) != len(want) {
		return differs("walks found %d of %d rows", len(seen), len(want))
	}
	return nil
}
