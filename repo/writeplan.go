package repo

import (
	"fmt"
	"reflect"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/commit"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/record"
)

// A WritePlan says how a write of one record is done, what the write costs without contention, and
// what stays if the client stops in the middle of the write. The record has one entry in every
// index.
type WritePlan struct {
	Collection string
	With       string // the collection that Schema.With names, or ""
	Write      string // "insert"; "update", "patch" and "patch blind" of fields that no index has; "move", an update of all fields that indexes have; "delete"
	Path       string
	Depth      int // calls of the store, one after the other, until the write is acknowledged
	Requests   int // rows read by key and commits, until the write is acknowledged
	Later      int // commits after that; the write does not wait for them
	Leaves     string
}

// String returns the plan as one line.
func (p WritePlan) String() string {
	later := ""
	if p.Later > 0 {
		later = fmt.Sprintf(", %d later", p.Later)
	}
	return fmt.Sprintf("%s: %s by %s; %d deep, %d requests%s; %s", plan.Named(p.Collection, p.With), p.Write, p.Path, p.Depth, p.Requests, later, p.Leaves)
}

// ExplainWrites says how records of the collection are written, without doing it.
func (r *Repo[T]) ExplainWrites() []WritePlan {
	c := r.on().c
	if !c.opened() {
		return nil
	}
	return writePlansOf(c.Writer)
}

// PlanWrites says how a store with the given facts would write records of type T with a schema. It
// touches no store, and reports the same faults as [Check].
func PlanWrites[T any](facts driver.Facts, schema Schema) ([]WritePlan, error) {
	var l *layout.Layout
	sh, err := record.ShapeOf(reflect.TypeFor[T](), versionType)
	if err == nil {
		l, err = layout.Compile(&facts, false, schema.def(), sh)
	}
	if err != nil {
		return nil, &Error{Op: "plan writes", Collection: schema.Collection, Err: err}
	}
	return writePlansOf(commit.NewWriter(nil, l, sh, nil)), nil
}

func writePlansOf(c *commit.Writer) []WritePlan {
	var list []WritePlan
	for _, p := range c.WritePlans() {
		list = append(list, WritePlan(p))
	}
	return list
}
