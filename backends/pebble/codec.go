package pebble

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// A stored row is
//
//	1 byte    layout of rows in the upper three bits, flags in the lower five
//	16 bytes  Rev
//	          with flagRing: number of tokens, then 16 bytes each
//	          with flagExpires: zigzag varint
//	          with flagNote: length and text
//	          then the fields that are present, in any order, each
//	uvarint   number of the field in the catalog, times 16, plus the tag of the value
//	          with the number 0: length and text of the name, which the catalog has not
//	          payload of the value, see appendPayload
const (
	rowLayout  = 1 << 5
	layoutMask = 7 << 5

	flagRing    = 1
	flagExpires = 2
	flagNote    = 4
	flagDead    = 8
	flagMask    = 15
)

const tokenSize = len(driver.Token{})

// headSize is the length of what every row begins with.
const headSize = 1 + tokenSize

// appendRow appends a row with the tokens of ring, 16 bytes each, to dst.
func (v *view) appendRow(dst []byte, token driver.Token, ring []byte, r *driver.Row) []byte {
	at := len(dst)
	dst = append(dst, rowLayout)
	dst = append(dst, token[:]...)
	if len(ring) > 0 {
		dst[at] |= flagRing
		dst = binary.AppendUvarint(dst, uint64(len(ring)/tokenSize))
		dst = append(dst, ring...)
	}
	if r.Expires != 0 {
		dst[at] |= flagExpires
		dst = binary.AppendVarint(dst, r.Expires)
	}
	if r.Meta != "" {
		dst[at] |= flagNote
		dst = appendText(dst, r.Meta)
	}
	if r.Dead {
		dst[at] |= flagDead
	}
	for i := range r.Fields {
		if value := &r.Fields[i]; !value.IsNone() {
			dst = binary.AppendUvarint(dst, v.heads[i]|uint64(tagOf(value)))
			dst = appendPayload(dst, value)
		}
	}
	for i := range r.Extra {
		if p := &r.Extra[i]; !p.Value.IsNone() {
			dst = append(dst, tagOf(&p.Value))
			dst = appendText(dst, p.Name)
			dst = appendPayload(dst, &p.Value)
		}
	}
	return dst
}

// A head is the beginning of a stored row: what conditions look at.
type head struct {
	rev   driver.Token
	dead  bool
	known bool // there is a row
}

func headOf(stored []byte) (head, error) {
	if len(stored) < headSize || stored[0]&layoutMask != rowLayout || stored[0]&^(layoutMask|flagMask) != 0 {
		return head{}, fmt.Errorf("a row that does not begin like one: %w", driver.ErrCorrupt)
	}
	return head{rev: driver.Token(stored[1:headSize]), dead: stored[0]&flagDead != 0, known: true}, nil
}

func isDead(stored []byte) bool { return len(stored) > 0 && stored[0]&flagDead != 0 }

// ringOf returns the tokens of a stored row, 16 bytes each, within stored.
func ringOf(stored []byte) []byte {
	if len(stored) < headSize || stored[0]&flagRing == 0 {
		return nil
	}
	n, length := binary.Uvarint(stored[headSize:])
	if length <= 0 {
		return nil
	}
	rest := stored[headSize+length:]
	return rest[:min(n, uint64(len(rest)/tokenSize))*uint64(tokenSize)]
}

// A reader turns stored rows of a view into driver rows, with all fields or
// those of a mask.
type reader struct {
	*view
	mask  bool    // only the fields in slots, and no Extra
	slots []int32 // place in Row.Fields by number of the field, or -1
	width int     // length of Row.Fields
	again []int   // pairs of places in Row.Fields; the second is the same as the first
	left  int     // how many fields a mask asks for
	own   []int32 // the array for slots
}

// init sets r to read rows of v. The mask is a valid one.
func (r *reader) init(v *view, mask []int) {
	r.view, r.mask, r.again = v, mask != nil, r.again[:0]
	if !r.mask {
		r.slots, r.width = v.slots, len(v.names)
		return
	}
	r.own = append(r.own[:0], v.noSlots...)
	r.slots, r.width, r.left = r.own, len(mask), len(mask)
	for place, ordinal := range mask {
		number := v.heads[ordinal] >> 4
		if first := r.slots[number]; first >= 0 {
			r.again = append(r.again, int(first), place)
			r.left--
			continue
		}
		r.slots[number] = int32(place)
	}
}

