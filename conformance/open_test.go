package conformance

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo/driver"
)

// Nothing that is nil makes the suite panic: the error says what is missing.
func TestNilArguments(t *testing.T) {
	var none context.Context
	var store *memory.Store
	good := func(context.Context) (driver.Store, error) { return memory.New(nil), nil }
	nothing := func(context.Context) (driver.Store, error) { return nil, nil }
	pointer := func(context.Context) (driver.Store, error) { return store, nil }
	check := func(ctx context.Context, open Open) error { _, err := Check(ctx, open, Options{}); return err }
	trouble := Trouble{Rounds: 1, Make: func(context.Context, uint64) {}}
	for name, do := range map[string]func() error{
		"Check: context":             func() error { return check(none, good) },
		"Check: open":                func() error { return check(t.Context(), nil) },
		"Check: store":               func() error { return check(t.Context(), nothing) },
		"Check: store, as a pointer": func() error { return check(t.Context(), pointer) },
		"Check: open with a kind":    func() error { return check(t.Context(), WithKind(nil, "table")) },
		"Check: store with a kind":   func() error { return check(t.Context(), WithKind(nothing, "table")) },
		"Run: open":                  func() error { _, err := newSuite(t.Context(), nil, nil); return err },
		"Run: store":                 func() error { _, err := newSuite(t.Context(), pointer, nil); return err },
		"Child: open":                func() error { return writeUntilKilled(nil, "t") },
		"InTrouble: context":         func() error { _, err := InTrouble(none, good, trouble); return err },
		"InTrouble: open":            func() error { _, err := InTrouble(t.Context(), nil, trouble); return err },
		"InTrouble: Make":            func() error { _, err := InTrouble(t.Context(), good, Trouble{}); return err },
	} {
		err := func() (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("a panic: %v", p)
				}
			}()
			return do()
		}()
		if !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("%s: %v; want ErrInvalid", name, err)
		}
	}
}
