package catalog

import (
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/layout"
)

// A program keeps every index of the catalog in step, also one that it does not declare: so an older program may run
// beside the one that added it, and be started again. Which row a record has follows from the index's definition and
// the record's values. Not so where a program derives fields: what these would be another one cannot know.

// A Differs says that a layout is to be compiled again: with the indexes that the catalog has, as far as they are.
type Differs struct {
	Others layout.Others
	Stored map[string]layout.Stored
}

func (o *Differs) Error() string {
	return "the store has other indexes since: " + driver.ErrSchema.Error()
}

// Unwrap makes it ErrSchema.
func (o *Differs) Unwrap() error { return driver.ErrSchema }

// differs returns a *Differs if c does not have the indexes of the entry as they are, and another error if it cannot.
func (e *Entry) differs(c *layout.Layout) error {
	d := &Differs{layout.Others{Fields: map[string]string{}}, map[string]layout.Stored{}}
	same, fields := true, e.schema().Fields
	for i := range e.Indexes {
		old := &e.Indexes[i]
		stage, there := old.stage()
		at := slices.IndexFunc(c.Indexes, func(x *layout.Index) bool { return x.ID == old.Name })
		other := at < 0 && !slices.ContainsFunc(c.Absent, func(x *layout.Index) bool { return x.ID == old.Name }) || at >= 0 && c.Indexes[at].Other
		switch {
		case !there, other && old.Mode == modeNative: // which the store keeps, whoever writes
			continue
		case other && old.Derived:
			return fmt.Errorf("the store keeps index %s %s, which the schema lacks; its fields are derived by another program, so writes would leave it behind; declare it, or remove it with repo.DropIndex: %w", old.Name, old.IndexSchema, driver.ErrSchema)
		case other:
			d.Others.Add(&old.IndexSchema, fields)
		}
		d.Stored[old.Name] = layout.Stored{Stage: stage, At: old.At, Turn: old.Turn}
		if stage == layout.Ready { // before that no view depends on it
			d.Stored[old.Name] = layout.Stored{Stage: stage, Turn: old.Turn, Since: old.Since}
		}
		same = same && at >= 0 && c.Indexes[at].Stored == d.Stored[old.Name] && (!other || old.is(c.Indexes[at]))
	}
	if same && len(d.Stored) == len(c.Indexes) {
		return nil
	}
	return d
}

// stage says what programs do with the index, and whether they do anything.
func (x *IndexEntry) stage() (stage layout.Stage, there bool) {
	switch x.State {
	case IndexGone:
		return 0, false
	case IndexReady:
		return layout.Ready, true
	case IndexDeclared:
		return layout.Declared, true
	case IndexLeaving:
		return layout.Leaving, true
	}
	return layout.Written, true
}
