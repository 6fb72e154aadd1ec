package memory

import (
	"context"

	"github.com/polystore/polystore/internal/backend"
	"github.com/polystore/polystore/repo/driver"
)

// who is what the errors of this package begin with.
const who = backend.Name("memory")

func invalid(format string, args ...any) error { return who.Invalid(format, args...) }

func schema(format string, args ...any) error { return who.Schema(format, args...) }

func closed() error { return who.Wrap(driver.ErrClosed) }

// ended returns the error of a call whose context is over.
func ended(ctx context.Context) error { return who.Ended(backend.Cause(ctx)) }