// cut returns the head of a stored row in place, and what comes after it. The head
// of what is no row is "".
func cut(stored []byte) (head string, body []byte) {
	if len(stored) < headSize {
		return "", nil
	}
	return inPlace(stored[:headSize]), stored[headSize:]
}

// read sets out to the row that has a head and a body. Strings in out are parts of
// body unless shared says that body will change: then they are copies. Nothing
// refers to the head.
func (r *reader) read(out *driver.Row, head, body string, shared bool) error {
	if head == "" {
		return errRow
	}
	first := head[0]
	copy(out.Rev[:], head[1:])
	t := text{rest: body, own: shared}
	if first&layoutMask != rowLayout || first&^(layoutMask|flagMask) != 0 {
		t.bad = true
	}
	out.Dead = first&flagDead != 0
	if first&flagRing != 0 {
		t.ring(out)
	}
	if first&flagExpires != 0 {
		out.Expires = t.varint()
	}
	if first&flagNote != 0 {
		out.Meta = t.string()
	}
	r.fields(out, &t)
	if t.bad || out.Rev.IsZero() {
		return errRow
	}
	return nil
}

func (t *text) ring(out *driver.Row) {
	for n := t.uvarint(); n > 0 && !t.bad; n-- {
		var token driver.Token
		copy(token[:], t.take(uint64(tokenSize)))
		out.Ring = append(out.Ring, token)
	}
}

func (r *reader) fields(out *driver.Row, t *text) {
	out.Fields = slices.Grow(out.Fields[:0], r.width)[:r.width]
	clear(out.Fields)
	left := r.left
	for t.rest != "" && !(r.mask && left == 0) {
		head := t.uvarint()
		number, tag := head>>4, byte(head&15)
		if number >= uint64(len(r.slots)) || r.slots[number] < 0 { // as that of number 0
			if r.other(out, t, number, tag) {
				left--
			}
			continue
		}
		field := &out.Fields[r.slots[number]]
		switch tag {
		case tagString: // most are
			*field = driver.StringValue(t.string())
		case tagInt:
			*field = driver.IntValue(t.varint())
		default:
			*field = t.value(tag)
		}
		left--
	}
	for i := 0; i < len(r.again); i += 2 {
		out.Fields[r.again[i+1]] = out.Fields[r.again[i]]
	}
	if len(out.Extra) > 1 {
		slices.SortFunc(out.Extra, func(a, b driver.Pair) int { return strings.Compare(a.Name, b.Name) })
	}
}

// other reads a field that has no place by its number. It returns whether the
// field has one by its name.
func (r *reader) other(out *driver.Row, t *text, number uint64, tag byte) (declared bool) {
	switch {
	case number == 0:
		return r.named(out, t, tag)
	case r.mask:
		t.skip(tag)
	default:
		r.undeclared(out, t, number, tag)
	}
	return false
}

// named reads a field that was not declared when it was written. It may be now:
// then it has its place.
func (r *reader) named(out *driver.Row, t *text, tag byte) (declared bool) {
	name := t.string()
	if ordinal, ok := r.ordinals[name]; ok {
		if place := r.slots[r.heads[ordinal]>>4]; place >= 0 {
			out.Fields[place] = t.value(tag)
			return true
		}
	}
	if r.mask {
		t.skip(tag)
		return false
	}
	out.Extra = append(out.Extra, driver.Pair{Name: name, Value: t.value(tag)})
	return false
}

// undeclared reads a field that another program declared.
func (r *reader) undeclared(out *driver.Row, t *text, number uint64, tag byte) {
	name, ok := r.fieldName(number)
	if !ok {
		t.bad = true
		return
	}
	out.Extra = append(out.Extra, driver.Pair{Name: name, Value: t.value(tag)})
}
