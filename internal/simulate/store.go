package simulate

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo/driver"
)

// A store is what all clients share: it does their calls, and knows the tables and the keys of the records.
type store struct {
	story  *story
	mem    *memory.Store
	tables map[string]*driver.Table
	keys   []driver.Key // of the records, by number

	mu      sync.Mutex
	commits int // that were done
}

// know keeps the tables that the keeper opened first.
func (s *store) know(tables []*driver.Table) {
	for _, t := range tables {
		if s.tables[t.Name] == nil {
			s.tables[t.Name] = t
		}
	}
}

// nameKeys finds the keys of the records.
func (s *store) nameKeys() error {
	t := s.tables[collection]
	for _, id := range Keys {
		vals := map[string]driver.Value{"home": driver.StringValue(home), "id": driver.StringValue(id)}
		part, err := driver.AppendParts(nil, t.Partition, pick(t.Partition, vals))
		if err != nil {
			return err
		}
		sort, err := driver.AppendParts(nil, t.Sort, pick(t.Sort, vals))
		if err != nil {
			return err
		}
		s.keys = append(s.keys, driver.Key{Partition: string(part), Sort: string(sort)})
	}
	return nil
}

func pick(cols []driver.Column, vals map[string]driver.Value) []driver.Value {
	var out []driver.Value
	for _, c := range cols {
		out = append(out, vals[c.Name])
	}
	return out
}

// do does a call; changed says that it is a commit, and that it was not refused.
func (s *store) do(k *call) (changed bool, err error) {
	ctx := context.Background()
	if k.verb != "commit" {
		err := k.exec(ctx)
		if err != nil {
			s.story.fail("", "the store cannot do %s: %v", s.story.words(k), err)
		}
		return false, err
	}
	refusal, err := s.mem.Commit(ctx, k.token, k.ops)
	if err != nil {
		s.story.fail("", "the store cannot do %s: %v", s.story.words(k), err)
		return false, fmt.Errorf("simulate: %w: %w", driver.ErrInternal, err)
	}
	k.refusal = refusal
	if refusal != nil {
		return false, nil
	}
	s.mu.Lock()
	s.commits++
	s.mu.Unlock()
	return true, nil
}

// done returns how many commits were done.
func (s *store) done() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commits
}

// rows reads what a table has under the keys of the records.
func (s *store) rows(table string) ([]driver.Row, error) {
	rows := make([]driver.Row, len(s.keys))
	err := s.mem.Get(context.Background(), s.tables[table], s.keys, nil, rows)
	return rows, err
}

// factOf reads a row of the records.
func (s *store) factOf(id string, row *driver.Row) *fact {
	f := &fact{row: !row.Rev.IsZero(), dead: row.Dead, rev: row.Rev, ring: slices.Clone(row.Ring)}
	f.id, f.expires = id, row.Expires
	for i, col := range s.tables[collection].Fields {
		if i >= len(row.Fields) {
			break
		}
		switch v := row.Fields[i]; col.Name {
		case "kind":
			f.kind = v.Str()
		case "mail":
			f.mail = v.Str()
		case "n":
			f.n = v.Int()
		}
	}
	if len(f.ring) > 0 {
		f.version = f.ring[0]
	}
	return f
}
