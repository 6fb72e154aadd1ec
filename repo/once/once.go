// Package once applies writes at most once, however often a caller sends them again.
//
// A write that is not idempotent, such as an increment or an insert under a new id, is done twice by a caller that
// tries again after it heard nothing. With a token of the caller's own (the id of a message, or of a request) a Log
// applies the writes of one token once, within a stated time, on every store, also after a restart: it inserts a
// record of the token in the same commit, beside the records that are written.
package once

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/polystore/polystore/repo"
)

// A Log knows which tokens were applied to the records of a collection. Make one with [Open]. Many goroutines and
// programs may use a Log of one collection at once.
type Log struct {
	tokens    *repo.Repo[map[string]any]
	name      string
	partition []string
	within    time.Duration
}

const (
	tokenField = "once_token"
	suffix     = "_once"
	expires    = "_expires" // of a record that is a map
)

// Open opens the log of a collection, which is there already. The log is a collection of its own, with "_once" behind
// the name, and lies with the other. It forgets a token when within is over, a second at least: a caller that comes
// later with the same token applies its writes again. Programs that share a collection give the same time. Dead tokens
// are removed like all expired records: see [repo.Repo.Maintain].
func Open(ctx context.Context, store *repo.Store, collection string, within time.Duration) (*Log, error) {
	if within < time.Second {
		return nil, fmt.Errorf("tokens for %v: a second is the least: %w", within, repo.ErrInvalid)
	}
	of, err := repo.SchemaOf(ctx, store, collection)
	if err != nil {
		return nil, err
	}
	schema := repo.Schema{
		Collection: collection + suffix,
		With:       collection,
		Partition:  of.Partition,
		Sort:       []string{tokenField},
		Fields:     map[string]string{tokenField: "string"},
	}
	if of.With != "" {
		schema.With = of.With
	}
	for _, name := range of.Partition {
		schema.Fields[name] = of.Fields[name]
	}
	tokens, err := repo.Open[map[string]any](ctx, store, schema)
	if err != nil {
		return nil, err
	}
	return &Log{tokens, schema.Collection, slices.Clone(of.Partition), within}, nil
}

// Apply applies the writes that add gives a group, in the partition of which all of them are, unless the writes of the
// token were applied before. It reports whether it applied them. Tokens of two partitions have nothing to do with each
// other. A token has 1 to 512 bytes.
//
// An error is that of [repo.Group.Commit], and nothing was applied, but for [repo.ErrUnknownOutcome]: call Apply again
// with the same token, which is right after every error.
func (l *Log) Apply(ctx context.Context, partition repo.Key, token string, add func(g *repo.Group)) (applied bool, err error) {
	if l == nil || l.tokens == nil {
		return false, fmt.Errorf("the log is nil; make one with Open: %w", repo.ErrInvalid)
	}
	switch {
	case ctx == nil:
		return false, l.invalid("the context is nil")
	case add == nil:
		return false, l.invalid("the function is nil")
	case token == "" || len(token) > 512:
		return false, l.invalid(fmt.Sprintf("the token has %d bytes; 1 to 512 are possible", len(token)))
	case len(partition) != len(l.partition):
		return false, l.invalid(fmt.Sprintf("the partition is %q, and the key has %d values", l.partition, len(partition)))
	}
	mark := map[string]any{tokenField: token, expires: time.Now().Add(l.within)}
	for i, name := range l.partition {
		mark[name] = partition[i]
	}
	g := l.tokens.Store().Group()
	l.tokens.In(g).Insert(&mark) // first: its error comes before those of the others
	add(g)
	err = g.Commit(ctx)
	if e, ok := errors.AsType[*repo.Error](err); ok && e.Collection == l.name && errors.Is(err, repo.ErrExists) {
		return false, nil
	}
	return err == nil, err
}

func (l *Log) invalid(text string) error {
	return &repo.Error{Op: "apply", Collection: l.name, Err: fmt.Errorf("%s: %w", text, repo.ErrInvalid)}
}
