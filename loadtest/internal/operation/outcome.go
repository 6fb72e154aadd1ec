package operation

import (
	"context"
	"errors"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// An Outcome is how an operation ended.
type Outcome uint8

// The ways in which operations end.
const (
	Done    Outcome = iota
	Absent          // there is no such record
	taken           // the key or a unique value is taken
	empty           // nothing was found
	still           // the record has what was set already, so that no row of an index moved
	refused         // the tree would be none then: a node below itself, or without its parent
	Failed
	Unfinished // cut off at the end of its round
)

// String returns the outcome for people.
func (o Outcome) String() string {
	return [...]string{"done", "not found", "already exists", "found nothing", "moved nothing", "refused", "failed", "unfinished"}[o]
}

// OutcomeOf returns how an operation ended by its error.
func OutcomeOf(ctx context.Context, err error) Outcome {
	switch {
	case err == nil:
		return Done
	case ctx.Err() != nil:
		return Unfinished
	case errors.Is(err, repo.ErrNotFound):
		return Absent
	case errors.Is(err, repo.ErrExists):
		return taken
	case errors.Is(err, tree.ErrBelowItself), errors.Is(err, tree.ErrHasChildren):
		return refused
	}
	return Failed
}

// Nothing reports whether an operation that ended so did nothing.
func (o Outcome) Nothing() bool {
	return o == Absent || o == taken || o == empty || o == still || o == refused
}

// The fields of an answer that say how many records a group has, and what a field of them sums up to.
const (
	Members = "_count"
	Total   = "_sum "
)

// An Answer is what an operation found: the number of records, and the records
// themselves where they are kept.
type Answer struct {
	N       int
	Records []map[string]any
	Steps   []Step // of a journey

	// Children are those of the records, where they are kept: of each record a list for each of the query's Children.
	Children [][]map[string]any
}
