package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/polystore/polystore/loadtest/internal/format"
)

// Merge makes one result of those of all shares of a run, and judges it as a run is judged. Counts are sums, and
// percentiles are those of the merged histograms. Results that do not belong together are refused, with the file and why.
func Merge(files []string) (*Result, error) {
	var parts []*Result
	for _, file := range files {
		r, err := Read(file)
		if err != nil {
			return nil, err
		}
		parts = append(parts, r)
	}
	parts, err := together(files, parts)
	if err != nil {
		return nil, err
	}
	m := &merging{parts: parts}
	out := m.result()
	if m.err != nil {
		return nil, fmt.Errorf("merge: %w; %s", m.err, repeat)
	}
	Judge(out)
	return out, nil
}

// together returns the results in the order of their shares, if they are all shares of one run.
func together(files []string, parts []*Result) ([]*Result, error) {
	if len(parts) == 0 {
		return nil, fmt.Errorf("there is no result to merge; name the result.json of each share")
	}
	first := parts[0]
	at := map[int]string{} // files by number
	for i, r := range parts {
		if err := mergeable(r); err != nil {
			return nil, fmt.Errorf("merge: %s %w", files[i], err)
		}
		if what, a, b := differ(first, r); what != "" {
			return nil, fmt.Errorf("merge: %s and %s are of different runs: %s is %s, and %s; name the results of one run alone", files[0], files[i], what, a, b)
		}
		if other, twice := at[r.Share.Number]; twice {
			return nil, fmt.Errorf("merge: %s and %s are both %s; name each result once", other, files[i], r.Share)
		}
		at[r.Share.Number] = files[i]
	}
	for n := 1; n <= first.Share.Of; n++ {
		if at[n] == "" {
			return nil, fmt.Errorf("merge: share %d of %d is missing; name its result, or repeat the run with all shares", n, first.Share.Of)
		}
	}
	return slices.SortedFunc(slices.Values(parts), func(a, b *Result) int { return cmp.Compare(a.Share.Number, b.Share.Number) }), nil
}

// mergeable says why a result is no share that can be merged, nil if it is one. The text goes on after the file.
func mergeable(r *Result) error {
	switch {
	case r.Share == nil && len(r.Shares) > 0:
		return fmt.Errorf("is merged already; name the results of the shares")
	case r.Share == nil:
		return fmt.Errorf("is the result of a whole run; name results of polystore load --share")
	case r.Share.Number < 1 || r.Share.Number > r.Share.Of:
		return fmt.Errorf("says that it is %s; %s", r.Share, repeat)
	case r.lost():
		return fmt.Errorf("is of a share that did not come to its end (%s); repeat the run with all shares", r.Ended)
	}
	return nil
}

// differ returns in what two results are of different runs, and both values; "" if in nothing.
func differ(a, b *Result) (what, x, y string) {
	pace := func(r *Result) string {
		return fmt.Sprintf("%s/s, %d rounds of %v, %s slots", format.Count(r.Rate), r.Rounds, r.Round, format.Count(r.Slots))
	}
	names := func(r *Result) string {
		var list []string
		for _, c := range r.Candidates {
			list = append(list, fmt.Sprintf("%s with %d rounds", c.Name, len(c.Rounds)))
		}
		return format.Joined(list)
	}
	for _, d := range []struct{ what, x, y string }{
		{"the number of shares", fmt.Sprint(a.Share.Of), fmt.Sprint(b.Share.Of)},
		{"the workload", a.Workload, b.Workload},
		{"what the workload file says", "fingerprint " + a.Fingerprint, "fingerprint " + b.Fingerprint},
		{"the seed", fmt.Sprint(a.Seed), fmt.Sprint(b.Seed)},
		{"the pace", pace(a), pace(b)},
		{"the data", "hash " + a.Share.Data, "hash " + b.Share.Data},
		{"the layout", "hash " + a.Share.Layout, "hash " + b.Share.Layout},
		{"the program", a.Environment.Program, b.Environment.Program},
		{"the start", a.Share.Start.Format(time.RFC3339), b.Share.Start.Format(time.RFC3339)},
		{"the run", a.Share.Group, b.Share.Group},
		{"the list of queries", queries(a), queries(b)},
		{"what was measured", names(a), names(b)},
	} {
		if d.x != d.y {
			return d.what, d.x, d.y
		}
	}
	return "", "", ""
}

