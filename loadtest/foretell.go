package loadtest

import (
	"context"
	"runtime"
	"time"

	"github.com/polystore/polystore/loadtest/internal/candidate"
	"github.com/polystore/polystore/loadtest/internal/compare"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/store"
	"github.com/polystore/polystore/loadtest/internal/timing"
	"github.com/polystore/polystore/loadtest/report"
)

const roundBeside = 60 * time.Millisecond // to collect what is no longer used, and to ask what a round cost

// foretell says how long the run takes, by the first piece that was loaded and by some calls.
func (r *run) foretell(ctx context.Context, s *operation.Stream, list []*candidate.Filling) {
	left, sampled := map[*store.Store][]time.Duration{}, map[*store.Store]time.Duration{}
	rounds, verify, longest, beside := time.Duration(0), time.Duration(0), time.Duration(0), roundBeside
	for _, q := range r.w.Queries {
		beside += compare.Checked(q, r.data, int(float64(r.w.RoundOps())*q.Weight/100/limit.CheckedShare))
	}
	for _, f := range list {
		t := f.Times(ctx, r.w, func(at, n int) []operation.Call { return s.Only(at, n, 0) })
		on := f.Of.Store
		left[on] = append(left[on], f.Left())
		sampled[on] += compare.Takes(r.w, r.data, t)
		rounds += timing.Rounds(r.w.Rounds, r.w.Round, beside, t.Scans*float64(r.w.Rate)/float64(runtime.NumCPU()))
		whole := t.Walk + t.Whole
		verify += whole / time.Duration(runtime.NumCPU())
		longest = max(longest, whole) // all at the same time
	}
	if p := r.shared.part(); p != nil {
		rounds = time.Duration((r.w.Rounds+1)*len(list)) * p.Every
	}
	load := time.Duration(0)
	for on, of := range left {
		load = max(load, timing.Shared(of, loadedAtOnce(on)))
	}
	compared := time.Duration(0)
	for _, d := range sampled {
		compared = max(compared, d)
	}
	r.told = []report.Phase{{Name: "load", Took: time.Since(r.began) + load}, {Name: "compare", Took: compared}, {Name: "measure", Took: rounds},
		{Name: "faults", Took: time.Duration(len(list)) * r.lasts}, {Name: "verify", Took: max(verify, longest)}}
	text := report.About(r.told)
	if r.opts.Max {
		text += ", and the search for the highest rates"
	}
	r.progress.Say("%s", text)
}
