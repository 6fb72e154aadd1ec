package store

import (
	"context"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/limit"
)

// A record is there until it expires, by the clock of this program. When a row was read is
// known only as some time between two looks at that clock: one from before the store was
// asked, and one from after it answered. What had expired by the first is not there, what
// has not by the second is. Of what expired in between nothing can be said: by the first
// look a record would be returned that was written when it had expired already, by the
// second one would be missed that another writer lets live on. So it is read again.

// Tick notes the time, before the store is asked. The expiry that a row carries counts,
// whether this program knows of records that expire or not: another one may let them.
func (k *Call) Tick(s *Handle) { k.Now = s.NowMillis() }

// settle reads those of some rows again that expired while they were read. All rows can
// be judged by k then: those that were read once had not expired by its new time.
func (s *Handle) settle(ctx context.Context, k *Call, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	list, now := k.ExpiredMeanwhile(s, rows)
	if len(list) == 0 {
		return nil
	}
	k.Now = now
	for attempt := 0; len(list) > 0; attempt++ {
		if err := PauseForExpiry(ctx, attempt); err != nil {
			return err
		}
		some, again := make([]driver.Key, len(list)), make([]driver.Row, len(list))
		for j, i := range list {
			some[j] = keys[i]
		}
		if err := s.read(ctx, k, t, some, mask, again); err != nil {
			return err
		}
		for j, i := range list {
			rows[i] = again[j]
		}
		list, now = k.stillOpen(s, rows, list, now)
	}
	return nil
}

// ExpiredMeanwhile returns the indexes of the rows that expired since k noted the time,
// and the time that they did so by.
func (k *Call) ExpiredMeanwhile(s *Handle, rows []driver.Row) (list []int, now int64) {
	for i := range rows {
		expires := rows[i].Expires
		if expires == 0 || expires <= k.Now || rows[i].Dead {
			continue // there for ever, or not there
		}
		if now == 0 {
			now = s.NowMillis()
		}
		if expires <= now {
			list = append(list, i)
		}
	}
	return list, now
}

// stillOpen returns which rows of a list expired while they were read again, which began at
// a time; others wrote them anew. It also returns the time of their next reading. What had
// expired before is made to have done so by the time of k.
func (k *Call) stillOpen(s *Handle, rows []driver.Row, list []int, asked int64) (open []int, now int64) {
	now = s.NowMillis()
	for _, i := range list {
		switch r := &rows[i]; {
		case r.Expires == 0 || r.Dead || r.Expires > now:
		case r.Expires > asked:
			open = append(open, i)
		default:
			r.Expires = min(r.Expires, k.Now)
		}
	}
	return open, now
}

// PauseForExpiry waits before a row is read once more that expired while it was read, and
// gives up where that has happened too often.
func PauseForExpiry(ctx context.Context, attempt int) error {
	if attempt > limit.MaxAttempts {
		return failure.Contention("gave up after %d attempts, the record expired and was written anew each time while it was read; let it live longer than a call takes", limit.MaxAttempts)
	}
	return Pause(ctx, attempt)
}

// ExpiredSince reports whether an expiry has come since a time.
func (s *Handle) ExpiredSince(asked, expires int64) bool {
	return expires != 0 && expires > asked && expires <= s.NowMillis()
}

// IsPast reports whether what k has read had expired before.
func (k *Call) IsPast(expires int64) bool {
	return expires != 0 && expires <= k.Now
}
