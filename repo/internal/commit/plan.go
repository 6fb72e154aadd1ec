package commit

import (
	"fmt"
	"time"
)

// A writePlan says how a write of one record is done: repo.WritePlan.
type writePlan struct {
	Collection string
	With       string
	Write      string
	Path       string
	Depth      int
	Requests   int
	Later      int
	Leaves     string
}

// WritePlans returns how records are written.
func (c *Writer) WritePlans() []writePlan {
	return []writePlan{
		c.planOf("insert", &Write{By: c, Verb: DoInsert}, true, false),
		c.planOf("update", &Write{By: c, Verb: DoUpdate}, false, false),
		c.planOf("move", &Write{By: c, Verb: DoUpdate}, true, true),
		c.planOf("patch", &Write{By: c, Verb: doPatch}, false, false),
		c.planOf("patch blind", &Write{By: c, Verb: doPatch, Open: true}, false, false),
		c.planOf("delete", &Write{By: c, Verb: DoDelete}, false, true),
	}
}

// planOf returns the plan of a write that adds entries to the indexes, and takes some
// away, or does neither.
func (c *Writer) planOf(name string, w *Write, adds, drops bool) writePlan {
	p := writePlan{Collection: c.Name, With: c.With(), Write: name, Path: c.path(), Depth: 1, Requests: 1, Leaves: "who stops in the middle leaves nothing behind"}
	if !c.blind(w) {
		p.Depth, p.Requests = p.Depth+1, p.Requests+1
	}
	apart := 0
	for _, x := range c.Indexes {
		if x.Remote {
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
	if w.Verb == DoDelete && c.Records.Ring > 0 {
		p.Leaves += fmt.Sprintf("; the record stays as a tombstone for %s, and Maintain then removes it", c.Retention.Round(time.Minute))
	}
	return p
}

// path says what makes a write atomic.
func (c *Writer) path() string {
	tables, native := 0, 0
	for _, x := range c.Indexes {
		switch {
		case x.Remote:
			return "the portable protocol: one conditional commit of the record, rows and claims in other partitions before and after it"
		case x.Native:
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
