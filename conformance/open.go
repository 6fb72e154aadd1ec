package conformance

import (
	"context"
	"fmt"
	"reflect"

	"github.com/polystore/polystore/repo/driver"
)

// An Open opens the store under test. It is called once for all rules that share
// the store, and again, when that handle is closed, by each rule about closing:
// a store that is not gone with its process must then be the same one. Unless
// Facts.OneProcess is set it is also called while the store is open, for another
// handle of the same one.
type Open func(ctx context.Context) (driver.Store, error)

// sound returns an Open that answers what nobody can work with by an error: no function, no
// context, and no store where there is no error.
func (o Open) sound() Open {
	return func(ctx context.Context) (driver.Store, error) {
		switch {
		case o == nil:
			return nil, fmt.Errorf("the function that opens it is nil: %w", driver.ErrInvalid)
		case ctx == nil:
			return nil, fmt.Errorf("the context is nil; want context.Background() at the least: %w", driver.ErrInvalid)
		}
		s, err := o(ctx)
		if r := reflect.ValueOf(s); err == nil && (s == nil || r.Kind() == reflect.Pointer && r.IsNil()) {
			return nil, fmt.Errorf("the function that opens it returned neither a store nor an error: %w", driver.ErrInvalid)
		}
		return s, err
	}
}
