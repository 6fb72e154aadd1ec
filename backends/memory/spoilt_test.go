package memory_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/repo/driver"
)

// A seen store remembers the tables that it was given.
type seen struct {
	*memory.Store
	mu     sync.Mutex
	tables map[string]*driver.Table
}

func (s *seen) Define(ctx context.Context, tables []*driver.Table) error {
	s.mu.Lock()
	for _, t := range tables {
		s.tables[t.Name] = t
	}
	s.mu.Unlock()
	return s.Store.Define(ctx, tables)
}

// Values of any kind where others are expected panic no reader, and no error tells what is private.
func TestSpoilt(t *testing.T) {
	t.Parallel()
	scope := driver.ScopePartition
	for what, opts := range map[string]*memory.Options{"table": nil, "native": nil, "apart": {Scope: &scope, Uncertain: true}} {
		t.Run(what, func(t *testing.T) {
			kind := what
			if opts != nil {
				kind = "table"
			}
			sp := backendtest.Spoilt{Kind: kind, Rounds: 4, Turns: 25, Spoil: spoil, Store: func(t *testing.T) driver.Store {
				s := &seen{Store: memory.New(opts), tables: map[string]*driver.Table{}}
				t.Cleanup(func() { s.Close() })
				return s
			}}
			sp.Check(t)
		})
	}
}

// spoil writes some fields of one row of any table anew, or what package repo notes beside them.
func spoil(t *testing.T, rng *rand.Rand, s driver.Store, name string) driver.Store {
	t.Helper()
	known := s.(*seen)
	names := []string{name, name, name + ".newest", name + ".topic", name + ".slug"}
	table := known.tables[names[rng.IntN(len(names))]]
	if table == nil || table.Native {
		return s
	}
	var rows []driver.Row
	for chunk, err := range s.Walk(t.Context(), table, "") {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, chunk.Rows...)
	}
	if len(rows) == 0 {
		return s
	}
	row := rows[rng.IntN(len(rows))]
	row.Rev = driver.Token{}
	for range 1 + rng.IntN(3) {
		if len(row.Fields) > 0 {
			row.Fields[rng.IntN(len(row.Fields))] = anyValue(rng, 3)
		}
	}
	if rng.IntN(3) == 0 {
		row.Meta = backendtest.Garbled(rng, row.Meta)
	}
	if table.Class == driver.Records && rng.IntN(3) == 0 {
		row.Extra = []driver.Pair{{Name: backendtest.Hush, Value: anyValue(rng, 3)}}
	}
	s.Commit(t.Context(), driver.NewToken(), []driver.Op{{Do: driver.Put, Table: table, Row: row}}) // or it is refused
	return s
}

func anyValue(rng *rand.Rand, depth int) driver.Value {
	text := driver.StringValue(backendtest.Garbled(rng, backendtest.Hush+"-text"))
	kinds := 7
	if depth > 0 {
		kinds = 9
	}
	switch rng.IntN(kinds) {
	case 0:
		return driver.Value{}
	case 1:
		return text
	case 2:
		return driver.IntValue(rng.Int64() - 1<<62)
	case 3:
		return driver.FloatValue(rng.NormFloat64())
	case 4:
		return driver.BoolValue(true)
	case 5:
		return driver.TimeValue(rng.Int64())
	case 6:
		return driver.BytesValue(text.Str())
	case 7:
		return driver.ListValue([]driver.Value{anyValue(rng, depth-1), anyValue(rng, depth-1)})
	default:
		return driver.MapValue([]driver.Value{text, anyValue(rng, depth-1)})
	}
}
