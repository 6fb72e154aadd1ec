package workload

import (
	"github.com/goccy/go-yaml/ast"

	"github.com/polystore/polystore/loadtest/internal/document"
	"github.com/polystore/polystore/loadtest/internal/value"
)

// A Trace is a file of operations with their times.
type Trace struct {
	Source
	Time, Query string // the names in the file of an operation's time and query
}

// readTrace reads trace: the name of a file, or how it is to be read.
func (w *Workload) readTrace(d *document.File, m *document.Mapping) {
	n := m.Get("trace")
	if n == nil {
		return
	}
	w.Trace = &Trace{Time: "time", Query: "query"}
	if m.Has("rate") {
		d.FaultIn(m.PlaceOf("rate"), "the workload has a rate and a trace, which says when operations come; leave the rate out, and take --speed")
	}
	if s, ok := n.(*ast.StringNode); ok {
		w.Trace.Times, w.Trace.Separator, w.Trace.ListMark = value.TimeForms[0], ',', ";"
		w.Trace.named(d, s.Value, "", document.PlaceOf(n))
		return
	}
	tm, ok := d.Mapping(n, "trace")
	if !ok {
		return
	}
	w.Trace.Place = tm.At
	if tm.Need("file", "file: operations.jsonl") != nil {
		w.Trace.readFile(d, tm, nil)
	}
	if name := tm.Text("time"); name != "" {
		w.Trace.Time = name
	}
	if name := tm.Text("query"); name != "" {
		w.Trace.Query = name
	}
	tm.Done()
}
