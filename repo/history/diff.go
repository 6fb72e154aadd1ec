package history

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo"
)

// A Difference is a value that two revisions do not have in common. The values are as in a record that is a map: bool,
// int64, float64, string, []byte, time.Time, []any and map[string]any.
type Difference struct {
	Path   []string // the field and, within nested structs and maps, the names below it
	Before any      // nil if it was absent
	After  any      // nil if it is absent
}

// String returns d for people, as address.city: Rome -> Oslo.
func (d Difference) String() string {
	shown := func(x any) any {
		if x == nil {
			return "(none)"
		}
		return x
	}
	return fmt.Sprintf("%s: %v -> %v", strings.Join(d.Path, "."), shown(d.Before), shown(d.After))
}

// Diff returns what changed in a record from one revision to another, in the order of the fields' names. Structs and
// maps are compared field by field, lists as a whole. A deleted record has no fields. The expiry of the record comes as
// the field "_expires". A revision that is not there is ErrNotFound.
func (h *History[T]) Diff(ctx context.Context, key repo.Key, from, to int64) ([]Difference, error) {
	list, err := h.diff(ctx, key, from, to)
	return list, h.failed("diff", err)
}

func (h *History[T]) diff(ctx context.Context, key repo.Key, from, to int64) ([]Difference, error) {
	if err := h.checkKey(key); err != nil {
		return nil, err
	}
	rows, found, err := h.rows.GetMany(ctx, []repo.Key{rowKey(key, from), rowKey(key, to)})
	if err != nil {
		return nil, err
	}
	for i, number := range []int64{from, to} {
		if !found[i] || number < 1 {
			return nil, fmt.Errorf("there is no revision %d: %w", number, repo.ErrNotFound)
		}
		rows[i] = h.fieldsOf(rows[i])
	}
	return differences(nil, nil, rows[0], rows[1]), nil
}

// fieldsOf returns the fields of the record in a row.
func (h *History[T]) fieldsOf(row map[string]any) map[string]any {
	for _, name := range h.key {
		delete(row, name)
	}
	until := row[untilField]
	for name := range markKinds {
		delete(row, name)
	}
	delete(row, mapVersion)
	if delete(row, mapExpires); until != nil {
		row[mapExpires] = until
	}
	return row
}

// differences appends what two maps do not have in common.
func differences(list []Difference, path []string, before, after map[string]any) []Difference {
	names := maps.Clone(before)
	if names == nil {
		names = map[string]any{}
	}
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a, b := before[name], after[name]
		at := append(path[:len(path):len(path)], name)
		from, isMap := a.(map[string]any)
		to, both := b.(map[string]any)
		switch {
		case isMap && both:
			list = differences(list, at, from, to)
		case !reflect.DeepEqual(a, b):
			list = append(list, Difference{at, a, b})
		}
	}
	return list
}
