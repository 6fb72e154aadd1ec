package history

import (
	"time"

	"github.com/polystore/polystore/repo"
)

// A mark is what a revision has beside the record.
type mark struct {
	Number  int64        `repo:"history_number"`
	At      time.Time    `repo:"history_at"`
	By      string       `repo:"history_by"`
	Why     string       `repo:"history_why"`
	Of      int64        `repo:"history_of"`
	Deleted bool         `repo:"history_deleted"`
	Outside bool         `repo:"history_outside"`
	Until   time.Time    `repo:"history_until"` // when the record expires
	Version repo.Version `repo:",version"`
}

const (
	numberField = "history_number"
	untilField  = "history_until"
)

// markKinds are the fields of a mark.
var markKinds = map[string]string{
	numberField: "int", "history_at": "time", "history_by": "string", "history_why": "string", "history_of": "int",
	"history_deleted": "bool", "history_outside": "bool", untilField: "time",
}

// put adds m to a row. What is empty is absent.
func (m *mark) put(row map[string]any) {
	row[numberField], row["history_at"] = m.Number, m.At
	if m.By != "" {
		row["history_by"] = m.By
	}
	if m.Why != "" {
		row["history_why"] = m.Why
	}
	if m.Of != 0 {
		row["history_of"] = m.Of
	}
	if m.Deleted {
		row["history_deleted"] = true
	}
	if m.Outside {
		row["history_outside"] = true
	}
}

// A Revision is a record as it was from a time on.
type Revision[T any] struct {
	Number  int64     // 1, 2, 3 and so on
	At      time.Time // when it was written, in UTC and milliseconds
	By      string    // who wrote it, and why, if the writer said so
	Why     string
	Of      int64 // the revision that it restored, 0 if it is none of Restore
	Deleted bool  // the record was deleted
	Outside bool  // not written by a history, but found: At is when it was found
	Record  T     // the zero T if Deleted; it has no version
}

func revisionOf[T any](m *mark, rec T) Revision[T] {
	return Revision[T]{m.Number, m.At, m.By, m.Why, m.Of, m.Deleted, m.Outside, rec}
}
