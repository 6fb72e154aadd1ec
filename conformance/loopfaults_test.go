package conformance

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/repo/driver"
)

// lateTimeouts says of a commit that was done that nothing was, because its context has ended
// meanwhile.
func lateTimeouts(b *broken) {
	b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
		refusal, err := b.Store.Commit(ctx, token, ops)
		time.Sleep(rand.N(time.Millisecond))
		if ctx.Err() != nil && err == nil && refusal == nil {
			return nil, fmt.Errorf("%w: %w", driver.ErrTimeout, context.Cause(ctx))
		}
		return refusal, err
	}
}

// quietly ends ranges and walks as if there were no more rows, at an error that which picks.
func quietly(which func(err error, steps int) bool, ranges, walks bool) fault {
	return func(b *broken) {
		if ranges {
			b.ranged = func(ctx context.Context, s driver.Span) iter.Seq2[*driver.Row, error] {
				return untilError(b.Store.Range(ctx, s), which)
			}
		}
		if walks {
			b.walk = func(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
				return untilError(b.Store.Walk(ctx, t, mark), which)
			}
		}
	}
}

func untilError[T any](seq iter.Seq2[T, error], which func(err error, steps int) bool) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		steps := 0
		for item, err := range seq {
			if err != nil && which(err, steps) || !yield(item, err) {
				return
			}
			steps++
		}
	}
}

// afterClose picks the error of a loop under way that was closed.
func afterClose(err error, steps int) bool { return errors.Is(err, driver.ErrClosed) && steps > 0 }

// afterSteps picks the error of a context that ended after some steps.
func afterSteps(n int) func(err error, steps int) bool {
	return func(err error, steps int) bool { return errors.Is(err, context.Canceled) && steps > n }
}

// readsAhead has a goroutine read the rows of a loop, which waits for ever when the loop is left.
func readsAhead(b *broken) {
	b.ranged = func(ctx context.Context, s driver.Span) iter.Seq2[*driver.Row, error] {
		return func(yield func(*driver.Row, error) bool) {
			type step struct {
				row driver.Row
				err error
			}
			steps := make(chan step)
			go func() {
				defer close(steps)
				for r, err := range b.Store.Range(ctx, s) {
					next := step{err: err}
					if r != nil {
						next.row = double.CopyRow(r)
					}
					steps <- next
				}
			}()
			for next := range steps {
				if next.err != nil {
					yield(nil, next.err)
					return
				}
				if !yield(&next.row, nil) {
					return
				}
			}
		}
	}
}

// keepsSlots lets so many loops run at once, and counts a loop whose body panics for ever.
func keepsSlots(b *broken) {
	slots := make(chan struct{}, 32)
	b.ranged = func(ctx context.Context, s driver.Span) iter.Seq2[*driver.Row, error] {
		return func(yield func(*driver.Row, error) bool) {
			select {
			case slots <- struct{}{}:
			case <-time.After(time.Second): // for ever would be the same, but take longer
				yield(nil, fmt.Errorf("no loop ends: %w", driver.ErrUnavailable))
				return
			}
			for r, err := range b.Store.Range(ctx, s) {
				if !yield(r, err) {
					break
				}
			}
			<-slots
		}
	}
}

// nothingAfter breaks walks after whose mark there is nothing.
func nothingAfter(instead func(ctx context.Context, b *broken, t *driver.Table) iter.Seq2[driver.Chunk, error]) fault {
	return func(b *broken) {
		b.walk = func(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
			nothing := mark != ""
			for c, err := range b.Store.Walk(ctx, t, mark) {
				nothing = nothing && err == nil && len(c.Rows) == 0
				break
			}
			if nothing {
				return instead(ctx, b, t)
			}
			return b.Store.Walk(ctx, t, mark)
		}
	}
}

func beginsAnew(ctx context.Context, b *broken, t *driver.Table) iter.Seq2[driver.Chunk, error] {
	return b.Store.Walk(ctx, t, "")
}

func knowsNoMark(context.Context, *broken, *driver.Table) iter.Seq2[driver.Chunk, error] {
	return func(yield func(driver.Chunk, error) bool) { yield(driver.Chunk{}, driver.ErrInvalid) }
}
