package loadtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/polystore/polystore/loadtest/internal/store"
	"github.com/polystore/polystore/repo/driver"
)

// Clean removes from a store what runs left that were killed, and nothing else: collections
// that such a run made. It says by tell what it removes, and which runs it leaves alone because
// they may be at work. What Keep left stays, and is told, unless Kept says that it goes, too. A nil tell tells nobody.
func Clean(ctx context.Context, opts Options, tell func(string)) error {
	if len(opts.On) != 1 {
		return errors.New("clean one store at a time")
	}
	if err := sound(ctx, opts.Open); err != nil {
		return err
	}
	if tell == nil {
		tell = func(string) {}
	}
	s, err := store.Open(ctx, opts.On[0], store.Redact(opts.On[0]), opts.Open)
	if err != nil {
		return err
	}
	return errors.Join(s.Clean(ctx, opts.Kept, tell), s.Repo.Close())
}

// sound says which argument of Run or Clean is nil.
func sound(ctx context.Context, open func(context.Context, string) (driver.Store, error)) error {
	switch {
	case ctx == nil:
		return fmt.Errorf("the context is nil; want context.Background() at the least: %w", driver.ErrInvalid)
	case open == nil:
		return fmt.Errorf("Options.Open is nil; want backends.OpenDriver, or a function like it: %w", driver.ErrInvalid)
	}
	return nil
}
