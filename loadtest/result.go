package loadtest

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/report"
)

// result judges what was measured. With a store that was lost there is no verdict.
func (r *run) result(lost *StoreLost) *report.Result {
	w := r.w
	out := &report.Result{Format: report.Format, Workload: w.Name, File: w.File, Began: r.began.UTC(), Took: time.Since(r.began), Again: r.opts.Again,
		Seed: w.Seed, Rate: w.Rate, Rounds: w.Rounds, Round: w.Round, Slots: w.Slots, Environment: environment(), Compared: r.compared}
	for _, s := range r.stores {
		f := s.facts
		out.Stores = append(out.Stores, report.StoreResult{URL: s.url, Name: f.Name, Version: f.Version, Detail: f.Detail, Durability: f.Durability.String(), Delay: f.Delay,
			Setting: f.Setting, TellsSizes: f.Sizes.Has, Sizes: f.Sizes.Reason, InProcess: s.inProcess(), CPUOf: s.cpuOf()})
	}
	for i, c := range w.collections {
		out.Data = append(out.Data, report.DataResult{Collection: c.schema.Collection, Key: c.key(), Records: r.data[i].n, File: c.data.file})
	}
	for _, m := range w.models {
		out.Models = append(out.Models, m.name)
	}
	for _, q := range w.queries {
		s := report.QuerySetting{Name: q.name, Weight: q.weight, Kind: q.kind, Writes: q.writes(), Collection: q.collection.schema.Collection, Misses: q.misses}
		for _, o := range q.objectives {
			s.Objectives = append(s.Objectives, report.ObjectiveSetting{Name: o.name, Percentile: o.percentile, Bound: o.bound})
		}
		out.Queries = append(out.Queries, s)
	}
	for i, c := range r.candidates {
		out.Candidates = append(out.Candidates, candidateResult(w, c, r.measured[i]))
	}
	for _, c := range r.absent {
		out.NotThere = append(out.NotThere, report.AbsentResult{Name: c.label, Model: c.model.name, Store: c.store.url, Reason: c.lacks})
	}
	if lost != nil {
		out.Ended = lost.Error()
	}
	report.Judge(out)
	return out
}

func percentiles(h *hdrhistogram.Histogram) report.Percentiles {
	at := func(q float64) time.Duration { return time.Duration(h.ValueAtQuantile(q)) }
	return report.Percentiles{P50: at(50), P90: at(90), P99: at(99), Max: time.Duration(h.Max())}
}

func candidateResult(w *Workload, c *candidate, m *measured) report.CandidateResult {
	out := report.CandidateResult{Name: c.label, Model: c.model.name, Store: c.store.url, StoreAt: c.store.at, Durability: c.store.facts.Durability.String(),
		Loaded: c.loaded, RecordBytes: c.records, IndexBytes: c.indexes, Lag: percentiles(m.all[lagTime]), Reads: typical(w, m, false), Writes: typical(w, m, true),
		Rounds: m.rounds, Failures: m.failures, Failure: m.failure}
	for at := range w.queries {
		out.Queries = append(out.Queries, queryResult(w, c, m, at))
	}
	return out
}

// typical returns the median response of all queries that write, or read.
func typical(w *Workload, m *measured, writes bool) report.Typical {
	all := hdrhistogram.New(1000, limit.LongestTime, 3)
	for at, q := range w.queries {
		if q.writes() == writes {
			all.Merge(m.spectra[at][responseTime])
		}
	}
	return report.Typical{Calls: all.TotalCount(), P50: time.Duration(all.ValueAtQuantile(50))}
}

func queryResult(w *Workload, c *candidate, m *measured, at int) report.QueryResult {
	s, p := m.spectra[at], c.probes[at]
	q := report.QueryResult{Name: w.queries[at].name, Scans: c.scans[at], Calls: s[responseTime].TotalCount(), Outcomes: map[string]int{},
		Response: percentiles(s[responseTime]), Service: percentiles(s[serviceTime]), Histograms: map[string]string{}, CutOffFrom: m.cuts[at],
		SampledCalls: p.calls, SampledNoEffect: p.nothing,
		SampledCPU: p.each.cpu(), SampledOfIt: p.each.server, TripsEach: p.each.trips, RequestsEach: p.each.requests, RowsEach: p.each.rows, FoundEach: p.found}
	for o := done; o <= unfinished; o++ {
		if n := m.outcomes[at][o]; n > 0 {
			q.Outcomes[o.String()] = n
			if o.nothing() {
				q.NoEffect += n
			}
		}
	}
	for i, name := range [kindsOfTime]string{"lag", "wait", "service", "response"} {
		q.Histograms[name] = encoded(s[i])
	}
	return q
}
