package page

import (
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/polystore/polystore/loadtest/report"
)

// charts are what the script draws. Times are milliseconds; nil is no value, as NaN is none in JSON.
type charts struct {
	Candidates []string  `json:"candidates"`
	Queries    []query   `json:"queries"`
	Query      int       `json:"query"` // the one that is shown first
	Spectra    []float64 `json:"spectra"`
	Rounds     int       `json:"rounds"`
	Time       []moment  `json:"time"`
	Stalls     []band    `json:"stalls"`
	Bytes      []size    `json:"bytes"`
}

// A query has the curves of each candidate.
type query struct {
	Name    string       `json:"name"`
	Upper   string       `json:"upper"` // the percentile that is shown
	Bound   *float64     `json:"bound"`
	Spectra [][]*float64 `json:"spectra"` // by candidate, and by the places of charts.Spectra
	Rounds  [][]*float64 `json:"rounds"`  // by candidate and round: the upper percentile
	Steps   [][]step     `json:"steps"`   // by candidate: the upper percentile at each rate that was tried
}

type step struct {
	Rate int      `json:"rate"`
	Time *float64 `json:"time"`
	Met  bool     `json:"met"`
}

// A moment is an interval of the measurement, in which one candidate had its turn.
type moment struct {
	At        float64  `json:"at"` // seconds
	Candidate int      `json:"candidate"`
	P50       *float64 `json:"p50"`
	P99       *float64 `json:"p99"`
	First     bool     `json:"first"` // of its round
}

// A band is a round with a stall.
type band struct {
	Candidate int     `json:"candidate"`
	Round     int     `json:"round"`
	From      float64 `json:"from"` // seconds
	To        float64 `json:"to"`
}

type size struct {
	Candidate int   `json:"candidate"`
	Records   int64 `json:"records"`
	Indexes   int64 `json:"indexes"`
}

// places are those of a spectrum: one call in so many takes at least the time that stands there.
func places() (list []float64) {
	for k := range 8*5 + 1 {
		list = append(list, math.Pow(10, float64(k)/8))
	}
	return list
}

// beyond is how many calls must lie beyond a place of the spectrum.
const beyond = 10

func chartsOf(r *report.Result) *charts {
	c := &charts{Candidates: []string{}, Spectra: places(), Rounds: r.Rounds, Time: []moment{}, Stalls: []band{}, Bytes: []size{}, Queries: []query{}}
	if s := r.Sheet(); len(s.Deciding) > 0 {
		c.Query = s.Deciding[0]
	}
	for i := range r.Candidates {
		of := &r.Candidates[i]
		c.Candidates = append(c.Candidates, of.Name)
		if of.RecordBytes >= 0 {
			c.Bytes = append(c.Bytes, size{i, of.RecordBytes, max(of.IndexBytes, 0)})
		}
		for j := range of.Rounds {
			c.add(i, &of.Rounds[j])
		}
	}
	slices.SortStableFunc(c.Time, func(a, b moment) int { return int(math.Copysign(1, a.At-b.At)) })
	for at := range r.Queries {
		c.Queries = append(c.Queries, c.queryOf(r, at))
	}
	return c
}

// add takes the time line of a round.
func (c *charts) add(candidate int, x *report.RoundResult) {
	if x.Stall > 0 {
		c.Stalls = append(c.Stalls, band{candidate, x.Number, x.Began.Seconds(), (x.Began + x.Took).Seconds()})
	}
	for i, s := range x.Series {
		c.Time = append(c.Time, moment{(x.Began + s.At).Seconds(), candidate, millis(s.P50), millis(s.P99), i == 0})
	}
}

func (c *charts) queryOf(r *report.Result, at int) query {
	upper, of := r.Queries[at].Upper()
	q := query{Name: r.Queries[at].Name, Upper: upper.Name, Bound: millis(upper.Bound)}
	for i := range r.Candidates {
		x := &r.Candidates[i]
		q.Spectra = append(q.Spectra, spectrum(x.Queries[at].Histograms["response"], c.Spectra))
		line := make([]*float64, r.Rounds)
		for j := range x.Rounds {
			if n := x.Rounds[j].Number; n >= 1 && n <= r.Rounds && x.Rounds[j].Queries[at].Calls > 0 {
				line[n-1] = millis(of(&x.Rounds[j].Queries[at]).Response)
			}
		}
		q.Rounds = append(q.Rounds, line)
		steps := []step{}
		for _, s := range x.Steps {
			var list []time.Duration
			for j := range s.Rounds {
				if s.Rounds[j].Queries[at].Calls > 0 {
					list = append(list, of(&s.Rounds[j].Queries[at]).Response)
				}
			}
			slices.Sort(list)
			if len(list) > 0 {
				steps = append(steps, step{s.Rate, millis(list[len(list)/2]), s.Met})
			}
		}
		slices.SortStableFunc(steps, func(a, b step) int { return a.Rate - b.Rate })
		q.Steps = append(q.Steps, steps)
	}
	return q
}

// spectrum returns the times of a histogram at places, nil where too few calls lie beyond. A histogram
// that cannot be read has none.
func spectrum(encoded string, places []float64) []*float64 {
	list := make([]*float64, len(places))
	h, err := hdrhistogram.Decode([]byte(encoded))
	if err != nil {
		return list
	}
	n := h.TotalCount()
	for i, x := range places {
		if float64(n) >= beyond*x {
			list[i] = millis(time.Duration(h.ValueAtQuantile(100 * (1 - 1/x))))
		}
	}
	return list
}

// millis returns a time for a logarithmic scale, on which there is no zero.
func millis(d time.Duration) *float64 {
	if d <= 0 {
		return nil
	}
	x := float64(d) / 1e6
	return &x
}
