package double

import (
	"context"
	"errors"
)

// Ended returns a context that has ended with an error.
func Ended(ctx context.Context, with error) context.Context {
	if errors.Is(with, context.Canceled) {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return ctx
	}
	ctx, cancel := context.WithTimeout(ctx, -1)
	cancel()
	return ctx
}
