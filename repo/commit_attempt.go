package repo

import (
	"context"
	"time"
)

// An attempt is one of several at the same writes.
type attempt struct {
	number int
	sent   time.Time
	waited bool // after it, for others
}

// retry makes ready for another attempt and returns since when what is there is known.
// A refusal brings that, as of when the commit was sent. It is read anew if a write was
// refused for a unique value that another one of the group was to give up; and where others
// will have written meanwhile: after waiting for them, and after some attempts, whose pauses are long.
// Of a group all is read then: a refusal tells of one record, and there may be many tombstones.
func (c *writer) retry(ctx context.Context, k *call, writes []write, refused *write, a attempt) (time.Time, error) {
	took := time.Duration(0)
	if !a.sent.IsZero() {
		took = time.Since(a.sent)
	}
	if !a.waited {
		if err := pauseLike(ctx, a.number, took); err != nil {
			return a.sent, err
		}
		if a.number < 2 && (len(writes) == 1 || refused.refused == c.records) {
			return a.sent, nil
		}
	}
	all := len(writes) > 1
	for i := range writes {
		w := &writes[i]
		w.known = w.known && c.blind(w) && !all
	}
	now := c.clock()
	return now, c.readOld(ctx, k, writes, all)
}

// blind reports whether w can be sent without knowing what is there.
func (c *writer) blind(w *write) bool {
	switch w.verb {
	case doInsert:
		return !c.loose // a refusal brings what is there; the base of loose rows must be known
	case doUpdate:
		return false
	case doPatch:
		return c.isPlain(w) && (w.open || c.records.Ring == 0)
	}
	return (w.verb == doDelete || !c.keeps()) && len(c.indexes) == 0 && !c.mayExpire() && c.records.Ring == 0
}
