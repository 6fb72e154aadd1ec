package cassandra

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/repo/driver"
)

// The library's own columns, with their types.
var libraryColumns = [...][2]string{
	{"_rev", "blob"}, {"_ring", "blob"}, {"_dead", "boolean"}, {"_expires", "timestamp"},
	{"_note", "text"}, {"_extra", "text"}, {"_later", "boolean"},
}

// rareColumns is how many of them, the last, most rows do not have.
const rareColumns = 3

// isOwn reports whether a column is one of the library's.
func isOwn(name string) bool {
	return slices.ContainsFunc(libraryColumns[:], func(c [2]string) bool { return c[0] == name })
}

const (
	sortColumn    = "_sort"
	writtenColumn = "_written" // no column: what a walk of a plain table calls the time of a row
	writtenAt     = `WRITETIME("_rev") AS "` + writtenColumn + `"`
)

// longest is the length of names of tables that every version takes.
const longest = 48

// physicalName returns the name in Cassandra of the table for records of a name: with
// _X_ for a dot, and its end for a hash if it is too long. Names of tables have no
// capital letters.
func physicalName(name string) string {
	text := strings.ReplaceAll(name, ".", "_X_")
	if len(text) <= longest {
		return text
	}
	return text[:31] + hashed(name)
}

// hashed returns what stands for the end of a name.
func hashed(name string) string {
	hash := sha256.Sum256([]byte(name))
	return "H" + hex.EncodeToString(hash[:8])
}

// typeOf returns the type of a column for a kind.
func typeOf(k driver.Kind) string {
	switch k {
	case driver.Bool:
		return "boolean"
	case driver.Int:
		return "bigint"
	case driver.Float:
		return "double"
	case driver.Bytes:
		return "blob"
	case driver.Time:
		return "timestamp"
	}
	return "text"
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// quotedNames returns the names of columns as statements have them.
func quotedNames(cols []driver.Column) []string {
	list := make([]string, len(cols))
	for i, c := range cols {
		list[i] = quoted(c.Name)
	}
	return list
}

// A physical is a table as the server has it.
type physical struct {
	made    bool
	parts   []string          // name and type of the partition columns
	order   []string          // name, type and order of the clustering columns
	regular map[string]string // types by name
	static  string            // one static column
	ttl     int               // seconds after which cells end that say nothing else
	grace   int               // seconds for which tombstones are kept
}

const (
	columnsOf = `SELECT column_name, kind, type, position, clustering_order FROM system_schema.columns WHERE keyspace_name = ? AND table_name = ?`
	optionsOf = `SELECT default_time_to_live, gc_grace_seconds FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?`
)

// physical reads what the server has of the table of a name.
func (c *conn) physical(ctx context.Context, doing, name string) (*physical, error) {
	p := &physical{regular: map[string]string{}}
	at := map[int]string{}
	var column, kind, typ, order string
	var position int
	err := c.each(ctx, doing, c.query(gocql.One, columnsOf, c.keyspace, name).PageSize(1000), func() {
		p.made = true
		switch kind {
		case "partition_key":
			at[position] = column + " " + typ
		case "clustering":
			p.order = append(p.order, column+" "+typ+" "+order)
		case "static":
			p.static = column
		default:
			p.regular[column] = typ
		}
	}, &column, &kind, &typ, &position, &order)
	for i := range len(at) {
		p.parts = append(p.parts, at[i])
	}
	if err != nil || !p.made {
		return p, err
	}
	return p, c.each(ctx, doing, c.query(gocql.One, optionsOf, c.keyspace, name).PageState(nil), func() {}, &p.ttl, &p.grace)
}

// odd says what makes a table one that this package has not made for t.
func (p *physical) odd(t *driver.Table) string {
	var parts []string
	for _, c := range t.Partition {
		parts = append(parts, c.Name+" "+typeOf(c.Kind))
	}
	switch {
	case !slices.Equal(p.parts, parts):
		return fmt.Sprintf("has the partition columns %q and not %q", p.parts, parts)
	case !slices.Equal(p.order, []string{sortColumn + " text asc"}):
		return fmt.Sprintf("has the clustering columns %q and not %q", p.order, sortColumn+" text asc")
	case p.static != "":
		return "has the static column " + p.static
	case p.ttl != 0:
		return fmt.Sprintf("has a default_time_to_live of %d seconds, after which records would end", p.ttl)
	}
	for _, c := range libraryColumns {
		if have := p.regular[c[0]]; have != c[1] {
			return fmt.Sprintf("has no column %s of type %s", c[0], c[1])
		}
	}
	for _, f := range t.Fields {
		if have, ok := p.regular[prefixOf(t)+f.Name]; ok && have != typeOf(f.Kind) {
			return fmt.Sprintf("has the column %s of type %s, and not %s", f.Name, have, typeOf(f.Kind))
		}
	}
	return ""
}

// missing returns the fields of t that the table has no column for.
func (p *physical) missing(t *driver.Table) []driver.Column {
	var list []driver.Column
	for _, f := range t.Fields {
		if _, ok := p.regular[prefixOf(t)+f.Name]; !ok {
			list = append(list, f)
		}
	}
	return list
}

// makeTable returns the statement that makes the table of records, with columns for the
// fields of all tables whose rows lie in it.
func makeTable(home *driver.Table, fields []driver.Column) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s (\n  ", quoted(physicalName(home.Name)))
	for _, c := range home.Partition {
		fmt.Fprintf(&b, "%s %s, ", quoted(c.Name), typeOf(c.Kind))
	}
	b.WriteString(quoted(sortColumn) + " text,\n  ")
	for _, f := range fields {
		fmt.Fprintf(&b, "%s %s, ", quoted(f.Name), typeOf(f.Kind))
	}
	b.WriteString("\n  ")
	for _, c := range libraryColumns {
		fmt.Fprintf(&b, "%s %s, ", quoted(c[0]), c[1])
	}
	fmt.Fprintf(&b, "\n  PRIMARY KEY ((%s), %s))", strings.Join(quotedNames(home.Partition), ", "), quoted(sortColumn))
	return b.String()
}
