package pebble

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/polystore/polystore/repo/driver"
)

// A source draws from the bytes of a fuzzer. It yields zeros when they are used up.
type source []byte

func (s *source) byte() byte {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return b
}

func (s *source) below(n int) int { return int(s.byte()) % n }

func (s *source) uint64() uint64 {
	var b [8]byte
	for i := range b {
		b[i] = s.byte()
	}
	return binary.LittleEndian.Uint64(b[:])
}

// text draws a text; some are long, so that their lengths take two bytes.
func (s *source) text() string {
	n := s.below(10)
	if n == 9 {
		return strings.Repeat(string(rune('a'+s.below(26))), 100+s.below(256))
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = s.byte()
	}
	return strings.ToValidUTF8(string(b), "?")
}

func (s *source) value(depth int) driver.Value {
	kinds := 9
	if depth > 3 {
		kinds = 7
	}
	switch driver.Kind(s.below(kinds)) {
	case driver.Bool:
		return driver.BoolValue(s.below(2) == 1)
	case driver.Int:
		return driver.IntValue(int64(s.uint64()) >> s.below(64))
	case driver.Time:
		return driver.TimeValue(int64(s.uint64()) >> s.below(64))
	case driver.Float:
		f := math.Float64frombits(s.uint64())
		if math.IsNaN(f) {
			f = math.Inf(1)
		}
		return driver.FloatValue(f)
	case driver.String:
		return driver.StringValue(s.text())
	case driver.Bytes:
		return driver.BytesValue(s.text())
	case driver.List:
		var list []driver.Value
		for range s.below(4) {
			list = append(list, s.value(depth+1))
		}
		return driver.ListValue(list)
	case driver.Map:
		var pairs []driver.Value
		for i := range s.below(4) {
			pairs = append(pairs, driver.StringValue(fmt.Sprint(i)), s.value(depth+1))
		}
		return driver.MapValue(pairs)
	}
	return driver.Value{}
}

// catalogFields is what programs have declared so far: more than 16 fields, so
// that some heads take two bytes.
func catalogFields() []driver.Column {
	var fields []driver.Column
	for i := range 20 {
		fields = append(fields, driver.Column{Name: fmt.Sprintf("f%02d", i)})
	}
	return fields
}

// view draws a program's view of the table: some fields, in any order.
func (s *source) view(t *table) *view {
	fields := slices.Clone(*t.fields.Load())
	for i := range fields {
		j := s.below(i + 1)
		fields[i], fields[j] = fields[j], fields[i]
	}
	return newView(t, &driver.Table{Fields: fields[:s.below(len(fields)+1)]})
}

// row draws a row for v.
func (s *source) row(v *view) *driver.Row {
	r := &driver.Row{Dead: s.below(8) == 1}
	r.Fields = make([]driver.Value, s.below(len(v.names)+1))
	for i := range r.Fields {
		r.Fields[i] = s.value(0)
	}
	if s.below(3) == 0 {
		r.Expires = int64(s.uint64())
	}
	if s.below(3) == 0 {
		r.Meta = s.text()
	}
	for i := range 22 { // names of declared fields and others
		name := fmt.Sprintf("f%02d", i)
		if _, declared := v.ordinals[name]; !declared && s.below(6) == 0 {
			r.Extra = append(r.Extra, driver.Pair{Name: name, Value: s.value(0)})
		}
	}
	return r
}

