package driver

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The key codec. A tuple of values of static kinds becomes text such that
//   - different tuples have different texts, and no text begins another one of
//     the same columns;
//   - the byte order of the texts is the order of the tuples, with a column
//     marked Desc turned round;
//   - the text is valid UTF-8, holds ordinary text as it is, and neither '{' nor
//     '}', which delimit hash tags in Redis Cluster.
//
// Each part ends with '#', or with '~' if its column is Desc:
//
//	string  as it is; U+0000 to '%' as '%' and two hex digits, "{|}" as "|0", "|1", "|2"
//	int     a letter for sign and number of digits, then the digits: a7, b42, j1521080087;
//	        below zero Y to G and the digits taken from nine: Y2 is -7
//	time    the int of its Unix milliseconds
//	bool    f or t
//	float   16 hex digits that order as the numbers do
//	bytes   hex
//	Desc    hex of the complement: 16 digits for numbers and times, two a byte for
//	        string and bytes; 0 is true and 1 is false
const (
	endAsc  = '#' // below every byte that a part can hold
	endDesc = '~' // above every hex digit
	escape  = '%' // every byte up to it is escaped, so that its escapes sort below the rest
)

const lowerHex = "0123456789abcdef"
const upperHex = "0123456789ABCDEF"

// AppendParts appends the text of vals, which are the values of cols, to dst. It
// fails with ErrInvalid, naming the column, when a value is absent, of another
// kind, not valid UTF-8, or NaN.
func AppendParts(dst []byte, cols []Column, vals []Value) ([]byte, error) {
	for i := range cols {
		if err := checkPart(&cols[i], &vals[i]); err != nil {
			return dst, err
		}
		dst = appendPart(dst, &cols[i], &vals[i])
		if cols[i].Desc {
			dst = append(dst, endDesc)
		} else {
			dst = append(dst, endAsc)
		}
	}
	return dst, nil
}

// AppendPrefix appends the text with which all values of the String column col
// begin whose text begins with prefix.
func AppendPrefix(dst []byte, col Column, prefix string) ([]byte, error) {
	v := StringValue(prefix)
	if err := checkPart(&col, &v); err != nil {
		return dst, err
	}
	return appendPart(dst, &col, &v), nil
}

// After returns the least text that is greater than every text that begins with
// prefix, or "" when there is none. It is valid UTF-8 if prefix is.
func After(prefix string) string {
	for prefix != "" {
		r, n := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-n]
		switch {
		case r == utf8.MaxRune:
			continue
		case r == 0xD7FF: // the next code points are surrogates
			r = 0xE000
		default:
			r++
		}
		return prefix + string(r)
	}
	return ""
}

// Before reports whether text is [After] of whole parts, and returns these.
func Before(text string) (parts string, ok bool) {
	last := len(text) - 1
	if last < 0 || text[last] != endAsc+1 && text[last] != endDesc+1 {
		return "", false
	}
	return text[:last] + string(text[last]-1), true
}

func checkPart(col *Column, v *Value) error {
	switch {
	case v.kind == None:
		return fmt.Errorf("key part %s is absent: %w", col.Name, ErrInvalid)
	case v.kind != col.Kind:
		return fmt.Errorf("key part %s is a %s, want a %s: %w", col.Name, v.kind, col.Kind, ErrInvalid)
	case v.kind == String && !utf8.ValidString(v.Str()):
		return fmt.Errorf("key part %s is not valid UTF-8: %w", col.Name, ErrInvalid)
	case v.kind == Float && math.IsNaN(v.Float()):
		return fmt.Errorf("key part %s is not a number (NaN): %w", col.Name, ErrInvalid)
	case v.kind == List || v.kind == Map:
		return fmt.Errorf("key part %s is a %s, which has no order: %w", col.Name, v.kind, ErrInvalid)
	}
	return nil
}

