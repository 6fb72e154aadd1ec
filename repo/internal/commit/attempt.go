package commit

import (
	"context"
	"time"

	"github.com/polystore/polystore/repo/internal/store"
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
func retry(ctx context.Context, k *store.Call, writes []Write, refused *Write, a attempt) (time.Time, error) {
	took := time.Duration(0)
	if !a.sent.IsZero() {
		took = time.Since(a.sent)
	}
	if !a.waited {
		if err := store.PauseLike(ctx, a.number, took); err != nil {
			return a.sent, err
		}
		if a.number < 2 && (len(writes) == 1 || refused.refused == refused.By.Records) {
			return a.sent, nil
		}
	}
	all := len(writes) > 1
	for i := range writes {
		w := &writes[i]
		w.Known = w.Known && w.By.blind(w) && !all
	}
	now := clock(writes)
	return now, ReadOld(ctx, k, writes, all)
}

// blind reports whether w can be sent without knowing what is there. With an expected version that is so, too,
// as long as nothing else of the old record must be known: the rows that it has in indexes, fields that T does not
// declare, whether it has expired, and where there is a ring its Rev, which a fence may have changed.
func (c *Writer) blind(w *Write) bool {
	switch {
	case w.Verb == DoInsert:
		return !c.HasRemote // a refusal brings what is there; the base of remote rows must be known
	case w.Verb == DoCheck:
		return w.Absent || !c.MayExpire() && (w.Expect.IsZero() || c.Records.Ring == 0)
	case w.Verb == DoUpdate, w.setsStray():
		return false
	case w.Verb == doPatch:
		return c.isPlain(w) && (w.Open || c.Records.Ring == 0)
	}
	return (w.Verb == DoDelete || !c.keeps()) && len(c.Indexes) == 0 && !c.MayExpire() && c.Records.Ring == 0
}
