package pebble_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"pgregory.net/rapid"

	"github.com/polystore/polystore/repo/driver"
)

// key draws one of few keys.
func (p *pair) key(rt *rapid.T, t *driver.Table) driver.Key {
	parts := func(cols []driver.Column) string {
		var text []byte
		for _, c := range cols {
			v := driver.StringValue(rapid.SampledFrom([]string{"", "a", "b#~"}).Draw(rt, c.Name))
			if c.Kind == driver.Int {
				v = driver.IntValue(rapid.SampledFrom([]int64{-1, 10}).Draw(rt, c.Name))
			}
			var err error
			if text, err = driver.AppendParts(text, []driver.Column{c}, []driver.Value{v}); err != nil {
				rt.Fatal(err)
			}
		}
		return string(text)
	}
	return driver.Key{Partition: parts(t.Partition), Sort: parts(t.Sort)}
}

func drawValue(rt *rapid.T, depth int) driver.Value {
	last := 6
	if depth < 2 {
		last = 8
	}
	switch rapid.IntRange(0, last).Draw(rt, "kind") {
	case 1:
		return driver.BoolValue(rapid.Bool().Draw(rt, "bool"))
	case 2:
		return driver.IntValue(rapid.Int64().Draw(rt, "int"))
	case 3:
		return driver.FloatValue(rapid.Float64().Draw(rt, "float"))
	case 4:
		return driver.StringValue(rapid.StringN(0, 5, -1).Draw(rt, "string"))
	case 5:
		return driver.BytesValue(string(rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(rt, "bytes")))
	case 6:
		return driver.TimeValue(rapid.Int64().Draw(rt, "time"))
	case 7:
		var list []driver.Value
		for range rapid.IntRange(0, 3).Draw(rt, "elements") {
			list = append(list, drawValue(rt, depth+1))
		}
		return driver.ListValue(list)
	case 8:
		var pairs []driver.Value
		for i := range rapid.IntRange(0, 3).Draw(rt, "pairs") {
			pairs = append(pairs, driver.StringValue(fmt.Sprint("k", i)), drawValue(rt, depth+1))
		}
		return driver.MapValue(pairs)
	}
	return driver.Value{}
}

// drawFields draws values of the kinds that the fields have.
func drawFields(rt *rapid.T, cols []driver.Column) []driver.Value {
	fields := make([]driver.Value, rapid.IntRange(0, len(cols)).Draw(rt, "fields"))
	for i := range fields {
		switch {
		case rapid.IntRange(0, 4).Draw(rt, "absent") == 0:
		case cols[i].Kind == driver.Int:
			fields[i] = driver.IntValue(rapid.Int64().Draw(rt, "field"))
		default:
			fields[i] = driver.StringValue(rapid.StringN(0, 40, -1).Draw(rt, "field"))
		}
	}
	return fields
}

func (p *pair) token(rt *rapid.T, fresh bool) driver.Token {
	if !fresh && len(p.tokens) > 0 {
		return p.tokens[rapid.IntRange(max(0, len(p.tokens)-8), len(p.tokens)-1).Draw(rt, "token")]
	}
	var t driver.Token
	binary.BigEndian.PutUint64(t[:], uint64(len(p.tokens)+1))
	p.tokens = append(p.tokens, t)
	return t
}

func (p *pair) op(rt *rapid.T) driver.Op {
	op := driver.Op{
		Do:        driver.Verb(rapid.IntRange(0, 4).Draw(rt, "do")),
		If:        driver.Cond(rapid.IntRange(0, 3).Draw(rt, "if")),
		Table:     p.table(rt),
		PatchMeta: rapid.Bool().Draw(rt, "meta"),
	}
	op.Row = driver.Row{
		Key:     p.key(rt, op.Table),
		Fields:  drawFields(rt, op.Table.Fields),
		Expires: rapid.SampledFrom([]int64{0, 0, -1, 1, math.MaxInt64}).Draw(rt, "expires"),
		Meta:    rapid.SampledFrom([]string{"", "", "note"}).Draw(rt, "note"),
		Dead:    rapid.IntRange(0, 5).Draw(rt, "dead") == 0,
	}
	for _, name := range []string{"e1", "t", "x"} {
		declared := func(c driver.Column) bool { return c.Name == name }
		if rapid.IntRange(0, 3).Draw(rt, "extra") == 0 && !slices.ContainsFunc(op.Table.Fields, declared) {
			op.Row.Extra = append(op.Row.Extra, driver.Pair{Name: name, Value: drawValue(rt, 0)})
		}
	}
	if op.Table.Class != driver.Records && rapid.IntRange(0, 9).Draw(rt, "fitting") > 0 {
		op.Row.Dead = false
		if op.Do == driver.Patch || op.Do == driver.Fence {
			op.Do = driver.Put
		}
	}
	if op.Do == driver.Fence && rapid.IntRange(0, 9).Draw(rt, "valid") > 0 {
		op.If = rapid.SampledFrom([]driver.Cond{driver.Absent, driver.AtRev}).Draw(rt, "if")
	}
	if op.Do == driver.Patch {
		op.Edits = p.edits(rt, op.Table)
		if rapid.IntRange(0, 9).Draw(rt, "valid") > 0 {
			op.If = rapid.SampledFrom([]driver.Cond{driver.Present, driver.AtRev}).Draw(rt, "if")
		}
	}
	if op.If == driver.AtRev {
		op.Rev = p.expected(rt, &op)
	}
	if rapid.Bool().Draw(rt, "hint") {
		op.Row.Hint = p.hints[op.Table.Name+"/"+op.Row.Key.Partition+op.Row.Key.Sort]
	}
	return op
}

// expected draws the version that the row has, mostly, or another.
func (p *pair) expected(rt *rapid.T, op *driver.Op) driver.Token {
	rows := make([]driver.Row, 1)
	if rapid.IntRange(0, 3).Draw(rt, "stale") > 0 {
		if err := p.want.Get(p.t.Context(), op.Table, []driver.Key{op.Row.Key}, nil, rows); err != nil {
			rt.Fatal(err)
		}
		return rows[0].Rev // zero if there is none: that never holds
	}
	return p.token(rt, false)
}

func (p *pair) edits(rt *rapid.T, t *driver.Table) []driver.Edit {
	var edits []driver.Edit
	for range rapid.IntRange(0, 3).Draw(rt, "edits") {
		e := driver.Edit{
			Do:    driver.EditVerb(rapid.IntRange(0, 2).Draw(rt, "edit")),
			Field: rapid.IntRange(-1, len(t.Fields)-1).Draw(rt, "edited"),
		}
		if e.Field < 0 {
			e.Name = rapid.SampledFrom([]string{"e0", "e1", "e2", "x"}).Draw(rt, "name")
		}
		switch e.Do {
		case driver.Set:
			e.Value = drawValue(rt, 1)
		case driver.Add:
			e.Value = driver.IntValue(rapid.Int64().Draw(rt, "add"))
		}
		edits = append(edits, e)
	}
	return edits
}

func drawMask(rt *rapid.T, t *driver.Table) []int {
	if rapid.Bool().Draw(rt, "all") {
		return nil
	}
	mask := []int{}
	if len(t.Fields) > 0 {
		mask = append(mask, rapid.SliceOfN(rapid.IntRange(0, len(t.Fields)-1), 0, 4).Draw(rt, "mask")...)
	}
	return mask
}
