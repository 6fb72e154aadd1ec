package driver_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/polystore/polystore/repo/driver"
)

// A source makes columns and tuples from fuzz bytes.
type source struct{ data []byte }

func (s *source) byte() byte {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return b
}

func (s *source) take(n int) []byte {
	n = min(n, len(s.data))
	b := s.data[:n]
	s.data = s.data[n:]
	return b
}

func (s *source) uint64() uint64 {
	var b [8]byte
	copy(b[:], s.take(8))
	return binary.LittleEndian.Uint64(b[:])
}

func (s *source) columns() []driver.Column {
	cols := make([]driver.Column, 1+s.byte()%3)
	for i := range cols {
		b := s.byte()
		cols[i] = driver.Column{Name: "c", Kind: driver.Bool + driver.Kind(b>>1)%(driver.Time), Desc: b&1 == 1}
	}
	return cols
}

// tuple makes values; small alphabets make equal prefixes likely.
func (s *source) tuple(cols []driver.Column) []driver.Value {
	vals := make([]driver.Value, len(cols))
	for i, col := range cols {
		switch col.Kind {
		case driver.Bool:
			vals[i] = driver.BoolValue(s.byte()&1 == 1)
		case driver.Int:
			vals[i] = driver.IntValue(s.int64())
		case driver.Time:
			vals[i] = driver.TimeValue(s.int64())
		case driver.Float:
			vals[i] = driver.FloatValue(math.Float64frombits(s.uint64()))
		case driver.Bytes:
			vals[i] = driver.BytesValue(string(s.take(1 + int(s.byte()%4))))
		default:
			vals[i] = driver.StringValue(s.text())
		}
	}
	return vals
}

func (s *source) int64() int64 {
	n := int64(s.uint64())
	return n >> (s.byte() % 64)
}

func (s *source) text() string {
	alphabet := []rune{'a', 'b', '#', '%', '~', '{', '|', '}', ' ', 0, '0', 0xD7FF, 0xE000, utf8.MaxRune, 'é'}
	var b strings.Builder
	for range s.byte() % 5 {
		b.WriteRune(alphabet[int(s.byte())%len(alphabet)])
	}
	return b.String()
}

// naive compares tuples value by value, without the codec.
func naive(cols []driver.Column, a, b []driver.Value) int {
	for i, col := range cols {
		var d int
		switch col.Kind {
		case driver.Bool, driver.Int, driver.Time:
			d = cmp.Compare(a[i].Int(), b[i].Int())
			if col.Kind == driver.Bool {
				d = cmp.Compare(b2i(a[i].Bool()), b2i(b[i].Bool()))
			}
		case driver.Float:
			d = cmp.Compare(a[i].Float(), b[i].Float())
		default:
			d = bytes.Compare([]byte(a[i].Str()), []byte(b[i].Str()))
		}
		if col.Desc {
			d = -d
		}
		if d != 0 {
			return d
		}
	}
	return 0
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func usable(vals []driver.Value) bool {
	return !slices.ContainsFunc(vals, func(v driver.Value) bool {
		return v.IsNone() || v.Kind() == driver.Float && math.IsNaN(v.Float())
	})
}

// checkPair holds the codec against the naive comparison for two tuples of the
// same columns: order, collisions, round trip, prefix freedom, UTF-8, braces.
func checkPair(t *testing.T, cols []driver.Column, a, b []driver.Value) {
	t.Helper()
	ta, err := driver.AppendParts(nil, cols, a)
	if err != nil {
		t.Fatalf("AppendParts(%v): %v", a, err)
	}
	tb, err := driver.AppendParts(nil, cols, b)
	if err != nil {
		t.Fatalf("AppendParts(%v): %v", b, err)
	}
	if got, want := bytes.Compare(ta, tb), naive(cols, a, b); got != want {
		t.Fatalf("order of %q and %q is %d, of %v and %v %d (columns %v)", ta, tb, got, a, b, want, cols)
	}
	if !bytes.Equal(ta, tb) && (bytes.HasPrefix(ta, tb) || bytes.HasPrefix(tb, ta)) {
		t.Fatalf("one of %q and %q begins the other", ta, tb)
	}
	if !utf8.Valid(ta) || bytes.ContainsAny(ta, "{}") {
		t.Fatalf("text %q is not valid UTF-8 or holds a brace", ta)
	}
	back, rest, err := driver.ParseParts(nil, string(ta)+"rest", cols)
	if err != nil || rest != "rest" || naive(cols, a, back) != 0 {
		t.Fatalf("ParseParts(%q) = %v, %q, %v, want %v", ta, back, rest, err, a)
	}
	head, rest, ok := driver.CutParts(string(ta)+"rest", cols)
	if !ok || head != string(ta) || rest != "rest" {
		t.Fatalf("CutParts(%q) = %q, %q, %v", ta, head, rest, ok)
	}
	if end := driver.After(string(ta)); end != "" && (end <= string(ta) || string(tb) > string(ta) && string(tb) < end) {
		t.Fatalf("After(%q) = %q, which is not next: %q", ta, end, tb)
	}
}

func FuzzKeyOrder(f *testing.F) {
	f.Add([]byte{0, 10, 2, 0, 1, 2, 0, 2})
	f.Add([]byte{2, 11, 3, 4, 255, 255, 255, 255, 255, 255, 255, 255, 0, 1, 2, 3})
	f.Add(bytes.Repeat([]byte{1, 7, 9, 200}, 20))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &source{data}
		cols := s.columns()
		a, b := s.tuple(cols), s.tuple(cols)
		if usable(a) && usable(b) {
			checkPair(t, cols, a, b)
		}
	})
}