// naive is the row as a reader with other fields has to see it, by way of a map.
func naive(writer, reader *view, r *driver.Row, mask []int) driver.Row {
	byName := map[string]driver.Value{}
	for i, v := range r.Fields {
		byName[writer.names[i]] = v
	}
	for _, p := range r.Extra {
		byName[p.Name] = p.Value
	}
	out := driver.Row{Rev: r.Rev, Ring: r.Ring, Expires: r.Expires, Dead: r.Dead, Meta: r.Meta}
	if mask != nil {
		for _, ordinal := range mask {
			out.Fields = append(out.Fields, byName[reader.names[ordinal]])
		}
		return out
	}
	for _, name := range reader.names {
		out.Fields = append(out.Fields, byName[name])
		delete(byName, name)
	}
	for name, v := range byName {
		if !v.IsNone() {
			out.Extra = append(out.Extra, driver.Pair{Name: name, Value: v})
		}
	}
	slices.SortFunc(out.Extra, func(a, b driver.Pair) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func codecTable() *table {
	t := &table{name: "t"}
	fields := catalogFields()
	t.fields.Store(&fields)
	return t
}

// written draws a row and encodes it.
func (s *source) written(v *view) (*driver.Row, []byte) {
	r := s.row(v)
	r.Rev = driver.Token{0: 1, 15: s.byte()}
	var ring []byte
	for range s.below(4) {
		token := driver.Token{0: 2, 7: s.byte()}
		r.Ring = append(r.Ring, token)
		ring = append(ring, token[:]...)
	}
	return r, v.appendRow([]byte("before"), r.Rev, ring, r)[len("before"):]
}

// checkRow writes a row as one program and reads it as another one.
func checkRow(t *testing.T, data []byte) {
	t.Helper()
	s := source(data)
	tab := codecTable()
	writer, reading := s.view(tab), s.view(tab)
	r, stored := s.written(writer)
	if h, err := headOf(stored); err != nil || h.rev != r.Rev || h.dead != r.Dead || !h.known {
		t.Errorf("headOf = %+v, %v, want %v and %v", h, err, r.Rev, r.Dead)
	}
	if got := ringOf(stored); len(got) != len(r.Ring)*tokenSize {
		t.Errorf("ringOf has %d bytes, want %d tokens", len(got), len(r.Ring))
	}
	mask := []int{}
	for range s.below(5) {
		if len(reading.names) > 0 {
			mask = append(mask, s.below(len(reading.names)))
		}
	}
	var rd reader // used twice, as from a pool
	var out driver.Row
	for _, m := range [][]int{mask, nil} {
		for _, shared := range []bool{false, true} {
			rd.init(reading, m)
			out.Reset()
			head, body := cut(stored)
			if err := rd.read(&out, head, string(body), shared); err != nil {
				t.Fatalf("mask %v: %v", m, err)
			}
			if diff := cmp.Diff(naive(writer, reading, r, m), out, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("mask %v: -naive +read\n%s", m, diff)
			}
		}
	}
}

func FuzzRow(f *testing.F) {
	f.Add([]byte("the quick brown fox jumps over the lazy dog"))
	f.Add([]byte(strings.Repeat("\x13\x05\x07\xff\x03", 100)))
	f.Fuzz(checkRow)
}

func TestManyRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		data := make([]byte, rng.IntN(1000))
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		checkRow(t, data)
	}
}

// FuzzDamaged reads what was never written, or was cut or changed later.
func FuzzDamaged(f *testing.F) {
	tab := codecTable()
	v := newView(tab, &driver.Table{Fields: catalogFields()[:5]})
	s := source(strings.Repeat("\x13\x05\x07\xff\x03\x08\x02", 60))
	_, stored := s.written(v)
	f.Add(stored, 0, byte(0))
	f.Add(stored, 20, byte(0xff))
	f.Add([]byte{}, 0, byte(0))
	f.Fuzz(func(t *testing.T, stored []byte, at int, flip byte) {
		if len(stored) > 0 && at >= 0 {
			stored = slices.Clone(stored)
			stored[at%len(stored)] ^= flip
		}
		var rd reader
		for _, mask := range [][]int{nil, {0, 3}, {}} {
			for _, bytes := range [][]byte{stored, stored[:len(stored)/2]} {
				var out driver.Row
				rd.init(v, mask)
				if err := rd.readBytes(&out, bytes); err != nil && !errors.Is(err, driver.ErrCorrupt) {
					t.Errorf("%v, want ErrCorrupt", err)
				}
				if _, err := headOf(bytes); err != nil && !errors.Is(err, driver.ErrCorrupt) {
					t.Errorf("%v, want ErrCorrupt", err)
				}
				ringOf(bytes)
			}
		}
	})
}

