package repo

import (
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// A stored is what the store has under a key.
type stored struct {
	record
	row  bool // there is a row; it may be dead or expired
	live bool // there is a record
	rev  driver.Token
	ring []driver.Token
	hint uint64

	note   string
	tokens [][]driver.Token // of the entries in each loose index, by index
}

// A change turns one record into another: from nothing for an insert, into
// nothing for a delete.
type change struct {
	key     driver.Key
	keyVals []driver.Value // what key is made of
	known   bool           // old says what is there; else the record has no index rows at stake
	old     stored         // with known
	whole   bool           // with known: old has every field
	next    *record        // nil deletes
	edits   []driver.Edit  // if set, the record is patched, not written whole
	renew   bool           // of a patch: the expiry changes, too
	cond    driver.Cond    // without known
	rev     driver.Token   // for AtRev

	tokens [][]driver.Token // of the entries that next will have in each loose index
}

// summed returns the edits of a change with what each Add comes to: of a record that is
// written only as it was read that says the same, and no store has to add.
func (ch *change) summed(key int) []driver.Edit {
	isAdd := func(e driver.Edit) bool { return e.Do == driver.Add }
	if ch.next == nil || !slices.ContainsFunc(ch.edits, isAdd) {
		return ch.edits
	}
	list := slices.Clone(ch.edits)
	for i := range list {
		e := &list[i]
		switch {
		case e.Do != driver.Add:
		case e.Field >= 0:
			e.Do, e.Value = driver.Set, ch.next.vals[key+e.Field]
		default:
			e.Do, e.Value = driver.Set, *ch.next.extraValue(e.Name)
		}
	}
	return list
}