// A merging makes one result of the shares of a run.
type merging struct {
	parts []*Result // in the order of their numbers
	err   error     // the first one
}

// result merges all. What one share found out for all is taken from the first.
func (m *merging) result() *Result {
	out := *m.parts[0]
	out.Share, out.Shares, out.Candidates = nil, nil, nil
	for _, r := range m.parts {
		out.Shares = append(out.Shares, r.Environment)
		out.Took = max(out.Took, r.Took)
	}
	for i := range m.parts[0].Candidates {
		out.Candidates = append(out.Candidates, m.candidate(i))
	}
	return &out
}

// each returns what the shares have of one thing.
func each[T any](m *merging, of func(*Result) *T) (list []*T) {
	for _, r := range m.parts {
		list = append(list, of(r))
	}
	return list
}

// candidate merges what the shares measured of a candidate.
func (m *merging) candidate(i int) CandidateResult {
	list := each(m, func(r *Result) *CandidateResult { return &r.Candidates[i] })
	out := *list[0]
	lag := m.histogram(texts(list, func(c *CandidateResult) string { return c.LagTimes }))
	out.Lag, out.LagTimes, out.Failures, out.Failure = PercentilesOf(lag), "", 0, ""
	for _, c := range list {
		out.Failures += c.Failures
		out.Failure = cmp.Or(out.Failure, c.Failure)
	}
	out.Queries, out.Rounds = nil, nil
	reads, writes := newHistogram(), newHistogram()
	for at := range list[0].Queries {
		q := m.query(each(m, func(r *Result) *QueryResult { return &r.Candidates[i].Queries[at] }))
		all := reads
		if m.parts[0].Queries[at].Writes {
			all = writes
		}
		all.Merge(m.histogram([]string{q.Histograms["response"]}))
		out.Queries = append(out.Queries, q)
	}
	out.Reads, out.Writes = TypicalOf(reads), TypicalOf(writes)
	for at := range list[0].Rounds {
		out.Rounds = append(out.Rounds, m.round(each(m, func(r *Result) *RoundResult { return &r.Candidates[i].Rounds[at] })))
	}
	return out
}

// query merges what the shares measured of a query in all rounds. The sampled calls were sent by the first.
func (m *merging) query(list []*QueryResult) QueryResult {
	out := *list[0]
	out.Outcomes, out.Histograms = map[string]int{}, map[string]string{}
	out.Calls, out.NoEffect, out.CutOffFrom, out.Checked, out.CheckedWhole = 0, 0, 0, 0, 0
	for _, q := range list {
		out.Calls, out.NoEffect = out.Calls+q.Calls, out.NoEffect+q.NoEffect
		out.Checked, out.CheckedWhole = out.Checked+q.Checked, out.CheckedWhole+q.CheckedWhole
		if cut := q.CutOffFrom; cut > 0 && (out.CutOffFrom == 0 || cut < out.CutOffFrom) {
			out.CutOffFrom = cut
		}
		for outcome, n := range q.Outcomes {
			out.Outcomes[outcome] += n
		}
	}
	for _, name := range slices.Sorted(maps.Keys(list[0].Histograms)) {
		h := m.histogram(texts(list, func(q *QueryResult) string { return q.Histograms[name] }))
		switch out.Histograms[name] = m.encoded(h); name {
		case "response":
			out.Response = PercentilesOf(h)
		case "service":
			out.Service = PercentilesOf(h)
		}
		if n := h.TotalCount(); n != out.Calls {
			m.fail("a histogram of query %q has %d calls, and there were %d", out.Name, n, out.Calls)
		}
	}
	return out
}
