package measure

import (
	"fmt"
	"time"

	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/pace"
)

// watch shows how the next round goes while it does.
func (m *Measurement) watch(number, place int, label string) {
	if m.progress == nil {
		return
	}
	what := m.title(number) + ": " + label
	m.progress.Status("%s", what)
	behind := (m.w.Rounds-number)*len(m.candidates) + len(m.candidates) - place - 1
	m.bench.Watch = func(l pace.Live) {
		m.progress.Live(time.Now(), liveLines(what, &l, time.Duration(behind)*(l.Took+l.Left))...)
	}
}

// title says which round it is; 0 warms up.
func (m *Measurement) title(number int) string {
	if number == 0 {
		return "warm-up"
	}
	return fmt.Sprintf("round %d of %d", number, m.w.Rounds)
}

// liveLines tells of a round under way, after which others take so long.
func liveLines(what string, l *pace.Live, others time.Duration) []string {
	return []string{
		what,
		fmt.Sprintf("  %s/s, p50 %s, p99 %s, %s", format.Count(l.Rate()), format.Duration(l.P50), format.Duration(l.P99), format.Plural(l.Failed, "error")),
		fmt.Sprintf("  about %s of rounds left", (l.Left + others).Round(time.Second)),
	}
}
