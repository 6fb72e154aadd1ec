package measure

import (
	"fmt"
	"sync"
	"time"

	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/pace"
	"github.com/polystore/polystore/loadtest/report"
)

// A Measured is what the rounds of a candidate gave.
type Measured struct {
	Rounds   []report.RoundResult
	Spectra  []pace.Spectra                  // by query
	All      pace.Spectra                    // of all queries together
	Cuts     []time.Duration                 // by query: the least response of a call that was cut off, 0 if none was
	Outcomes [][operation.Unfinished + 1]int // by query: how many calls ended so

	mu       sync.Mutex
	Failures int
	Failure  string // the first one
}

func newMeasured(queries int) *Measured {
	m := &Measured{All: pace.NewSpectra(), Cuts: make([]time.Duration, queries), Outcomes: make([][operation.Unfinished + 1]int, queries)}
	for range queries {
		m.Spectra = append(m.Spectra, pace.NewSpectra())
	}
	return m
}

// note keeps an operation's error.
func (m *Measured) note(k *operation.Call, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Failures++; m.Failures == 1 {
		m.Failure = fmt.Sprintf("%s: %v", k, err)
	}
}

// keep adds the samples of a round to the histograms.
func (m *Measured) keep(samples []pace.Sample) {
	for i := range samples {
		m.keepOne(&samples[i])
		m.All.Record(&samples[i])
	}
}

// keepOne adds a sample to the histograms of its query.
func (m *Measured) keepOne(s *pace.Sample) {
	m.Spectra[s.At].Record(s)
	m.Outcomes[s.At][s.Outcome]++
	if cut := time.Duration(s.Response()); s.Outcome == operation.Unfinished && (m.Cuts[s.At] == 0 || cut < m.Cuts[s.At]) {
		m.Cuts[s.At] = cut
	}
}
