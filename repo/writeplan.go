package repo

import (
	"fmt"
	"reflect"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A WritePlan says how a write of one record is done and what that costs when nothing
// is in its way, and what stays if the client stops in the middle of it. The record has
// one entry in every index.
type WritePlan struct {
	Collection string
	Write      string // "insert"; "update", "patch" and "patch blind" of what no index has; "move", an update of all that indexes have; "delete"
	Path       string
	Depth      int // calls of the store, one after the other, until the write is acknowledged
	Requests   int // rows read by key, and commits, until then
	Later      int // commits after that, for which nobody waits
	Leaves     string
}

// String returns the plan as one line.
func (p WritePlan) String() string {
	later := ""
	if p.Later > 0 {
		later = fmt.Sprintf(", %d later", p.Later)
	}
	return fmt.Sprintf("%s: %s by %s; %d deep, %d requests%s; %s", p.Collection, p.Write, p.Path, p.Depth, p.Requests, later, p.Leaves)
}

// ExplainWrites says how records of the collection are written, without doing it.
func (r *Repo[T]) ExplainWrites() []WritePlan { return r.writePlans() }

// PlanWrites says how a store with the given facts would write records of type T with a
// schema. It touches no store, and finds wrong what [Check] does.
func PlanWrites[T any](facts driver.Facts, schema Schema) ([]WritePlan, error) {
	var c *collection
	sh, err := shapeOf(reflect.TypeFor[T](), versionType)
	if err == nil {
		c, err = compile(&Store{facts: facts}, schema.def(), sh)
	}
	if err != nil {
		return nil, &Error{Op: "plan writes", Collection: schema.Collection, Err: err}
	}
	return c.writePlans(), nil
}

func (c *collection) writePlans() []WritePlan {
	return []WritePlan{
		c.writePlan("insert", &write{verb: doInsert}, true, false),
		c.writePlan("update", &write{verb: doUpdate}, false, false),
		c.writePlan("move", &write{verb: doUpdate}, true, true),
		c.writePlan("patch", &write{verb: doPatch}, false, false),
		c.writePlan("patch blind", &write{verb: doPatch, open: true}, false, false),
		c.writePlan("delete", &write{verb: doDelete}, false, true),
	}
}

// writePlan returns the plan of a write that adds entries to the indexes, and takes some
// away, or does neither.
func (c *collection) writePlan(name string, w *write, adds, drops bool) WritePlan {
	p := WritePlan{Collection: c.name, Write: name, Path: c.path(), Depth: 1, Requests: 1, Leaves: "who stops in the middle leaves nothing behind"}
	if !c.blind(w) {
		p.Depth, p.Requests = p.Depth+1, p.Requests+1
	}
	apart := 0
	for _, x := range c.indexes {
		if x.loose {
			apart++
		}
	}
	if adds && apart > 0 {
		p.Depth, p.Requests = p.Depth+1, p.Requests+apart
	}
	if drops {
		p.Later = apart
	}
	if apart > 0 && (adds || drops) {
		p.Leaves = leftApart(adds, drops)
	}
	if w.verb == doDelete && c.records.Ring > 0 {
		p.Leaves += fmt.Sprintf("; the record stays as a tombstone for %s, and Maintain then removes it", c.retention.Round(time.Minute))
	}
	return p
}

// path says what makes a write atomic.
func (c *collection) path() string {
	tables, native := 0, 0
	for _, x := range c.indexes {
		switch {
		case x.loose:
			return "the portable protocol: one conditional commit of the record, rows and claims in other partitions before and after it"
		case x.native:
			native++
		default:
			tables++
		}
	}
	switch {
	case tables > 0 && native > 0:
		return "one commit of the record and its rows; the store keeps the native indexes"
	case tables > 0:
		return "one commit of the record and its rows"
	case native > 0:
		return "one commit of the record; the store keeps its indexes"
	}
	return "one commit of the record"
}

// leftApart says what a client leaves that stops in the middle of the portable protocol.
func leftApart(adds, drops bool) string {
	text := "who stops "
	switch {
	case adds && drops:
		text += "leaves rows and claims of new values before the commit, or of old ones after it"
	case adds:
		text += "before the commit leaves rows and claims of a record that is not there"
	default:
		text += "after the commit leaves rows and claims of a record that is gone"
	}
	return text + ": no reader returns them, claims pass to whoever wants the value, and Maintain removes them"
}
