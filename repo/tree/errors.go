package tree

import (
	"context"
	"errors"
	"fmt"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// The kinds of errors of trees, beside those of package repo, each of which is one of those, too.
var (
	// ErrBelowItself is an ErrInvalid: a node cannot be moved below itself.
	ErrBelowItself = fmt.Errorf("a node cannot lie below itself: %w", repo.ErrInvalid)

	// ErrHasChildren is an ErrConflict: only a node without children is deleted by [Tree.Delete].
	ErrHasChildren = fmt.Errorf("the node has children: %w", repo.ErrConflict)
)

// mostTries is how often a call begins again when others are faster.
const mostTries = 200

var errBusy = fmt.Errorf("the structure of the tree changed at each of %d attempts: %w", mostTries, repo.ErrContention)

func asError(err error) (*repo.Error, bool) { return errors.AsType[*repo.Error](err) }

func isRetryable(err error) bool {
	e, ok := asError(err)
	if errors.Is(err, repo.ErrUnknownOutcome) {
		return false
	}
	return ok && e.Retryable || errors.Is(err, repo.ErrContention)
}

// failed says which call failed, and on which node, unless the error has another one.
func (t *base[T]) failed(op, id string, err error) error {
	if err == nil {
		return nil
	}
	out := repo.Error{Err: err, Retryable: isRetryable(err)}
	if t.made() == nil {
		out.Collection, out.Key, out.Err = t.forest.schema.Collection, t.forest.shown(driver.Errorf("%s", driver.Private(t.name+"/"+id))).Error(), t.forest.shown(err)
	}
	if e, ok := any(err).(*repo.Error); ok { // not what is within another error
		out = *e
	}
	out.Op = op
	return &out
}

// shown returns err without IDs and names if the store's errors are redacted.
func (f *Forest[T]) shown(err error) error { return f.store.Redact(err) }

// A numbered error is that of a write of a group.
type numbered interface {
	error
	Alone() error
}

// done commits a group. Its error does not number the write, of which the caller of a tree does not know.
func (f *Forest[T]) done(ctx context.Context, g *repo.Group) error {
	err := g.Commit(ctx)
	e, ok := asError(err)
	if !ok {
		return err
	}
	w, ok := errors.AsType[numbered](e.Err)
	if !ok {
		return err
	}
	out := *e
	out.Err = f.shown(w.Alone())
	return &out
}
