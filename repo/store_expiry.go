package repo

import (
	"context"

	"github.com/polystore/polystore/repo/driver"
)

// A record is there until it expires, by the clock of this program. When a row was read is
// known only as some time between two looks at that clock: one from before the store was
// asked, and one from after it answered. What had expired by the first is not there, what
// has not by the second is. Of what expired in between nothing can be said: by the first
// look a record would be returned that was written when it had expired already, by the
// second one would be missed that another writer lets live on. So it is read again.

// tick notes the time, before the store is asked. The expiry that a row carries counts,
// whether this program knows of records that expire or not: another one may let them.
func (k *call) tick(s *handle) { k.now = s.nowMillis() }

// settle reads those of some rows again that expired while they were read. All rows can
// be judged by k then: those that were read once had not expired by its new time.
func (s *handle) settle(ctx context.Context, k *call, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	list, now := k.expiredMeanwhile(s, rows)
	if len(list) == 0 {
		return nil
	}
	k.now = now
	for attempt := 0; len(list) > 0; attempt++ {
		if err := pauseForExpiry(ctx, attempt); err != nil {
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

// expiredMeanwhile returns the indexes of the rows that expired since k noted the time,
// and the time that they did so by.
func (k *call) expiredMeanwhile(s *handle, rows []driver.Row) (list []int, now int64) {
	for i := range rows {
		expires := rows[i].Expires
		if expires == 0 || expires <= k.now || rows[i].Dead {
			continue // there for ever, or not there
		}
		if now == 0 {
			now = s.nowMillis()
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
func (k *call) stillOpen(s *handle, rows []driver.Row, list []int, asked int64) (open []int, now int64) {
	now = s.nowMillis()
	for _, i := range list {
		switch r := &rows[i]; {
		case r.Expires == 0 || r.Dead || r.Expires > now:
		case r.Expires > asked:
			open = append(open, i)
		default:
			r.Expires = min(r.Expires, k.now)
		}
	}
	return open, now
}

// pauseForExpiry waits before a row is read once more that expired while it was read, and
// gives up where that has happened too often.
func pauseForExpiry(ctx context.Context, attempt int) error {
	if attempt > maxAttempts {
		return contention("gave up after %d attempts, the record expired and was written anew each time while it was read; let it live longer than a call takes", maxAttempts)
	}
	return pause(ctx, attempt)
}

// expiredSince reports whether an expiry has come since a time.
func (s *handle) expiredSince(asked, expires int64) bool {
	return expires != 0 && expires > asked && expires <= s.nowMillis()
}

// isPast reports whether what k has read had expired before.
func (k *call) isPast(expires int64) bool {
	return expires != 0 && expires <= k.now
}
