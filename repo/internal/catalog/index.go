package catalog

import (
	"fmt"
	"reflect"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/layout"
)

// The states of an index in the catalog. What programs do in each, and why so, says internal/evolution.
const (
	IndexDeclared = "declared" // rows of what is written over are removed, and none are added
	IndexWritten  = "written"  // its rows are kept in step, and those of older records are being added
	IndexReady    = "ready"
	IndexLeaving  = "leaving"  // its rows are kept in step, and answer nothing any more
	IndexGone     = "gone"     // programs do nothing with it, and its table is being removed
	IndexBuilding = "building" // of one that the store keeps: the store is making it
)

// An IndexEntry is an index in an entry: its schema, and how far it is built.
type IndexEntry struct {
	layout.IndexSchema
	State   string `json:"state"`
	At      int64  `json:"at,omitempty"` // Unix milliseconds: when it came to its state, unless it is ready
	Mode    string `json:"mode"`
	Derived bool   `json:"derived,omitempty"` // the program that declares it derives fields
	Turn    int    `json:"turn,omitempty"`    // see layout.Stored
	By      string `json:"by,omitempty"`      // of one that is being filled: who is at it
	Mark    string `json:"mark,omitempty"`    // and how far that is
	Filled  int    `json:"filled,omitempty"`  // and how many records were read
	Since   int64  `json:"since,omitempty"`   // Unix milliseconds before the first of which: see layout.Stored
}

// The modes of an index in the catalog. One that was written in one mode is never
// written in the other.
const (
	modeCommit = "commit" // with the record
	modeKeys   = "keys"   // with the record, and a row is its key alone: Table.KeyOnly
	modeRemote = "loose"  // before and after it
	modeNative = "native" // never: the store keeps it
)

// NewIndexEntry returns the entry of an index that is in a state.
func NewIndexEntry(x *layout.Index, state string) IndexEntry {
	def := x.IndexSchema
	def.Name = x.ID
	mode := modeCommit
	switch {
	case x.Remote:
		mode = modeRemote
	case x.Native:
		mode = modeNative
	case x.Table.KeyOnly:
		mode = modeKeys
	}
	e := IndexEntry{IndexSchema: def, Mode: mode, Derived: x.Derived, Turn: x.Turn}
	e.To(state)
	return e
}

// To brings the index to a state.
func (x *IndexEntry) To(state string) {
	x.State, x.At = state, time.Now().UnixMilli()
	if state == IndexReady {
		x.At = 0
	}
}

// Text says which state the index is in, and since when.
func (x *IndexEntry) Text() string { return layout.StateText(x.State, x.At) }

// TableIn returns the table of an index, for Drop.
func (x *IndexEntry) TableIn(collection string) *driver.Table {
	t := &driver.Table{Name: collection + "." + layout.StoredAs(x.Name, x.Turn), Class: driver.Rows}
	if x.Mode == modeNative {
		t.Native, t.Home = true, &driver.Table{Name: collection}
	}
	return t
}

// otherKind returns the error for an index that is declared of another kind than it has.
// Another program that has it open would go on reading the index that it knows.
func (x *IndexEntry) otherKind(of *layout.Index) error {
	has, declared := "table", "native"
	if !of.Native {
		has, declared = declared, has
	}
	return fmt.Errorf("index %s is of kind %s in the store and of kind %s in the schema, and a program that has it open would miss records; give the new index another name, or remove this one with repo.DropIndex when no program has the collection open: %w",
		x.Name, has, declared, driver.ErrSchema)
}

// otherwise returns the error for an index that is declared otherwise than it is.
func (x *IndexEntry) otherwise() error {
	return fmt.Errorf("index %s is declared otherwise than it is in the store, where it is %s; give the new index another name, and remove this one with repo.DropIndex when no program asks it any more: %w",
		x.Name, x.IndexSchema, driver.ErrSchema)
}

// is reports whether the index of the entry is the one that is declared. Rows
// that cover nothing may have an expiry or not, as the first program wants it.
func (x *IndexEntry) is(of *layout.Index) bool {
	now := NewIndexEntry(of, IndexReady)
	if of.HasKeysOnly() && (x.Mode == modeCommit || x.Mode == modeKeys) {
		now.Mode = x.Mode
	}
	return x.Mode == now.Mode && reflect.DeepEqual(plainIndex(x.IndexSchema), plainIndex(now.IndexSchema))
}

// plainIndex returns x with nil for empty lists, for comparison.
func plainIndex(x layout.IndexSchema) layout.IndexSchema {
	for _, list := range []*[]string{&x.Partition, &x.Sort, &x.Covers} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	x.Kind = "" // that is the mode's
	return x
}
