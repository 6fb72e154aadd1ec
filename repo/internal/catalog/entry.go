package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/store"
)

// layoutNumber is the number of the way in which this package keeps records and rows.
// A store with another number is refused.
const layoutNumber = 1

// A Entry is what the store remembers of a collection.
type Entry struct {
	Layout     int                `json:"layout"`
	Epoch      string             `json:"epoch"`          // another one after every change of Indexes
	Made       string             `json:"made,omitempty"` // the first epoch: which of the collections that had this name
	Collection string             `json:"collection"`
	With       string             `json:"with,omitempty"`   // the collection with which the records lie
	Making     bool               `json:"making,omitempty"` // its tables may be missing, and nobody has written to them
	Partition  []catalogColumn    `json:"partition"`
	Sort       []catalogColumn    `json:"sort,omitempty"`
	Fields     map[string]string  `json:"fields"`             // kinds of all fields ever declared
	Elements   map[string]string  `json:"elements,omitempty"` // kinds of the elements of lists
	Parts      map[string]string  `json:"parts,omitempty"`    // kinds of the parts of fields that indexes have
	Dropping   bool               `json:"dropping,omitempty"` // its records go, or are gone
	Optional   []string           `json:"optional,omitempty"` // fields that a record may lack: declared after the first ones, or so that they may be absent
	Lacking    []string           `json:"lacking,omitempty"`  // fields of which programs are being told that records will lack them
	Expiring   bool               `json:"expiring,omitempty"` // programs are being told that records will expire
	Expires    bool               `json:"expires,omitempty"`  // some program lets records expire, and all have been told
	Indexes    []IndexEntry       `json:"indexes,omitempty"`
	Turns      map[string]int     `json:"turns,omitempty"`   // how many indexes of a name there were, of names that there were
	Refused    map[string]Refusal `json:"refused,omitempty"` // why an index could not be built, by its name

	rev driver.Token // of the stored row
}

type catalogColumn struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	Desc bool   `json:"desc,omitempty"`
}

// Table is where the entries are kept: one row a collection.
func Table() *driver.Table {
	return &driver.Table{
		Name:      "_catalog",
		Class:     driver.Records,
		Partition: []driver.Column{{Name: "collection", Kind: driver.String}},
		Fields:    []driver.Column{{Name: "entry", Kind: driver.String}},
	}
}

// Key returns the key of the entry of a collection.
func Key(collection string) (driver.Key, error) {
	text, err := driver.AppendParts(nil, Table().Partition, []driver.Value{driver.StringValue(collection)})
	return driver.Key{Partition: string(text)}, err
}

// NewEpoch returns a name for one state of an entry, which no other state has.
func NewEpoch() string { return driver.NewToken().String() }

// EntryOf returns the catalog entry that c would write.
func EntryOf(c *layout.Layout) *Entry {
	e := &Entry{Layout: layoutNumber, Epoch: NewEpoch(), Collection: c.Name, With: c.With(), Fields: map[string]string{}, Expires: c.Expires}
	for _, col := range c.Records.Partition {
		e.Partition = append(e.Partition, catalogColumn{col.Name, col.Kind.String(), col.Desc})
	}
	for _, col := range c.Records.Sort {
		e.Sort = append(e.Sort, catalogColumn{col.Name, col.Kind.String(), col.Desc})
	}
	for i, col := range c.Records.Fields {
		e.Fields[col.Name] = col.Kind.String()
		if c.Scalars[len(c.Key)+i] == nil {
			e.addOptional(col.Name)
		}
	}
	for _, x := range c.Indexes {
		if x.Other {
			continue
		}
		e.Indexes = append(e.Indexes, NewIndexEntry(x, IndexReady))
	}
	e.addElements(c)
	e.addParts(c)
	return e
}

