package conformance_test

import (
	"context"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/conformance"
	"github.com/polystore/polystore/repo/driver"
)

func TestMemory(t *testing.T) {
	conformance.Run(t, func(context.Context) (driver.Store, error) { return memory.New(nil), nil })
}
