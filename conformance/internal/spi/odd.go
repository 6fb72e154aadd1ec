package spi

import (
	"context"
	"errors"
	"strings"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo/driver"
)

// OddEnd is how keys end that no codec makes.
const OddEnd = "#odd"

// OddKey returns a key that nobody can take apart: there is more than its parts, without
// an end.
func OddKey(e *rule.Env, t *driver.Table, parts ...string) driver.Key {
	key := newEnv(e).at(t, parts...)
	key.Sort = strings.TrimSuffix(key.Sort, "#") + OddEnd
	return key
}

// PutOdd writes rows with odd keys, as another program might. A store may take none.
func PutOdd(ctx context.Context, e *rule.Env, t *driver.Table, keys ...driver.Key) (taken bool) {
	for _, key := range keys {
		refusal, err := e.Store.Commit(ctx, driver.NewToken(), []driver.Op{put(t, driver.Row{Key: key, Expires: 1})})
		if errors.Is(err, driver.ErrInvalid) {
			return false
		}
		e.OK("put of a row with an odd key", err)
		e.That(refusal == nil, "a put to be done", "a refusal")
	}
	return true
}

// WalkBesideOdd sees that a walk finds what is beside rows with odd keys. It reports whether the
// store takes such rows.
func WalkBesideOdd(ctx context.Context, e *rule.Env) (taken bool) {
	t, want := walkTable(ctx, newEnv(e), 600)
	if !PutOdd(ctx, e, t, OddKey(e, t, "p0", "00003"), OddKey(e, t, "p6", "00500")) {
		return false
	}
	seen, named := map[string]bool{}, 0
	for chunk, err := range e.Store.Walk(ctx, t, "") {
		unread, ok := errors.AsType[driver.Unread](err)
		if named += len(unread); ok {
			e.Is("what a walk cannot read", err, driver.ErrCorrupt)
			e.That(chunk.Mark != "" || len(seen)+len(chunk.Rows) >= len(want), "a mark with a chunk that is not the last", "none")
		} else {
			e.OK("walk", err)
		}
		for i := range chunk.Rows {
			seen[chunk.Rows[i].Key.Partition+chunk.Rows[i].Key.Sort] = true
		}
	}
	for _, key := range want {
		e.That(seen[key], "the row "+rule.Brief(key)+" by a walk", "none")
	}
	e.That(named+len(seen)-len(want) >= 2, "both rows with an odd key, or their names", "%d", named+len(seen)-len(want))
	return true
}
