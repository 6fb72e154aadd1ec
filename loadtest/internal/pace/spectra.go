package pace

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/polystore/polystore/loadtest/internal/limit"
)

// The times that are kept of each query, as indexes of spectra.
const (
	LagTime = iota
	waitTime
	ServiceTime
	ResponseTime
	KindsOfTime
)

// Spectra are histograms of the four times, in nanoseconds.
type Spectra [KindsOfTime]*hdrhistogram.Histogram

// NewSpectra returns empty histograms.
func NewSpectra() Spectra {
	var s Spectra
	for i := range s {
		s[i] = hdrhistogram.New(1000, limit.LongestTime, 3)
	}
	return s
}

// Record adds the times of an operation.
func (s Spectra) Record(x *Sample) {
	for i, v := range [KindsOfTime]int64{x.lag, x.wait, x.service, x.Response()} {
		_ = s[i].RecordValue(min(max(v, 0), limit.LongestTime)) // never out of range
	}
}

// Encoded returns a histogram as text: HDR V2, base64.
func Encoded(h *hdrhistogram.Histogram) string {
	text, err := h.EncodeV2()
	if err != nil {
		return "" // it is encoded into memory, which cannot fail
	}
	return string(text)
}
