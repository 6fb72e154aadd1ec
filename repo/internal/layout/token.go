package layout

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

const (
	tokenColumn = "_token"
	baseColumn  = "_base"
)

// TokenKey returns the key of the remote row of an entry with a token.
func (x *Index) TokenKey(entry driver.Key, token driver.Token) driver.Key {
	if x.Unique {
		return entry
	}
	text, err := driver.AppendParts(nil, x.Table.Sort[len(x.Table.Sort)-1:], []driver.Value{driver.BytesValue(string(token[:]))})
	if err != nil {
		return entry // a token has no bytes that a key cannot have
	}
	return driver.Key{Partition: entry.Partition, Sort: entry.Sort + string(text)}
}

// CutToken returns a remote row's key without the token, and the token; that of a
// claim is its Rev.
func (x *Index) CutToken(row *driver.Row) (entry driver.Key, token driver.Token, err error) {
	if x.Unique {
		return row.Key, row.Rev, nil
	}
	columns := x.Table.Sort
	_, rest, ok := driver.CutParts(row.Key.Sort, columns[:len(columns)-1])
	if ok {
		var vals []driver.Value
		if vals, _, err = driver.ParseParts(nil, rest, columns[len(columns)-1:]); err == nil && len(vals) == 1 && len(vals[0].Str()) == len(token) {
			copy(token[:], vals[0].Str())
			return driver.Key{Partition: row.Key.Partition, Sort: row.Key.Sort[:len(row.Key.Sort)-len(rest)]}, token, nil
		}
	}
	return driver.Key{}, token, fmt.Errorf("a row of index %s has no token: %w", x.ID, driver.ErrCorrupt)
}

// BaseOf returns the Rev that the commit needs which a remote row was put for.
func (x *Index) BaseOf(row *driver.Row) (driver.Token, error) {
	at := len(x.Table.Fields) - 1
	if at >= len(row.Fields) {
		return driver.Token{}, nil
	}
	base, err := driver.ParseToken(row.Fields[at].Str())
	if err != nil {
		err = fmt.Errorf("a row of index %s names no version of its record: %w", x.ID, driver.ErrCorrupt)
	}
	return base, err
}

// DropOf returns the op that drops a remote row or claim with a token, and no other.
func (x *Index) DropOf(key driver.Key, token driver.Token) driver.Op {
	op := driver.Op{Do: driver.Delete, Table: x.Table, Row: driver.Row{Key: key}}
	if x.Unique {
		op.If, op.Rev = driver.AtRev, token
	}
	return op
}

// MetaOf returns the Meta of a record with the tokens of its entries, by index.
func (c *Layout) MetaOf(tokens [][]driver.Token) string {
	var b strings.Builder
	for i, list := range tokens {
		if len(list) == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(';')
		}
		b.WriteString(c.Indexes[i].StoredAs())
		sep := byte('=')
		for j := range list {
			b.WriteByte(sep)
			if j > 0 && list[j] == list[j-1] {
				b.WriteByte('"') // the same once more
			} else {
				b.WriteString(base64.RawURLEncoding.EncodeToString(list[j][:]))
			}
			sep = ','
		}
	}
	return b.String()
}

// TokensIn returns the tokens of the entries that a record has, by index.
func (c *Layout) TokensIn(note string) ([][]driver.Token, error) {
	tokens := make([][]driver.Token, len(c.Indexes))
	for note != "" {
		var part string
		part, note, _ = strings.Cut(note, ";")
		name, list, _ := strings.Cut(part, "=")
		at := slices.IndexFunc(c.Indexes, func(x *Index) bool { return x.StoredAs() == name })
		if at < 0 {
			continue // of an index that was dropped
		}
		for text := range strings.SplitSeq(list, ",") {
			var t driver.Token
			if n := len(tokens[at]); text == `"` && n > 0 {
				t = tokens[at][n-1]
			} else if got, err := base64.RawURLEncoding.AppendDecode(nil, []byte(text)); err == nil && len(got) == len(t) {
				copy(t[:], got)
			} else {
				return nil, fmt.Errorf("the tokens of index %s in a record cannot be read: %w", name, driver.ErrCorrupt)
			}
			tokens[at] = append(tokens[at], t)
		}
	}
	return tokens, nil
}

// RemoteKeys returns the keys of the rows that a record has in a remote index by its
// entries, and their tokens. A record that was written without the index has none.
func (c *Layout) RemoteKeys(x *Index, row *driver.Row, entries []driver.Key) ([]driver.Key, []driver.Token, error) {
	tokens, err := c.TokensIn(row.Meta)
	if err != nil {
		return nil, nil, err
	}
	held := tokens[slices.Index(c.Indexes, x)]
	entries = entries[:min(len(entries), len(held))]
	keys := make([]driver.Key, len(entries))
	for i, e := range entries {
		keys[i] = x.TokenKey(e, held[i])
	}
	return keys, held, nil
}