// FuzzParse gives hostile text to the parser: it never panics, and what it
// accepts is what the codec writes.
func FuzzParse(f *testing.F) {
	f.Add([]byte{0, 10}, "a%20b#")
	f.Add([]byte{0, 2}, "j1521080087#")
	f.Add([]byte{0, 3}, "7fffffffffffffff~")
	f.Add([]byte{0, 2}, "s9999999999999999999#")
	f.Fuzz(func(t *testing.T, spec []byte, text string) {
		cols := (&source{spec}).columns()
		vals, rest, err := driver.ParseParts(nil, text, cols)
		if err != nil {
			return
		}
		again, err := driver.AppendParts(nil, cols, vals)
		if err != nil || string(again)+rest != text {
			t.Fatalf("ParseParts(%q) = %v, %q, which is written %q, %v (columns %v)", text, vals, rest, again, err, cols)
		}
	})
}

// TestOrderCheckCatches proves that checkPair can fail: it is given an order that the
// codec does not have.
func TestOrderCheckCatches(t *testing.T) {
	cols := []driver.Column{{Name: "c", Kind: driver.String}}
	wrong := []driver.Column{{Name: "c", Kind: driver.String, Desc: true}}
	a, b := []driver.Value{driver.StringValue("a")}, []driver.Value{driver.StringValue("b")}
	ta, _ := driver.AppendParts(nil, cols, a)
	tb, _ := driver.AppendParts(nil, cols, b)
	if bytes.Compare(ta, tb) == naive(wrong, a, b) {
		t.Error("the comparison cannot tell ascending from descending")
	}
}

func TestAppendPrefix(t *testing.T) {
	for _, desc := range []bool{false, true} {
		col := driver.Column{Name: "c", Kind: driver.String, Desc: desc}
		for _, text := range []string{"", "a", "ab", "a#", "a{", "é", "\U0010FFFF"} {
			for _, whole := range []string{text, text + "z", text + "\x00", text + "\U0010FFFF", "other"} {
				p, err := driver.AppendPrefix(nil, col, text)
				if err != nil {
					t.Fatal(err)
				}
				full, err := driver.AppendParts(nil, []driver.Column{col}, []driver.Value{driver.StringValue(whole)})
				if err != nil {
					t.Fatal(err)
				}
				if got, want := bytes.HasPrefix(full, p), strings.HasPrefix(whole, text); got != want {
					t.Errorf("desc %v: text of %q begins with that of prefix %q: %v, want %v", desc, whole, text, got, want)
				}
			}
		}
	}
}

func TestAppendPartsRefuses(t *testing.T) {
	tests := []struct {
		kind driver.Kind
		val  driver.Value
	}{
		{driver.String, driver.Value{}},
		{driver.String, driver.IntValue(1)},
		{driver.String, driver.StringValue("\xff")},
		{driver.Float, driver.FloatValue(math.NaN())},
		{driver.Bytes, driver.BytesValue("")},
		{driver.List, driver.ListValue([]driver.Value{driver.IntValue(1)})},
	}
	for _, tt := range tests {
		if got, err := driver.AppendParts(nil, []driver.Column{{Name: "c", Kind: tt.kind}}, []driver.Value{tt.val}); err == nil {
			t.Errorf("AppendParts(%s, %v) = %q, want an error", tt.kind, tt.val, got)
		}
	}
}
