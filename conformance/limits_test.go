package conformance

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/repo/driver"
)

// A rule on a slow machine has all the time that it needs, as long as it goes on; one that comes no
// further is ended, and one that does not end is left behind.
func TestSlowRule(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		check  func(ctx context.Context, e *env)
		within time.Duration
		want   string // "" if it holds
	}{
		"goes on": {func(ctx context.Context, e *env) {
			for range 15 {
				time.Sleep(usual.limit / 2)
				e.ok("step", ctx.Err())
			}
		}, 11 * usual.limit, ""},
		"goes on in a part": {func(ctx context.Context, e *env) {
			e.within(ctx, "the part", func(ctx context.Context) {
				for range 15 {
					time.Sleep(usual.limit / 8)
					e.ok("step", ctx.Err())
				}
			})
		}, 3 * usual.limit, ""},
		"stops": {func(ctx context.Context, e *env) {
			<-ctx.Done()
			e.ok("next step", driver.ErrTimeout)
		}, usual.limit + time.Second, "it came no further within 3m0s"},
		"stops in a part": {func(ctx context.Context, e *env) {
			e.within(ctx, "the part", func(context.Context) { <-ctx.Done() })
		}, usual.limit, "nothing within 1m30s"},
		"goes on for ever": {func(ctx context.Context, e *env) {
			for {
				time.Sleep(time.Second)
				e.ok("step", ctx.Err())
			}
		}, longest*usual.limit + time.Second, "it took 30m0s"},
		"goes on for ever, whatever its context": {func(_ context.Context, e *env) {
			for began := time.Now(); time.Since(began) < 2*longest*usual.limit; time.Sleep(time.Second) {
				e.ok("step", nil)
			}
		}, (longest + 2) * usual.limit, "none within 4m30s"},
		"does not end": {func(ctx context.Context, _ *env) {
			<-ctx.Done()
			time.Sleep(usual.limit)
		}, 2 * usual.limit, "none within 4m30s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				err := (&rule{name: name, check: tt.check}).run(t.Context(), &suite{limits: usual})
				m, ok := errors.AsType[*finding.Mismatch](err)
				if tt.want == "" && err != nil || tt.want != "" && (!ok || !strings.Contains(m.Got, tt.want)) {
					t.Errorf("%v, want %q", err, tt.want)
				}
				if took := time.Since(began); took > tt.within {
					t.Errorf("it took %s", took)
				}
				time.Sleep(longest * usual.limit) // for what was left behind
			})
		})
	}
}