func appendPart(dst []byte, col *Column, v *Value) []byte {
	if col.Desc {
		return appendDesc(dst, v)
	}
	switch v.kind {
	case Bool:
		return append(dst, "ft"[v.num])
	case Int, Time:
		return appendInt(dst, v.Int())
	case Float:
		return appendHex64(dst, orderedBits(v.num))
	case Bytes:
		return appendHex(dst, v.Str(), 0)
	default:
		return appendText(dst, v.Str())
	}
}

func appendDesc(dst []byte, v *Value) []byte {
	switch v.kind {
	case Bool:
		return append(dst, "10"[v.num])
	case Int, Time:
		return appendHex64(dst, ^(v.num ^ 1<<63))
	case Float:
		return appendHex64(dst, ^orderedBits(v.num))
	default:
		return appendHex(dst, v.Str(), 0xff)
	}
}

// orderedBits maps the bits of a float to a number that orders as floats do.
func orderedBits(bits uint64) uint64 {
	if bits>>63 == 1 {
		return ^bits
	}
	return bits | 1<<63
}

func floatBits(ordered uint64) uint64 {
	if ordered>>63 == 1 {
		return ordered &^ (1 << 63)
	}
	return ^ordered
}

func appendHex64(dst []byte, n uint64) []byte {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	for _, c := range b {
		dst = append(dst, lowerHex[c>>4], lowerHex[c&15])
	}
	return dst
}

func appendHex(dst []byte, s string, flip byte) []byte {
	for i := range len(s) {
		c := s[i] ^ flip
		dst = append(dst, lowerHex[c>>4], lowerHex[c&15])
	}
	return dst
}

func appendInt(dst []byte, n int64) []byte {
	at := len(dst)
	dst = append(dst, 0)
	if n >= 0 {
		dst = strconv.AppendUint(dst, uint64(n), 10)
		dst[at] = 'a' + byte(len(dst)-at-2)
		return dst
	}
	dst = strconv.AppendUint(dst, -uint64(n), 10)
	dst[at] = 'Z' - byte(len(dst)-at-1)
	for i := at + 1; i < len(dst); i++ {
		dst[i] = '9' - (dst[i] - '0')
	}
	return dst
}

func plain(c byte) bool { return c > escape && c != '{' && c != '|' && c != '}' }

