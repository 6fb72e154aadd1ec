package gate_test

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// hostileTexts mean something to a store, a protocol or a codec.
func hostileTexts() []string {
	return []string{"", " ", "a", "A", "#", "~", "%", "a#b~c", "\x00", "a\x00b", "{}", "a{b}c", "}{", "|", "\n\r\t", "'", `"`, "\\",
		"$title", "?", "é", "e\u0301", "\u07FF", "\u0800", "\uD7FF", "\uE000", "\uFFFD", "\uFFFF", "\U00010000", "\U0010FFFF", "null", "0", "-1"}
}

// values writes and reads back the values that stores lose most easily.
func valuesKept(ctx context.Context, p *play) error {
	for i, fields := range valueLists() {
		id := fmt.Sprint(i)
		record := driver.Op{Do: driver.Put, Table: p.posts, If: driver.Absent, Row: driver.Row{Key: p.post(p.author, id), Fields: fields,
			Extra: []driver.Pair{{Name: "a.b", Value: fields[i%postFields]}, {Name: "b", Value: hostileMap()}}}}
		if fields[i%postFields].IsNone() {
			record.Row.Extra = record.Row.Extra[1:]
		}
		entry := driver.Op{Do: driver.Put, Table: p.byAt, Row: driver.Row{Key: p.entry(p.author, int64(i), id),
			Fields: []driver.Value{fields[title], fields[views], fields[rating], fields[photo], fields[meta]}}}
		rev, err := p.do(ctx, record, entry)
		if err != nil {
			return fmt.Errorf("values %d: %w", i, err)
		}
		if err := p.sameFields(ctx, p.posts, []int{views, Sel, photo}, record.Row.Key); err != nil {
			return err
		}
		record.If, record.Rev = driver.AtRev, rev
		record.Row.Fields = valueLists()[(i+1)%len(valueLists())]
		if _, err := p.do(ctx, record); err != nil {
			return fmt.Errorf("values %d replaced: %w", i, err)
		}
	}
	return p.sameRun(ctx, driver.Span{Table: p.byAt, Key: p.post(p.author, ""), Mask: []int{4, 0}})
}

func valueLists() [][]driver.Value {
	var lists [][]driver.Value
	ints := []int64{math.MinInt64, math.MaxInt64, 0, -1, 1<<53 + 1, -1<<53 - 1}
	floats := []float64{math.MaxFloat64, math.SmallestNonzeroFloat64, -0.5, 1e21, 100000, math.Inf(1), math.Inf(-1), 0}
	for i, s := range hostileTexts() {
		n, f := ints[i%len(ints)], floats[i%len(floats)]
		lists = append(lists, values(map[int]driver.Value{
			title: text(s), Sel: text(s), views: driver.IntValue(n), rating: driver.FloatValue(f), open: driver.BoolValue(i%2 == 0),
			at: driver.TimeValue(n), photo: driver.BytesValue(s), meta: hostileMap(),
			tags: driver.ListValue([]driver.Value{text(s), driver.IntValue(n), driver.FloatValue(f), driver.BytesValue("\x00" + s), driver.TimeValue(n)}),
		}))
	}
	bytes := make([]byte, 256)
	for i := range bytes {
		bytes[i] = byte(i)
	}
	return append(lists, values(nil), values(map[int]driver.Value{photo: driver.BytesValue(string(bytes))}))
}

// large writes keys and records at the limits of package repo.
func large(ctx context.Context, p *play) error {
	id := strings.Repeat("\U0010FFFF", 120) + strings.Repeat("i", 400) // with the author about 1 KiB of text
	body := strings.Repeat("0123456789abcdef", 1<<16)
	fields := values(map[int]driver.Value{title: text(body), views: driver.IntValue(1)})
	record := driver.Op{Do: driver.Put, Table: p.posts, If: driver.Absent, Row: driver.Row{Key: p.post(p.author, id), Fields: fields}}
	entry := driver.Op{Do: driver.Put, Table: p.byAt, Row: driver.Row{Key: p.entry(p.author, 1, id), Fields: fields[:1]}}
	rev, err := p.do(ctx, record, entry)
	if err != nil {
		return err
	}
	record.If, record.Rev = driver.AtRev, rev
	record.Row.Fields = titled(body[:1<<19])
	for i := range 6000 { // more than Lua can unpack at once
		record.Row.Extra = append(record.Row.Extra, driver.Pair{Name: fmt.Sprintf("e%04d", i), Value: driver.IntValue(int64(i))})
	}
	rev, err = p.do(ctx, record, driver.Op{Do: driver.Delete, Table: p.byAt, Row: entry.Row})
	if err != nil {
		return err
	}
	record = postOp(p, driver.Put, record.Row.Key, driver.AtRev, rev)
	return p.manyRows(ctx, record)
}

// manyRows writes a record with as many index rows as one may have, and moves them.
func (p *play) manyRows(ctx context.Context, record driver.Op) error {
	ops := []driver.Op{record}
	for i := range 256 {
		ops = append(ops, driver.Op{Do: driver.Put, Table: p.byAt, Row: driver.Row{Key: p.entry(p.author, int64(i), "many")}})
	}
	rev, err := p.do(ctx, ops...)
	if err != nil {
		return err
	}
	ops[0].Rev = rev
	for i := range 256 {
		ops[1+i].Do = driver.Delete
		ops = append(ops, driver.Op{Do: driver.Put, Table: p.byAt, Row: driver.Row{Key: p.entry(p.author, int64(-1-i), "many")}})
	}
	if _, err := p.do(ctx, ops...); err != nil {
		return err
	}
	return p.sameRun(ctx, driver.Span{Table: p.byAt, Key: record.Row.Key})
}
