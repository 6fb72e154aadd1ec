package loadtest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/repo/driver"
)

// Nothing that is nil makes the tool panic: the error says what is missing.
func TestNilArguments(t *testing.T) {
	var none context.Context
	var store *memory.Store
	open := func(context.Context, string) (driver.Store, error) { return memory.New(nil), nil }
	good := Options{On: []string{"memory:"}, Open: open}
	empty, pointer := good, good
	empty.Open = func(context.Context, string) (driver.Store, error) { return nil, nil }
	pointer.Open = func(context.Context, string) (driver.Store, error) { return store, nil }
	w, unread := mustParse(t, testload.Small), &Workload{Rate: 100, Rounds: 1, Round: limit.MinRound}
	run := func(ctx context.Context, w *Workload, opts Options) error {
		_, err := Run(ctx, w, opts)
		return err
	}
	tell := func(string) {}
	for _, tt := range []struct {
		name string
		do   func() error
		want error
	}{
		{"Run: context", func() error { return run(none, w, good) }, driver.ErrInvalid},
		{"Run: workload", func() error { return run(t.Context(), nil, good) }, driver.ErrInvalid},
		{"Run: workload that Load did not return", func() error { return run(t.Context(), unread, good) }, driver.ErrInvalid},
		{"Run: Open", func() error { return run(t.Context(), w, Options{On: good.On}) }, driver.ErrInvalid},
		{"Run: store", func() error { return run(t.Context(), w, empty) }, driver.ErrInvalid},
		{"Run: store, as a pointer", func() error { return run(t.Context(), w, pointer) }, driver.ErrInvalid},
		{"Clean: context", func() error { return Clean(none, good, tell) }, driver.ErrInvalid},
		{"Clean: Open", func() error { return Clean(t.Context(), Options{On: good.On}, tell) }, driver.ErrInvalid},
		{"Clean: store", func() error { return Clean(t.Context(), empty, tell) }, driver.ErrInvalid},
		{"Clean: tell", func() error { return Clean(t.Context(), good, nil) }, nil},
	} {
		err := func() (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("a panic: %v", p)
				}
			}()
			return tt.do()
		}()
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v; want %v", tt.name, err, tt.want)
		}
	}
}