// ReadCatalog returns the entry of a collection, nil when there is none.
func ReadCatalog(ctx context.Context, s *store.Handle, k *store.Call, t *driver.Table, collection string) (*Entry, error) {
	key, err := Key(collection)
	if err != nil {
		return nil, err
	}
	var rows [1]driver.Row
	if err := s.Get(ctx, k, t, []driver.Key{key}, nil, rows[:]); err != nil || rows[0].Rev.IsZero() {
		return nil, err
	}
	e := &Entry{rev: rows[0].Rev}
	if len(rows[0].Fields) == 0 || json.Unmarshal([]byte(rows[0].Fields[0].Str()), e) != nil {
		return nil, fmt.Errorf("catalog entry of %s cannot be read: %w", collection, driver.ErrCorrupt)
	}
	if e.Layout != layoutNumber {
		return nil, fmt.Errorf("collection %s has layout %d and this library knows %d; use the version that wrote it, or copy the data over: %w", collection, e.Layout, layoutNumber, driver.ErrSchema)
	}
	if e.Collection != collection || e.Fields == nil {
		return nil, fmt.Errorf("catalog entry of %s lacks its name or fields: %w", collection, driver.ErrCorrupt)
	}
	return e, nil
}

// WriteCatalog stores an entry if nobody has changed it since it was read; ok
// says whether.
func WriteCatalog(ctx context.Context, s *store.Handle, k *store.Call, t *driver.Table, e *Entry) (ok bool, err error) {
	key, err := Key(e.Collection)
	if err != nil {
		return false, err
	}
	body, err := json.Marshal(e)
	if err != nil {
		return false, err
	}
	op := driver.Op{Do: driver.Put, Table: t, If: driver.Absent,
		Row: driver.Row{Key: key, Fields: []driver.Value{driver.StringValue(string(body))}}}
	if !e.rev.IsZero() {
		op.If, op.Rev = driver.AtRev, e.rev
	}
	token := driver.NewToken()
	refusal, err := s.Commit(ctx, k, token, []driver.Op{op})
	if err == nil && refusal == nil {
		e.rev = token
	}
	return err == nil && refusal == nil, err
}

// Fits compares what is stored with what c declares. It returns the indexes that
// must be built, and an error for what cannot be brought together.
func (e *Entry) Fits(c *layout.Layout) (build []*layout.Index, err error) {
	want := EntryOf(c)
	var faults []error
	if !slices.Equal(e.Partition, want.Partition) || !slices.Equal(e.Sort, want.Sort) {
		faults = append(faults, fmt.Errorf("the stored key is %s and the schema's is %s; a key cannot change: copy the records to a collection with another name: %w",
			keyText(e), keyText(want), driver.ErrSchema))
	}
	if e.With != want.With {
		faults = append(faults, fmt.Errorf("the records lie %s in the store and %s in the schema; that cannot change: copy the records to a collection with another name: %w",
			e.where(), want.where(), driver.ErrSchema))
	}
	for _, col := range c.Records.Fields {
		if old, ok := e.Fields[col.Name]; ok && old != col.Kind.String() {
			faults = append(faults, fmt.Errorf("field %s is stored as %s and declared as %s; give the new field another name: %w", col.Name, old, col.Kind, driver.ErrSchema))
		}
	}
	faults = append(append(faults, e.otherElements(c)...), e.otherParts(c)...)
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	if err := e.otherIndexes(c); err != nil {
		return nil, err
	}
	if err := e.differs(c); err != nil {
		return nil, err
	}
	for _, x := range c.Indexes {
		i := slices.IndexFunc(e.Indexes, func(old IndexEntry) bool { return old.Name == x.ID })
		if !x.Other && e.Indexes[i].State == IndexBuilding {
			build = append(build, x)
		}
	}
	return append(build, c.Absent...), nil
}

