package pebble

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	pebbledb "github.com/cockroachdb/pebble/v2"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// An entry describes a table in the catalog.
type entry struct {
	Number    int            `json:"number"`
	Partition []frame.Column `json:"partition"`
	Sort      []frame.Column `json:"sort,omitempty"`
	Fields    []frame.Column `json:"fields,omitempty"` // the first has number 1
}

const (
	catalogTables = "\x00t" // and the name: an entry
	catalogLast   = "\x00n" // the greatest number that was given to a table
	catalogEnd    = "\x01"

	lastTable = 1<<14 - 1
)

// tablePrefix returns what the keys of the table with a number begin with.
func tablePrefix(number int) []byte {
	if number < 0x80 {
		return []byte{byte(number)}
	}
	return []byte{0x80 | byte(number>>8), byte(number)}
}

// successor makes key, in place, the least text that is greater than every text
// that begins with key. No key here consists of 0xff alone.
func successor(key []byte) []byte {
	for key[len(key)-1] == 0xff {
		key = key[:len(key)-1]
	}
	key[len(key)-1]++
	return key
}

// entry returns the description of t in the catalog, or one with the number 0.
func (s *store) entry(t *driver.Table) *entry {
	have := s.tables[t.Name]
	if have == nil {
		return &entry{Partition: frame.Columns(t.Partition), Sort: frame.Columns(t.Sort)}
	}
	return &entry{
		Number:    have.number,
		Partition: frame.Columns(have.partition),
		Sort:      frame.Columns(have.sort),
		Fields:    frame.Columns(*have.fields.Load()),
	}
}

// extend adds the fields of t that e has not, or says why t does not fit.
func (e *entry) extend(t *driver.Table) (grown bool, err error) {
	if !slices.Equal(e.Partition, frame.Columns(t.Partition)) || !slices.Equal(e.Sort, frame.Columns(t.Sort)) {
		return false, who.Wrap(frame.OtherKey(t))
	}
	for _, f := range t.Fields {
		i := slices.IndexFunc(e.Fields, func(c frame.Column) bool { return c.Name == f.Name })
		switch {
		case i < 0:
			e.Fields = append(e.Fields, frame.Column{Name: f.Name, Kind: f.Kind.String()})
			grown = true
		case e.Fields[i].Kind != f.Kind.String():
			return false, who.Wrap(frame.OtherKind(t, f, e.Fields[i].Kind))
		}
	}
	return grown, nil
}

func (e *entry) table(name string) (*table, error) {
	partition, err1 := frame.ParseColumns(e.Partition)
	sort, err2 := frame.ParseColumns(e.Sort)
	fields, err3 := frame.ParseColumns(e.Fields)
	if err := cmp.Or(err1, err2, err3); err != nil {
		return nil, fmt.Errorf("table %s: %w", name, err)
	}
	t := &table{name: name, number: e.Number, partition: partition, sort: sort}
	t.prefix, t.end = tablePrefix(e.Number), successor(tablePrefix(e.Number))
	t.fields.Store(&fields)
	return t, nil
}

// loadCatalog reads all entries.
func (s *store) loadCatalog() error {
	it, err := s.db.NewIter(&pebbledb.IterOptions{LowerBound: []byte{0}, UpperBound: []byte(catalogEnd)})
	if err != nil {
		return s.failed("read the catalog", err)
	}
	defer it.Close()
	for it.First(); it.Valid(); it.Next() {
		if err := s.loadEntry(string(it.Key()), it.Value()); err != nil {
			return fmt.Errorf("pebble: directory %s: catalog: %w", s.dir, err)
		}
	}
	return s.failed("read the catalog", it.Error())
}

func (s *store) loadEntry(key string, value []byte) error {
	name, ok := cutTable(key)
	if !ok {
		if err := json.Unmarshal(value, &s.lastNumber); err != nil || key != catalogLast {
			return fmt.Errorf("unknown entry %q: %w", key, driver.ErrCorrupt)
		}
		return nil
	}
	var e entry
	if err := json.Unmarshal(value, &e); err != nil {
		return fmt.Errorf("table %s: %w: %w", name, driver.ErrCorrupt, err)
	}
	if e.Number <= 0 || e.Number > lastTable {
		return fmt.Errorf("table %s has number %d: %w", name, e.Number, driver.ErrCorrupt)
	}
	t, err := e.table(name)
	if err != nil {
		return err
	}
	s.tables[name] = t
	return nil
}

func cutTable(key string) (string, bool) {
	if len(key) <= len(catalogTables) || key[:len(catalogTables)] != catalogTables {
		return "", false
	}
	return key[len(catalogTables):], true
}

// saveCatalog stores changed entries, durably whatever the class, and then lets
// the tables have them.
func (s *store) saveCatalog(ctx context.Context, changed map[string]*entry) error {
	if len(changed) == 0 {
		return nil
	}
	last := s.lastNumber
	b := s.db.NewBatch()
	for name, e := range changed {
		if e.Number == 0 {
			last++
			e.Number = last
		}
		value, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("pebble: define %s: %w: %w", name, driver.ErrInternal, err)
		}
		b.Set([]byte(catalogTables+name), value, nil)
	}
	if last > lastTable {
		return fmt.Errorf("pebble: define: directory %s has given away its %d numbers of tables; copy what it holds to a new one: %w",
			s.dir, lastTable, driver.ErrTooLarge)
	}
	b.Set([]byte(catalogLast), fmt.Append(nil, last), nil)
	s.lastNumber = last // also if writing fails: numbers may be lost, never used twice
	if err := s.writeSchema(ctx, "define", b); err != nil {
		return err
	}
	for name, e := range changed {
		t, err := e.table(name)
		if err != nil {
			return fmt.Errorf("pebble: define: %w", err)
		}
		if have := s.tables[name]; have != nil {
			have.fields.Store(t.fields.Load())
			continue
		}
		s.tables[name] = t
	}
	return nil
}

// eraseTables removes the entries of tables and all their rows.
func (s *store) eraseTables(ctx context.Context, tables []*driver.Table) error {
	b := s.db.NewBatch()
	for _, t := range tables {
		if have := s.tables[t.Name]; have != nil {
			b.Delete([]byte(catalogTables+t.Name), nil)
			b.DeleteRange(have.prefix, have.end, nil)
		}
	}
	if b.Empty() {
		return b.Close()
	}
	return s.writeSchema(ctx, "drop", b)
}

// writeSchema writes b durably, whatever the class of commits.
func (s *store) writeSchema(ctx context.Context, verb string, b *pebbledb.Batch) error {
	if err := cmp.Or(s.writable(ctx), s.room(b.Len())); err != nil {
		b.Close()
		return err
	}
	if err := s.submit(b, true); err != nil {
		return err
	}
	return s.settle(ctx, verb, b, true)
}
