package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"
)

// WriteCSV writes a row for each candidate and query. The head has the units.
func (r *Result) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"workload", "seed", "model", "store", "class", "state", "query", "kind", "weight_percent", "rate_per_s", "calls", "failed", "unfinished", "no_effect",
		"response_p50_us", "response_p90_us", "response_p99_us", "response_max_us", "service_p50_us", "service_p99_us",
		"objectives_met", "objectives", "scans", "sampled_trips_per_call", "sampled_requests_per_call", "sampled_rows_per_call", "sampled_cpu_us_per_call",
		"model_cpu_us_per_op", "model_record_bytes", "model_index_bytes"}) // Error has what went wrong
	for i := range r.Candidates {
		c := &r.Candidates[i]
		for at := range c.Queries {
			_ = out.Write(r.row(c, at))
		}
	}
	out.Flush()
	return out.Error()
}

func (r *Result) row(c *CandidateResult, at int) []string {
	q, s := &c.Queries[at], &r.Queries[at]
	met := 0
	for _, o := range q.Objectives {
		if o.Met {
			met++
		}
	}
	times := func(list ...time.Duration) (out []string) {
		for _, d := range list {
			if q.Calls == 0 {
				out = append(out, "") // there is none
			} else {
				out = append(out, number(float64(d)/1e3))
			}
		}
		return out
	}
	count := func(n int) string { return strconv.Itoa(n) }
	row := []string{cell(r.Workload), strconv.FormatUint(r.Seed, 10), cell(c.Model), cell(c.Store), c.Durability, c.State, cell(q.Name), cell(s.Kind), number(s.Weight), count(r.Rate),
		strconv.FormatInt(q.Calls, 10), count(q.failed()), count(q.Outcomes[outcomeUnfinished]), count(q.NoEffect)}
	row = append(row, times(q.Response.P50, q.Response.P90, q.Response.P99, q.Response.Max, q.Service.P50, q.Service.P99)...)
	row = append(row, count(met), count(len(q.Objectives)), strconv.FormatBool(q.Scans), number(q.TripsEach), number(q.RequestsEach), number(q.RowsEach),
		number(float64(q.SampledCPU)/1e3), number(float64(c.CPUPerOp)/1e3))
	if c.RecordBytes < 0 {
		return append(row, "", "") // the store does not tell
	}
	return append(row, strconv.FormatInt(c.RecordBytes, 10), strconv.FormatInt(c.IndexBytes, 10))
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// cell returns a name that no spreadsheet takes for a formula.
func cell(name string) string {
	name = printable(name)
	if strings.ContainsAny(name[:min(1, len(name))], "=+-@") {
		return "'" + name
	}
	return name
}
