package change

import (
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/record"
)

// A Stored is what the store has under a key.
type Stored struct {
	record.Record
	Row  bool // there is a row; it may be dead or expired
	Live bool // there is a record
	Rev  driver.Token
	Ring []driver.Token
	Hint uint64

	Meta   string
	Tokens [][]driver.Token // of the entries in each remote index, by index
}

// A Change turns one record into another: from nothing for an insert, into
// nothing for a delete.
type Change struct {
	Key     driver.Key
	KeyVals []driver.Value // what key is made of
	Known   bool           // old says what is there; else the record has no index rows at stake
	Old     Stored         // with known
	Whole   bool           // with known: old has every field
	Next    *record.Record // nil deletes
	Edits   []driver.Edit  // if set, the record is patched, not written whole
	Renew   bool           // of a patch: the expiry changes, too
	Cond    driver.Cond    // without known
	Rev     driver.Token   // for AtRev

	Claims []Claim // of the indexes that Unsettled returns: what is there where the change may put or remove one

	tokens [][]driver.Token // of the entries that next will have in each remote index
}

// Summed returns the edits of a change with what each Add comes to: of a record that is
// written only as it was read that says the same, and no store has to add.
func (ch *Change) Summed(key int) []driver.Edit {
	isAdd := func(e driver.Edit) bool { return e.Do == driver.Add }
	if ch.Next == nil || !slices.ContainsFunc(ch.Edits, isAdd) {
		return ch.Edits
	}
	list := slices.Clone(ch.Edits)
	for i := range list {
		e := &list[i]
		switch {
		case e.Do != driver.Add:
		case e.Field >= 0:
			e.Do, e.Value = driver.Set, ch.Next.Vals[key+e.Field]
		default:
			e.Do, e.Value = driver.Set, *ch.Next.ExtraValue(e.Name)
		}
	}
	return list
}
