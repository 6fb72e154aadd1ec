// Package raw reads the rows of a collection with the store's own driver, without any code of this module. So a test
// compares what lies in a store with what package repo says of it. What it goes by is docs/reference/layouts.md.
package raw

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// A Table is a table of a collection.
type Table struct {
	// Ends has the last byte of the text of each part of a key, in order: '#', or '~' of a part that descends.
	Ends string

	// Remote says that the rows are those of an index, and no claims, in other partitions than their records. Where a
	// commit changes one partition only, their keys end with a token.
	Remote bool
}

// Tables are the tables of a collection by the names of their indexes. That of the records has the name "".
type Tables map[string]Table

// A Row is a row as a store's own driver shows it.
type Row struct {
	Table  string            // name of the index, "" of the records
	Turn   string            // of an index that came again after it was dropped, else ""
	Parts  []string          // of the key, each without its end
	Token  string            // of a remote row or claim, in hex
	Fields map[string]string // as text; none on Pebble
	Body   string            // all of it, in whatever form
	Dead   bool
	Goes   bool // by itself
}

// A Reader reads the rows of the tables of a collection, also of those that an index had before it was dropped.
type Reader func(ctx context.Context) ([]Row, error)

// A Source reads from one store.
type Source struct {
	read  func(ctx context.Context, c *collection) ([]Row, error)
	close func()
}

// Reader returns a reader of a collection. Rows of tables that are not given are left out.
func (s *Source) Reader(name string, tables Tables) Reader {
	return func(ctx context.Context) ([]Row, error) { return s.read(ctx, &collection{name, tables}) }
}

// Close ends the connection to the store.
func (s *Source) Close() { s.close() }

// A collection is what is read.
type collection struct {
	name   string
	tables Tables
}

// row returns an empty row of the table that a store has under a name, if it is one of those to be read. Dot is what the
// store has for a dot.
func (c *collection) row(stored, dot string) (r Row, ok bool) {
	if stored != c.name {
		if stored, ok = strings.CutPrefix(stored, c.name+dot); !ok {
			return r, false
		}
		r.Table, r.Turn, _ = strings.Cut(stored, dot)
	}
	_, ok = c.tables[r.Table]
	return r, ok
}

// cut takes the parts of the row's key from the front of a text, and returns the rest.
func (c *collection) cut(r *Row, text string) (rest string, err error) {
	rest = text
	for _, end := range []byte(c.tables[r.Table].Ends)[len(r.Parts):] {
		part, after, ok := strings.Cut(rest, string(end))
		if !ok {
			return "", fmt.Errorf("a row of %q has the key %q, which lacks a part that ends with %q", r.Table, text, end)
		}
		r.Parts, rest = append(r.Parts, part), after
	}
	return rest, nil
}

// cutToken takes the token of a row from the rest of its key.
func (r *Row) cutToken(rest string) (after string, err error) {
	token, after, ok := strings.Cut(rest, "#")
	if r.Token = token; !ok || len(token) != 2*tokenSize {
		err = fmt.Errorf("a row of %q has the key %q, and no token after it: %q", r.Table, r.Parts, rest)
	}
	return after, err
}

// tokenSize is the number of bytes of a token.
const tokenSize = 16

// Has reports whether a record names a remote row or claim by its token. The index is none of the elements of lists.
func (r *Row) Has(row *Row) bool {
	token, err := hex.DecodeString(row.Token)
	name := row.Table
	if row.Turn != "" {
		name += "." + row.Turn
	}
	want := name + "=" + base64.RawURLEncoding.EncodeToString(token)
	for part := range strings.SplitSeq(r.Fields["_note"], ";") {
		if part == want {
			return err == nil
		}
	}
	return false
}
