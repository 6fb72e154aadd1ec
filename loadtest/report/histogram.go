package report

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/polystore/polystore/loadtest/internal/limit"
)

type histogram = *hdrhistogram.Histogram

// newHistogram returns an empty one of times, as those of results are.
func newHistogram() histogram { return hdrhistogram.New(1000, limit.LongestTime, 3) }

// PercentilesOf returns points of the distribution that a histogram has.
func PercentilesOf(h *hdrhistogram.Histogram) Percentiles {
	at := func(q float64) time.Duration { return time.Duration(h.ValueAtQuantile(q)) }
	return Percentiles{P50: at(50), P90: at(90), P99: at(99), Max: time.Duration(h.Max())}
}

// TypicalOf returns the median of the calls in a histogram.
func TypicalOf(h *hdrhistogram.Histogram) Typical {
	return Typical{Calls: h.TotalCount(), P50: time.Duration(h.ValueAtQuantile(50))}
}

// percentileOf returns a percentile by rank, as the marks of rounds have it.
func percentileOf(h histogram, percent float64) time.Duration {
	return rankOf(h, rank(percent, h.TotalCount()))
}

// rankOf returns the value of a rank, from 1, and 0 of an empty histogram.
func rankOf(h histogram, rank int64) time.Duration {
	n := int64(0)
	for _, bar := range h.Distribution() {
		if n += bar.Count; n >= rank && bar.Count > 0 {
			return time.Duration(bar.To)
		}
	}
	return 0
}

// texts returns the histograms of a list, as they are written.
func texts[T any](list []T, of func(T) string) (all []string) {
	for _, x := range list {
		all = append(all, of(x))
	}
	return all
}

// histogram merges histograms that are written as text.
func (m *merging) histogram(texts []string) histogram {
	all := newHistogram()
	for _, text := range texts {
		h, err := hdrhistogram.Decode([]byte(text))
		if err != nil {
			m.fail("a histogram cannot be read: %w", err)
			continue
		}
		if n := all.Merge(h); n > 0 {
			m.fail("a histogram has %d times that are too long", n)
		}
	}
	return all
}

// encoded returns a histogram as text: HDR V2, base64.
func (m *merging) encoded(h histogram) string {
	text, err := h.EncodeV2()
	if err != nil {
		m.fail("a histogram cannot be written: %w", err)
	}
	return string(text)
}

// fail notes what cannot be merged, the first time.
func (m *merging) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf(format, args...)
	}
}
