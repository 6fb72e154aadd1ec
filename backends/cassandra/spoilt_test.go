package cassandra_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/repo/driver"
)

// Whatever another program does to the rows of a store panics no reader, and no error tells
// what is private.
func TestSpoilt(t *testing.T) {
	t.Parallel()
	name, url, session := ownKeyspace(t)
	s, _ := open(t, url)
	sp := backendtest.Spoilt{Kind: "table", Rounds: 1, Turns: 6, Store: func(*testing.T) driver.Store { return s },
		Spoil: func(t *testing.T, rng *rand.Rand, s driver.Store, collection string) driver.Store {
			for range 1 + rng.IntN(2) {
				spoil(t, rng, session, name, collection)
			}
			return s
		}}
	sp.Check(t)
}

// A spoiled column is one that a row has, and the types and the key of its table.
type spoilable struct {
	table string
	types map[string]string // of what is no part of the key
	key   []string
	row   map[string]any
}

func spoilables(t *testing.T, session *gocql.Session, keyspace, collection string) (list []spoilable) {
	t.Helper()
	tables := map[string]*spoilable{}
	iter := session.Query(`SELECT table_name, column_name, kind, type FROM system_schema.columns WHERE keyspace_name = ?`, keyspace).Iter()
	var table, column, kind, form string
	for iter.Scan(&table, &column, &kind, &form) {
		if tables[table] == nil {
			tables[table] = &spoilable{table: table, types: map[string]string{}}
		}
		if kind == "regular" {
			tables[table].types[column] = form
		} else {
			tables[table].key = append(tables[table].key, column)
		}
	}
	if err := iter.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		rows, err := session.Query(fmt.Sprintf(`SELECT * FROM %q`, name)).Iter().SliceMap()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if strings.Contains(fmt.Sprint(name, row), collection) {
				list = append(list, spoilable{name, tables[name].types, tables[name].key, row})
			}
		}
	}
	return list
}

func spoil(t *testing.T, rng *rand.Rand, session *gocql.Session, keyspace, collection string) {
	t.Helper()
	list := spoilables(t, session, keyspace, collection)
	p := list[rng.IntN(len(list))]
	columns := slices.Sorted(maps.Keys(p.types))
	column := columns[rng.IntN(len(columns))]
	var where []string
	var args []any
	for _, name := range p.key {
		where, args = append(where, fmt.Sprintf("%q = ?", name)), append(args, p.row[name])
	}
	set := fmt.Sprintf("%q = %s", column, oddLiteral(rng, p.types[column], p.row[column]))
	do(t, session, fmt.Sprintf(`UPDATE %q SET %s WHERE %s`, p.table, set, strings.Join(where, " AND ")), args...)
}

// oddLiteral returns a value of a type as another program might write it.
func oddLiteral(rng *rand.Rand, form string, old any) string {
	text := strings.ToValidUTF8(backendtest.Garbled(rng, fmt.Sprint(old)), "?")
	switch {
	case form == "text":
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	case form == "blob":
		return fmt.Sprintf("0x%x", text)
	case strings.Contains(form, "<") || rng.IntN(2) == 0:
		return "null"
	case form == "double":
		return "NaN"
	}
	return "blobas" + form + "(0x)"
}
