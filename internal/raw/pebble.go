package raw

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	pebbledb "github.com/cockroachdb/pebble/v2"
)

// Pebble returns what reads a directory while nobody has it open. The key of a row is the number of its table, in one
// byte, and the text of its own key; the byte 0 begins the catalog.
func Pebble(dir string) *Source {
	read := func(_ context.Context, c *collection) (rows []Row, err error) {
		db, err := pebbledb.Open(dir, &pebbledb.Options{ReadOnly: true, Logger: silent{}})
		if err != nil {
			return nil, err
		}
		defer db.Close()
		it, err := db.NewIter(nil)
		if err != nil {
			return nil, err
		}
		defer it.Close()
		tables := map[byte]Row{} // an empty row of each
		for it.First(); it.Valid(); it.Next() {
			key, value := it.Key(), it.Value()
			if name, ok := strings.CutPrefix(string(key), "\x00t"); ok {
				if err := c.addNumber(tables, name, value); err != nil {
					return nil, err
				}
			} else if r, ok := tables[key[0]]; ok {
				const deadFlag = 8
				r.Body, r.Dead = string(value), value[0]&deadFlag != 0
				if _, err := c.cut(&r, string(key[1:])); err != nil {
					return nil, err
				}
				rows = append(rows, r)
			}
		}
		return rows, it.Error()
	}
	return &Source{read, func() {}}
}

// addNumber adds a table of the catalog by its number, if it is to be read.
func (c *collection) addNumber(tables map[byte]Row, name string, value []byte) error {
	r, ok := c.row(name, ".")
	if !ok {
		return nil
	}
	var entry struct {
		Number byte `json:"number"`
	}
	if err := json.Unmarshal(value, &entry); err != nil {
		return fmt.Errorf("the entry of %s: %w", name, err)
	}
	tables[entry.Number] = r
	return nil
}

// silent is a logger for Pebble that says nothing.
type silent struct{}

func (silent) Infof(string, ...any)            {}
func (silent) Errorf(string, ...any)           {}
func (silent) Fatalf(text string, args ...any) { panic(fmt.Sprintf(text, args...)) }