func appendText(dst []byte, s string) []byte {
	from := 0
	for i := range len(s) {
		c := s[i]
		if plain(c) {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		if c <= escape {
			dst = append(dst, escape, upperHex[c>>4], upperHex[c&15])
		} else {
			dst = append(dst, '|', '0'+c-'{')
		}
	}
	return append(dst, s[from:]...)
}

// CutParts returns the beginning of text that holds the parts of cols, and the
// rest. It looks for the ends only; ok is false when there are too few.
func CutParts(text string, cols []Column) (head, rest string, ok bool) {
	at := 0
	for i := range cols {
		n := strings.IndexByte(text[at:], endOf(&cols[i]))
		if n < 0 {
			return "", "", false
		}
		at += n + 1
	}
	return text[:at], text[at:], true
}

func endOf(col *Column) byte {
	if col.Desc {
		return endDesc
	}
	return endAsc
}

// ParseParts appends the values of cols, which text begins with, to dst and
// returns the rest of text. A text that [AppendParts] cannot have made is
// ErrCorrupt. Strings without escapes are slices of text.
func ParseParts(dst []Value, text string, cols []Column) ([]Value, string, error) {
	for i := range cols {
		n := strings.IndexByte(text, endOf(&cols[i]))
		if n < 0 {
			return dst, text, fmt.Errorf("key part %s has no end: %w", cols[i].Name, ErrCorrupt)
		}
		v, ok := parsePart(text[:n], &cols[i])
		if !ok {
			return dst, text, fmt.Errorf("key part %s is not a %s in the form of a key: %w", cols[i].Name, cols[i].Kind, ErrCorrupt)
		}
		dst, text = append(dst, v), text[n+1:]
	}
	return dst, text, nil
}

func parsePart(s string, col *Column) (Value, bool) {
	var flip uint64
	if col.Desc {
		flip = math.MaxUint64
	}
	switch col.Kind {
	case Bool:
		return parseBool(s, col.Desc)
	case Int, Time:
		n, ok := parseNumber(s, col.Desc)
		return Value{kind: col.Kind, num: uint64(n)}, ok
	case Float:
		n, ok := parseHex64(s)
		f := math.Float64frombits(floatBits(n ^ flip))
		return FloatValue(f), ok && !math.IsNaN(f) && !(f == 0 && math.Signbit(f))
	case Bytes:
		b, ok := parseHex(s, byte(flip))
		return BytesValue(b), ok && b != ""
	case String:
		if col.Desc {
			b, ok := parseHex(s, 0xff)
			return StringValue(b), ok && utf8.ValidString(b)
		}
		return parseText(s)
	}
	return Value{}, false
}

func parseBool(s string, desc bool) (Value, bool) {
	switch {
	case !desc && s == "t", desc && s == "0":
		return BoolValue(true), true
	case !desc && s == "f", desc && s == "1":
		return BoolValue(false), true
	}
	return Value{}, false
}

func parseNumber(s string, desc bool) (int64, bool) {
	if desc {
		n, ok := parseHex64(s)
		return int64(^n ^ 1<<63), ok
	}
	if len(s) < 2 {
		return 0, false
	}
	var buf [20]byte
	text := append(buf[:0], s[1:]...)
	if s[0] >= 'a' {
		n, err := strconv.ParseUint(string(text), 10, 63)
		return int64(n), err == nil && canonicalInt(s, int64(n))
	}
	for i, c := range text {
		text[i] = '9' - (c - '0')
	}
	n, err := strconv.ParseUint(string(text), 10, 64)
	return -int64(n), err == nil && n <= 1<<63 && canonicalInt(s, -int64(n))
}

func canonicalInt(s string, n int64) bool {
	var buf [24]byte
	return string(appendInt(buf[:0], n)) == s
}

func parseHex64(s string) (uint64, bool) {
	if len(s) != 16 {
		return 0, false
	}
	var n uint64
	for i := range len(s) {
		d := strings.IndexByte(lowerHex, s[i])
		if d < 0 {
			return 0, false
		}
		n = n<<4 | uint64(d)
	}
	return n, true
}

func parseHex(s string, flip byte) (string, bool) {
	if len(s)%2 != 0 {
		return "", false
	}
	out := make([]byte, len(s)/2)
	for i := range out {
		hi, lo := strings.IndexByte(lowerHex, s[2*i]), strings.IndexByte(lowerHex, s[2*i+1])
		if hi < 0 || lo < 0 {
			return "", false
		}
		out[i] = byte(hi<<4|lo) ^ flip
	}
	return string(out), true
}

func parseText(s string) (Value, bool) {
	if isOrdinary(s) {
		return StringValue(s), true
	}
	if strings.IndexByte(s, escape) < 0 && strings.IndexByte(s, '|') < 0 {
		return StringValue(s), allPlain(s) && utf8.ValidString(s)
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == escape && i+2 < len(s):
			hi, lo := strings.IndexByte(upperHex, s[i+1]), strings.IndexByte(upperHex, s[i+2])
			if hi < 0 || lo < 0 || hi<<4|lo > escape {
				return Value{}, false
			}
			out, i = append(out, byte(hi<<4|lo)), i+2
		case c == '|' && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '2':
			out, i = append(out, '{'+s[i+1]-'0'), i+1
		case plain(c):
			out = append(out, c)
		default:
			return Value{}, false
		}
	}
	return StringValue(string(out)), utf8.Valid(out)
}

// isOrdinary reports whether s has no byte but '&' to 'z', which is what most keys
// are made of.
func isOrdinary(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= escape || c >= '{' {
			return false
		}
	}
	return true
}

func allPlain(s string) bool {
	for i := range len(s) {
		if !plain(s[i]) {
			return false
		}
	}
	return true
}
