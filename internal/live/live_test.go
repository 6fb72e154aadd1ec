package live_test

import (
	"strings"
	"testing"

	"github.com/polystore/polystore/internal/live"
)

// An index that is added and dropped has no missing and no false rows, whoever sleeps meanwhile.
func TestScenarios(t *testing.T) {
	all := 0
	for _, s := range live.Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			slept, faults := s.Play(t)
			for _, f := range faults {
				t.Error(f)
			}
			if all += slept; slept == 0 && strings.HasPrefix(s.Name, "life") {
				t.Error("no call slept")
			}
		})
	}
	t.Logf("%d calls slept in %d scenarios", all, len(live.Scenarios()))
}