// otherIndexes returns an error for each index that c declares otherwise than it is in the store. One that is gone, and
// comes again, may be another one.
func (e *Entry) otherIndexes(c *layout.Layout) error {
	var faults []error
	for _, x := range slices.Concat(c.Indexes, c.Absent) {
		i := slices.IndexFunc(e.Indexes, func(old IndexEntry) bool { return old.Name == x.ID })
		if x.Other || i < 0 || e.Indexes[i].State == IndexGone {
			continue
		}
		switch old := &e.Indexes[i]; {
		case (old.Mode == modeNative) != x.Native:
			faults = append(faults, old.otherKind(x))
		case !old.is(x):
			faults = append(faults, old.otherwise())
		}
	}
	return errors.Join(faults...)
}

func keyText(e *Entry) string {
	text := "("
	for i, col := range slices.Concat(e.Partition, e.Sort) {
		switch {
		case i == len(e.Partition):
			text += "; "
		case i > 0:
			text += ", "
		}
		if col.Desc {
			text += "-"
		}
		text += col.Name + " " + col.Kind
	}
	return text + ")"
}

// SetBare gives the rows of c's indexes the form that they have in the store.
func (e *Entry) SetBare(c *layout.Layout) {
	for _, x := range c.Indexes {
		for i := range e.Indexes {
			if e.Indexes[i].Name == x.ID && e.Indexes[i].is(x) {
				x.SetBare(e.Indexes[i].Mode == modeKeys)
			}
		}
	}
}

// Grow adds to the entry what c declares beyond it, and reports whether that was
// anything.
func (e *Entry) Grow(c *layout.Layout) bool {
	added := e.addElements(c)
	added = e.addParts(c) || added
	for i, col := range c.Records.Fields {
		if _, ok := e.Fields[col.Name]; ok {
			continue
		}
		e.Fields[col.Name], added = col.Kind.String(), true
		if !e.Making || c.Scalars[len(c.Key)+i] == nil {
			e.addOptional(col.Name)
		}
	}
	return added
}

// SetIndex puts an index into the entry in a state.
func (e *Entry) SetIndex(x IndexEntry) {
	i := slices.IndexFunc(e.Indexes, func(old IndexEntry) bool { return old.Name == x.Name })
	if i < 0 {
		e.Indexes = append(e.Indexes, x)
	} else {
		e.Indexes[i] = x
	}
}

// Unfinished returns the first index that is to be filled, and must not be yet or is being filled; nil if there is none.
func (e *Entry) Unfinished() *IndexEntry {
	for i := range e.Indexes {
		if s := e.Indexes[i].State; s == IndexDeclared || s == IndexWritten {
			return &e.Indexes[i]
		}
	}
	return nil
}

// WhyNot returns an error if an index will never be ready.
func (e *Entry) WhyNot(index string) error {
	if e == nil {
		return ErrNoCollection
	}
	if why := e.Refused[index]; why.Text != "" { // and it is there no more
		return why.err()
	}
	if e.find(index) == nil {
		return fmt.Errorf("no index %s in the catalog: %w", index, driver.ErrNotFound)
	}
	return nil
}

// IsBuilding reports whether an index is not ready that the store makes, or could not make.
func (e *Entry) IsBuilding(index string) bool {
	return slices.ContainsFunc(e.Indexes, func(x IndexEntry) bool { return x.Name == index && x.State == IndexBuilding })
}

// State says which state an index is in, and since when.
func (e *Entry) State(index string) string {
	if x := e.find(index); x != nil {
		return x.Text()
	}
	return "not there"
}

// Going returns an error if an index is being removed.
func (e *Entry) Going(index string) error {
	if e == nil {
		return nil
	}
	x := e.find(index)
	if x == nil || x.State != IndexLeaving && x.State != IndexGone {
		return nil
	}
	return failure.Contention("index %s is being removed: it is %s; try again, or, if that was stopped, end it with repo.DropIndex, and then open with repo.WithBuild() to have the index again", index, x.Text())
}

// find returns the index of a name; nil if there is none.
func (e *Entry) find(index string) *IndexEntry {
	at := slices.IndexFunc(e.Indexes, func(x IndexEntry) bool { return x.Name == index })
	if at < 0 {
		return nil
	}
	return &e.Indexes[at]
}
