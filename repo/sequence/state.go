package sequence

import (
	"context"
	"errors"
	"fmt"

	"github.com/polystore/polystore/repo"
)

// Peek returns the next number that no program has taken, without taking it. Smaller numbers may still be handed out
// where programs have them in hand. Of a sequence that is not there yet it is Options.First. Of a sequence that is
// exhausted it is the number after [Greatest].
func (s *Sequence) Peek(ctx context.Context) (int64, error) {
	if err := s.check(ctx); err != nil {
		return 0, s.failed("peek", err)
	}
	r, err := s.collection.repo.Get(ctx, repo.Key{s.name})
	if errors.Is(err, repo.ErrNotFound) {
		return s.first, nil
	}
	if err == nil {
		err = whole(&r)
	}
	if err != nil {
		return 0, s.failed("peek", err)
	}
	return *r.Next, nil
}

// Advance makes n the next number, so that smaller ones are skipped: for a sequence that goes on where another system
// ended. An n below [Sequence.Peek] is ErrInvalid. This Sequence hands out no smaller number from then on; in other
// programs the numbers in hand come first.
func (s *Sequence) Advance(ctx context.Context, n int64) error {
	return s.set(ctx, "advance", func(next int64) (int64, error) {
		if n < next {
			return 0, fmt.Errorf("%d is below %d, which is the next number; only Reuse goes back: %w", n, next, repo.ErrInvalid)
		}
		return n, nil
	})
}

// Reuse makes n the next number, also where numbers from n on were handed out before: these are HANDED OUT AGAIN. It
// is for sequences whose numbers nobody has any more. Programs with numbers in hand hand them out, too: stop them
// first.
func (s *Sequence) Reuse(ctx context.Context, n int64) error {
	return s.set(ctx, "reuse", func(int64) (int64, error) { return n, nil })
}

// set changes the next number. If it does, or may have done so, the numbers in hand are given up.
func (s *Sequence) set(ctx context.Context, op string, fn func(next int64) (int64, error)) error {
	err := s.check(ctx)
	if err == nil {
		err = s.change(ctx, fn)
		if err == nil || errors.Is(err, repo.ErrUnknownOutcome) {
			s.mu.Lock()
			s.epoch, s.hand = s.epoch+1, numbers{}
			s.mu.Unlock()
		}
	}
	return s.failed(op, err)
}

// change writes the number that fn makes of the next one. Fn may be called several times; the last call counts.
func (s *Sequence) change(ctx context.Context, fn func(next int64) (int64, error)) error {
	for {
		_, err := s.collection.repo.Update(ctx, repo.Key{s.name}, func(r *record) error {
			err := whole(r)
			if err == nil {
				*r.Next, err = fn(*r.Next)
			}
			return err
		})
		if !errors.Is(err, repo.ErrNotFound) {
			return err
		}
		next, err := fn(s.first)
		if err == nil {
			err = s.collection.repo.Insert(ctx, &record{Name: s.name, Next: &next})
		}
		if !errors.Is(err, repo.ErrExists) { // somebody was faster
			return err
		}
	}
}

// whole reports a record without its number.
func whole(r *record) error {
	if r.Next == nil {
		return fmt.Errorf("the record has no field next: another program wrote it: %w", repo.ErrCorrupt)
	}
	return nil
}
