package redis

import (
	"context"
	"slices"
	"strconv"

	"github.com/polystore/polystore/backends/redis/internal/wire"
	"github.com/polystore/polystore/internal/tagged"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

const tokenSize = len(driver.Token{})

// someToken is the Rev of key-only rows, which have none.
var someToken = driver.Token{tokenSize - 1: 1}

func itoa(n int) string { return strconv.Itoa(n) }

// scalar returns the text of a declared field.
func scalar(v driver.Value) string {
	switch v.Kind() {
	case driver.String, driver.Bytes:
		return v.Str()
	case driver.Int, driver.Time:
		return strconv.FormatInt(v.Int(), 10)
	case driver.Float:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case driver.Bool:
		return strconv.FormatBool(v.Bool())
	}
	return string(tagged.Append(nil, v))
}

// parseScalar reads the text of a declared field.
func parseScalar(text string, kind driver.Kind) (driver.Value, bool) {
	switch kind {
	case driver.String:
		return driver.StringValue(text), true
	case driver.Bytes:
		return driver.BytesValue(text), true
	case driver.Int:
		n, err := strconv.ParseInt(text, 10, 64)
		return driver.IntValue(n), err == nil
	case driver.Time:
		n, err := strconv.ParseInt(text, 10, 64)
		return driver.TimeValue(n), err == nil
	case driver.Float:
		f, err := strconv.ParseFloat(text, 64)
		return driver.FloatValue(f), err == nil && f == f
	case driver.Bool:
		return driver.BoolValue(text == "true"), text == "true" || text == "false"
	}
	v, err := tagged.Parse(text)
	return v, err == nil && (v.Kind() == kind || v.IsNone())
}

// readHash reads the fields of a record into row, of which the key is set already.
func (v *view) readHash(ctx context.Context, h wire.Hash, row *driver.Row) error {
	if len(h) == 0 {
		return nil
	}
	sh := v.Shape(nil)
	sh.Begin(row)
	known, next := 0, 0
	for name, text := range h.All {
		var ok bool
		at, declared := next, next < len(v.Fields) && v.Fields[next].Name == name // as a rule: in the order of ordinals
		if !declared {
			at, declared = v.Ordinals[name]
		}
		switch {
		case declared:
			row.Fields[at], ok = parseScalar(text, v.Fields[at].Kind)
			next = at + 1
		case slices.Contains(metaNames[:], name):
			ok = readMeta(row, name, text)
		default:
			continue
		}
		if !ok {
			return v.badRow(row, name)
		}
		known++
	}
	if row.Rev.IsZero() {
		return v.badRow(row, "_rev")
	}
	if known == h.Len() {
		return nil
	}
	return v.readOthers(ctx, h, row)
}

// badRow is the error of a record whose field cannot have been written by this
// package.
func (v *view) badRow(row *driver.Row, field string) error {
	return who.Corrupt("the hash %s has a field %.50q that this library cannot have written so; if the key is another program's, give one of them a prefix",
		driver.Private(v.key(&row.Key)), frame.Shown(field, v.Ordinals))
}

// readMeta reads a field of the library and reports whether it was one.
func readMeta(row *driver.Row, name, text string) bool {
	switch name {
	case "_rev":
		if len(text) != tokenSize {
			return false
		}
		copy(row.Rev[:], text)
	case "_ring":
		for ; len(text) >= tokenSize; text = text[tokenSize:] {
			row.Ring = append(row.Ring, driver.Token([]byte(text[:tokenSize])))
		}
	case "_dead":
		row.Dead = true
	case "_expires":
		n, err := strconv.ParseInt(text, 10, 64)
		row.Expires = n
		return err == nil
	case "_note":
		row.Meta = text
	default:
		return false
	}
	return true
}

// readOthers reads the fields of a record that the view does not declare. Another program may, and one that was not
// declared when it was written may be now: then it has its place, unless it was written again since.
func (v *view) readOthers(ctx context.Context, h wire.Hash, row *driver.Row) error {
	var others wire.Hash
	sh := v.Shape(nil)
	for name, text := range h.All {
		_, declared := v.Ordinals[name]
		switch {
		case declared || slices.Contains(metaNames[:], name):
		case name == "":
			return v.badRow(row, name)
		case name[0] != '.':
			others = append(others, name, text)
		default:
			value, err := tagged.Parse(text)
			if err != nil {
				return v.badRow(row, name)
			}
			v.Undeclared(row, &sh, name[1:], value)
		}
	}
	for name, text := range others.All {
		k, err := v.other(ctx, name)
		if err != nil {
			return err
		}
		value, ok := parseScalar(text, k.Kind)
		if !ok {
			return v.badRow(row, name)
		}
		frame.SetExtra(row, name, value)
	}
	frame.SortExtra(row.Extra)
	return nil
}

// other returns what the catalog has of a field that the view does not declare. A program
// that declared it since the view was made is asked for once.
func (v *view) other(ctx context.Context, field string) (frame.Known, error) {
	k, found, err := v.Others.Find(field, v.Fields, func() (map[string]frame.Known, error) {
		have, err := v.store.conn.entries(ctx, "read a row of "+v.Name, v.Table.Table)
		if err != nil {
			return nil, err
		}
		return have[v.Name].Fields, nil
	})
	if err == nil && !found {
		err = who.Corrupt("a row of %s has a field %.50q that nobody declared: another program has keys under these names, or the key %s%s%s was removed, which the program that wrote the row makes anew when it starts", v.Name, driver.Private(field), v.store.conn.prefix, catalogName, v.Name)
	}
	return k, err
}

// readSome reads the answer to HMGET of a record, as askSome asked for it.
func (v *view) readSome(r *wire.Reply, mask []int, row *driver.Row) error {
	r.List()
	for _, name := range metaNames {
		text, there := r.Text()
		if there && !readMeta(row, name, text) {
			return v.badRow(row, name)
		}
	}
	for _, ordinal := range mask {
		var value driver.Value
		ok := true
		text, there := r.Text()
		if there {
			value, ok = parseScalar(text, v.Fields[ordinal].Kind)
		}
		if v.Late[ordinal] {
			if text, before := r.Text(); before && !there {
				var err error
				value, err = tagged.Parse(text)
				ok = err == nil
			}
		}
		if !ok {
			return v.badRow(row, v.Fields[ordinal].Name)
		}
		row.Fields = append(row.Fields, value)
	}
	if row.Rev.IsZero() {
		key := row.Key
		row.Reset()
		row.Key = key
	}
	if r.Bad {
		return v.badRow(row, "_rev")
	}
	return nil
}

// metaNames are the fields of the library, whose names no other field may have, in the order in which HMGET asks for
// them: those first that most records have.
var metaNames = [...]string{"_rev", "_ring", "_dead", "_expires", "_note"}

// askSome returns the command that reads a record with a mask.
func (v *view) askSome(key *string, mask []int) []any {
	words := make([]any, 0, 2+len(metaNames)+len(mask))
	words = append(words, "hmget", key)
	for i := range metaNames {
		words = append(words, &metaNames[i])
	}
	for _, ordinal := range mask {
		words = append(words, &v.Fields[ordinal].Name)
		if v.Late[ordinal] {
			words = append(words, &v.dotted[ordinal])
		}
	}
	return words
}

// cutMember returns the Sort with which a member of a set begins, and the rest.
func (v *view) cutMember(member string) (sort, rest string, err error) {
	sort, rest, ok := driver.CutParts(member, v.Sort)
	if alone := v.Class == driver.Records || v.KeyOnly; !ok || !alone && len(rest) < tokenSize || alone && rest != "" {
		return "", "", who.Corrupt("a set of %s has a member that this library cannot have written: %.50q; if the key is another program's, give one of them a prefix", v.Name, driver.Private(member))
	}
	return sort, rest, nil
}

// width returns how many fields a row has that is read with a mask.
func (v *view) width(mask []int) int {
	if mask != nil {
		return len(mask)
	}
	return len(v.Fields)
}

// readWhole reads a member of a set into row, of which the partition is set already.
func (v *view) readWhole(member string, mask []int, row *driver.Row) error {
	sort, rest, err := v.cutMember(member)
	if err != nil {
		return err
	}
	row.Key.Sort = sort
	return v.readMember(rest, mask, row)
}

// readMember reads what follows Sort in a member into row, of which the key is set
// already.
func (v *view) readMember(rest string, mask []int, row *driver.Row) error {
	if v.KeyOnly {
		row.Rev = someToken
		return nil
	}
	copy(row.Rev[:], rest)
	sh := frame.Shape{Width: v.width(mask)}
	sh.Begin(row)
	if rest = rest[tokenSize:]; rest == "" {
		return nil
	}
	err := tagged.Object(rest, func(name string, value driver.Value) { v.readPayload(name, value, mask, row) })
	if err != nil {
		return who.Corrupt("a row of %s in the set %s is followed by what is no tagged JSON", v.Name, driver.Private(v.key(&row.Key)))
	}
	return nil
}

// readPayload reads one field of a row of an index.
func (v *view) readPayload(name string, value driver.Value, mask []int, row *driver.Row) {
	i, declared := v.Ordinals[name]
	switch {
	case name == "_expires":
		row.Expires = value.Int()
	case name == "_note":
		row.Meta = value.Str()
	case declared && mask == nil:
		row.Fields[i] = value
	case declared:
		for at, ordinal := range mask {
			if ordinal == i {
				row.Fields[at] = value
			}
		}
	case mask == nil:
		row.Extra = append(row.Extra, driver.Pair{Name: name, Value: value})
	}
}
