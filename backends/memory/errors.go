package memory

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/repo/driver"
)

var errClosed = fmt.Errorf("memory: %w", driver.ErrClosed)

// ended returns the error of a call whose context is over.
func ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("memory: %w: %w", driver.ErrTimeout, err)
	}
	return nil
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("memory: %s: %w", fmt.Sprintf(format, args...), driver.ErrInvalid)
}

func schema(format string, args ...any) error {
	return fmt.Errorf("memory: %s: %w", fmt.Sprintf(format, args...), driver.ErrSchema)
}
