package loadtest

import (
	"errors"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/polystore/polystore/loadtest/internal/candidate"
	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/measure"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/pace"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/loadtest/report"
)

// result judges what was measured. With an error that ended the run there is no verdict.
func (r *run) result(ended error) *report.Result {
	w := r.w
	out := &report.Result{Format: report.Format, Workload: w.Name, File: w.File, Fingerprint: r.fingerprint, Began: r.began.UTC(), Took: time.Since(r.began), Phases: r.phases, Again: r.opts.Again,
		Seed: w.Seed, Rate: w.Rate, Rounds: w.Rounds, Round: w.Round, Slots: w.Slots, Environment: environment(), Compared: r.compared, Share: r.shared.share()}
	if r.trace != nil {
		out.Trace = r.trace.String()
	}
	for _, s := range r.stores {
		f := s.Facts
		out.Stores = append(out.Stores, report.StoreResult{URL: s.URL, Name: f.Name, Version: f.Version, Detail: f.Detail, Durability: f.Durability.String(), Delay: f.Delay,
			Setting: f.Setting, TellsSizes: f.Sizes.Has, Sizes: f.Sizes.Reason, InProcess: s.InProcess(), CPUOf: s.CPUOf()})
	}
	for i, c := range w.Collections {
		out.Data = append(out.Data, report.DataResult{Collection: c.Schema.Collection, Key: c.Key(), Records: r.data[i].Len, File: c.Data.File})
	}
	for _, m := range w.Models {
		out.Models = append(out.Models, m.Name)
		for i, c := range w.Collections {
			if p, ok := r.data[i].Partitions[strings.Join(m.Schemas[i].Partition, ",")]; ok && c.Tree == nil {
				s := report.SpreadResult{Model: m.Name, Collection: c.Schema.Collection, Partition: m.Schemas[i].Partition, Partitions: p.Count, Largest: p.Largest}
				if host := m.Hosts[i]; host != nil {
					s.In, s.Grown = host.Schema.Collection, largestHost(r.candidates, m, i)
				}
				out.Spreads = append(out.Spreads, s)
			}
		}
	}
	out.Queries = r.asked()
	for i, c := range r.candidates {
		out.Candidates = append(out.Candidates, candidateResult(w, c, r.measured[i]))
		if out.Share != nil {
			out.Candidates[i].LagTimes = pace.Encoded(r.measured[i].All[pace.LagTime])
		}
		if i < len(r.steps) {
			out.Candidates[i].Steps = r.steps[i]
		}
		if i < len(r.endured) {
			out.Candidates[i].Endured = r.endured[i]
		}
	}
	for _, c := range r.absent {
		out.NotThere = append(out.NotThere, report.AbsentResult{Name: c.Label, Model: c.Model.Name, Store: c.Store.URL, Reason: c.Lacks})
	}
	if ended != nil {
		out.Ended, out.Wrong = ended.Error(), errors.As(ended, new(*failure.WrongAnswers))
	}
	report.Judge(out)
	return out
}

// largestHost returns how many records of a collection a record has at the end in which a model embeds them.
func largestHost(candidates []*candidate.Candidate, m *workload.Model, at int) (largest int) {
	for _, c := range candidates {
		if c.Model == m {
			largest = max(largest, c.LargestHost(at))
		}
	}
	return largest
}

// asked returns what the workload says of the queries.
func (r *run) asked() (list []report.QuerySetting) {
	for _, q := range r.w.Queries {
		s := report.QuerySetting{Name: q.Name, Weight: q.Weight, Kind: q.Kind, Writes: q.Writes(), Collection: q.Collection.Schema.Collection, Misses: q.Misses}
		for _, o := range q.Objectives {
			s.Objectives = append(s.Objectives, report.ObjectiveSetting{Name: o.Name, Percentile: o.Percentile, Bound: o.Bound})
		}
		list = append(list, s)
	}
	return list
}

func candidateResult(w *workload.Workload, c *candidate.Candidate, m *measure.Measured) report.CandidateResult {
	out := report.CandidateResult{Name: c.Label, Model: c.Model.Name, Store: c.Store.URL, StoreAt: c.Store.At, Durability: c.Store.Facts.Durability.String(),
		Loaded: c.Loaded, RecordBytes: c.Records, IndexBytes: c.Indexes, Lag: report.PercentilesOf(m.All[pace.LagTime]), Reads: typical(w, m, false), Writes: typical(w, m, true),
		Rounds: m.Rounds, Failures: m.Failures, Failure: m.Failure}
	for at := range w.Queries {
		out.Queries = append(out.Queries, queryResult(w, c, m, at))
	}
	return out
}

// typical returns the median response of all queries that write, or read.
func typical(w *workload.Workload, m *measure.Measured, writes bool) report.Typical {
	all := hdrhistogram.New(1000, limit.LongestTime, 3)
	for at, q := range w.Queries {
		if q.Writes() == writes {
			all.Merge(m.Spectra[at][pace.ResponseTime])
		}
	}
	return report.TypicalOf(all)
}

func queryResult(w *workload.Workload, c *candidate.Candidate, m *measure.Measured, at int) report.QueryResult {
	s, p := m.Spectra[at], c.Probes[at]
	q := report.QueryResult{Name: w.Queries[at].Name, Scans: c.Scans[at], Calls: s[pace.ResponseTime].TotalCount(), Outcomes: map[string]int{},
		Response: report.PercentilesOf(s[pace.ResponseTime]), Service: report.PercentilesOf(s[pace.ServiceTime]), Histograms: map[string]string{}, CutOffFrom: m.Cuts[at],
		SampledCalls: p.Calls, SampledNoEffect: p.Nothing,
		SampledCPU: p.Each.CPU(), SampledOfIt: p.Each.Server, TripsEach: p.Each.Trips, RequestsEach: p.Each.Requests, RowsEach: p.Each.Rows, FoundEach: p.Found}
	if c.Seen != nil {
		q.Checked, q.CheckedWhole = c.Seen.Tally[at].Answers, c.Seen.Tally[at].Complete
	}
	for o := operation.Done; o <= operation.Unfinished; o++ {
		if n := m.Outcomes[at][o]; n > 0 {
			q.Outcomes[o.String()] = n
			if o.Nothing() {
				q.NoEffect += n
			}
		}
	}
	for i, name := range [pace.KindsOfTime]string{"lag", "wait", "service", "response"} {
		q.Histograms[name] = pace.Encoded(s[i])
	}
	return q
}