func TestDamagedRows(t *testing.T) {
	tab := codecTable()
	v := newView(tab, &driver.Table{Fields: catalogFields()[:5]})
	row := &driver.Row{Meta: "note", Expires: 7, Fields: []driver.Value{
		driver.StringValue("text"),
		driver.ListValue([]driver.Value{driver.IntValue(1), driver.StringValue("x")}),
	}}
	token := driver.NewToken()
	good := v.appendRow(nil, token, token[:], row)
	fieldAt := headSize + 1 + tokenSize + 1 + 1 + len("note")
	changed := func(at int, b byte) []byte {
		c := slices.Clone(good)
		c[at] = b
		return c
	}
	tests := map[string][]byte{
		"nothing":             {},
		"layout 2":            changed(0, 2<<5),
		"an unknown flag":     changed(0, good[0]|16),
		"no token":            slices.Concat(good[:1], make([]byte, tokenSize), good[headSize:]),
		"too long a ring":     changed(headSize, 200),
		"a field of nobody":   append(slices.Clone(good), 0xf0|tagTrue, 0x7f),
		"an unknown tag":      changed(fieldAt, 1<<4|15),
		"too long a text":     changed(fieldAt+1, 100),
		"too long a number":   append(slices.Clone(good), 1<<4|tagInt, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f),
		"half a float":        append(slices.Clone(good), 1<<4|tagFloat, 1, 2, 3),
		"too many elements":   append(slices.Clone(good), 1<<4|tagList, 2, 100, tagTrue),
		"too few elements":    append(slices.Clone(good), 1<<4|tagList, 3, 1, tagTrue, tagTrue),
		"a list in a bad one": append(slices.Clone(good), 1<<4|tagList, 3, 1, tagList, 9),
		"no name":             append(slices.Clone(good), tagTrue),
	}
	nested := []byte{1<<4 | tagTrue}
	for range maxDepth + 1 {
		nested[0] &= 15
		nested = slices.Concat([]byte{1<<4 | tagList}, binary.AppendUvarint(nil, uint64(len(nested)+1)), []byte{1}, nested)
	}
	tests["nested too deep"] = append(slices.Clone(good), nested...)
	for cut := range fieldAt {
		tests[fmt.Sprintf("cut to %d bytes", cut)] = good[:cut]
	}
	var rd reader
	rd.init(v, nil)
	for name, stored := range tests {
		var out driver.Row
		if err := rd.readBytes(&out, stored); !errors.Is(err, driver.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
	var out driver.Row
	if err := rd.readBytes(&out, good); err != nil || out.Meta != "note" { // the control
		t.Errorf("the row that was not damaged: %+v, %v", out, err)
	}
}

// TestReadingAllocatesOnce keeps the promise that a row costs one string.
func TestReadingAllocatesOnce(t *testing.T) {
	tab := codecTable()
	v := newView(tab, &driver.Table{Fields: catalogFields()})
	row := &driver.Row{Meta: "note"}
	for range v.names {
		row.Fields = append(row.Fields, driver.StringValue("some text"))
	}
	stored := v.appendRow(nil, driver.NewToken(), nil, row)
	var rd reader
	var out driver.Row
	allocs := func(mask []int) float64 {
		rd.init(v, mask)
		return testing.AllocsPerRun(100, func() {
			out.Reset()
			if err := rd.readBytes(&out, stored); err != nil {
				t.Fatal(err)
			}
		})
	}
	if n := allocs(nil); n != 1 {
		t.Errorf("a row of %d strings costs %v allocations, want 1", len(v.names), n)
	}
	if n := allocs([]int{3}); n != 1 {
		t.Errorf("one of its fields costs %v allocations, want 1", n)
	}
	row.Fields[0] = driver.StringValue(strings.Repeat("x", copyWhole))
	stored = v.appendRow(nil, driver.NewToken(), nil, row)
	if n := allocs([]int{3, 5}); n != 3 { // note and two fields, not the long one
		t.Errorf("two fields of a long row cost %v allocations, want 3", n)
	}
}

// TestStringsOutliveTheBuffer reads parts of a long row, which are copied one by
// one, and a whole short one, and then changes the bytes that were read.
func TestStringsOutliveTheBuffer(t *testing.T) {
	tab := codecTable()
	v := newView(tab, &driver.Table{Fields: catalogFields()[:4]})
	list := driver.ListValue([]driver.Value{driver.StringValue("element"), driver.BytesValue("bytes")})
	row := &driver.Row{Meta: "note", Fields: []driver.Value{
		driver.StringValue("text"), list, driver.BytesValue("some"), driver.StringValue(strings.Repeat("x", copyWhole)),
	}}
	row.Rev = driver.NewToken()
	stored := v.appendRow(nil, row.Rev, nil, row)
	for _, mask := range [][]int{{0, 1, 2}, nil} {
		var rd reader
		var out driver.Row
		rd.init(v, mask)
		buffer := slices.Clone(stored)
		if err := rd.readBytes(&out, buffer); err != nil {
			t.Fatal(err)
		}
		clear(buffer)
		if diff := cmp.Diff(naive(v, v, row, mask), out, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("mask %v: -written +read\n%s", mask, diff)
		}
	}
}

func TestTablePrefixes(t *testing.T) {
	var last []byte
	for number := 1; number <= lastTable; number++ {
		prefix := tablePrefix(number)
		if string(prefix) <= string(last) || strings.HasPrefix(string(prefix), string(last)) && number > 1 {
			t.Fatalf("prefix % x of table %d does not come after % x", prefix, number, last)
		}
		if end := successor(tablePrefix(number)); number < lastTable && string(end) > string(tablePrefix(number+1)) {
			t.Fatalf("table %d ends at % x, inside the next", number, end)
		}
		last = prefix
	}
}
