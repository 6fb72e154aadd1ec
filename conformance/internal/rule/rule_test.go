package rule_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/watchdog"
	"github.com/polystore/polystore/repo/driver"
)

const limit = 3 * time.Minute // for a step of a rule

// A rule on a slow machine has all the time that it needs, as long as it goes on; one that comes no
// further is ended, and one that does not end is left behind.
func TestSlowRule(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		check  func(ctx context.Context, e *rule.Env)
		within time.Duration
		want   string // "" if it holds
	}{
		"goes on": {func(ctx context.Context, e *rule.Env) {
			for range 15 {
				time.Sleep(limit / 2)
				e.OK("step", ctx.Err())
			}
		}, 11 * limit, ""},
		"goes on in a part": {func(ctx context.Context, e *rule.Env) {
			e.Within(ctx, "the part", func(ctx context.Context) {
				for range 15 {
					time.Sleep(limit / 8)
					e.OK("step", ctx.Err())
				}
			})
		}, 3 * limit, ""},
		"stops": {func(ctx context.Context, e *rule.Env) {
			<-ctx.Done()
			e.OK("next step", driver.ErrTimeout)
		}, limit + time.Second, "it came no further within 3m0s"},
		"stops in a part": {func(ctx context.Context, e *rule.Env) {
			e.Within(ctx, "the part", func(context.Context) { <-ctx.Done() })
		}, limit, "nothing within 1m30s"},
		"goes on for ever": {func(ctx context.Context, e *rule.Env) {
			for {
				time.Sleep(time.Second)
				e.OK("step", ctx.Err())
			}
		}, watchdog.Longest*limit + time.Second, "it took 30m0s"},
		"goes on for ever, whatever its context": {func(_ context.Context, e *rule.Env) {
			for began := time.Now(); time.Since(began) < 2*watchdog.Longest*limit; time.Sleep(time.Second) {
				e.OK("step", nil)
			}
		}, (watchdog.Longest + 2) * limit, "none within 4m30s"},
		"does not end": {func(ctx context.Context, _ *rule.Env) {
			<-ctx.Done()
			time.Sleep(limit)
		}, 2 * limit, "none within 4m30s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, r := time.Now(), &rule.Rule{Entry: rule.Entry[*rule.Env]{Name: name, Check: tt.check}}
				err := r.Run(t.Context(), &rule.Suite{Limit: limit})
				m, ok := errors.AsType[*finding.Mismatch](err)
				if tt.want == "" && err != nil || tt.want != "" && (!ok || !strings.Contains(m.Got, tt.want)) {
					t.Errorf("%v, want %q", err, tt.want)
				}
				if took := time.Since(began); took > tt.within {
					t.Errorf("it took %s", took)
				}
				time.Sleep(watchdog.Longest * limit) // for what was left behind
			})
		})
	}
}
