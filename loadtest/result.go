package loadtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A Result is what came out of a run. It is written and read as JSON; times are
// in nanoseconds.
type Result struct {
	Format      int               `json:"format"` // of this file: 1
	Workload    string            `json:"workload"`
	File        string            `json:"file"`
	Began       time.Time         `json:"began"`
	Took        time.Duration     `json:"took"`
	Again       string            `json:"again"` // the command that repeats the run
	Seed        uint64            `json:"seed"`
	Rate        int               `json:"rate"`
	Rounds      int               `json:"rounds"`
	Round       time.Duration     `json:"round"`
	Slots       int               `json:"slots"`
	Environment Environment       `json:"environment"`
	Stores      []StoreResult     `json:"stores"`
	Data        []DataResult      `json:"data"`
	Queries     []QuerySetting    `json:"queries"`
	Compared    int               `json:"compared_calls"` // sampled calls that every candidate answered alike
	Candidates  []CandidateResult `json:"candidates"`
	NotThere    []AbsentResult    `json:"not_there,omitempty"`
	Verdicts    []VerdictResult   `json:"verdicts"`        // one for each class of durability
	Ended       string            `json:"ended,omitempty"` // why there is no verdict
	Exit        int               `json:"exit"`
	Text        string            `json:"text"` // the screen
}

// A StoreResult describes a store.
type StoreResult struct {
	URL        string `json:"url"` // without secrets
	Name       string `json:"name"`
	Version    string `json:"version,omitempty"`
	Detail     string `json:"detail,omitempty"`
	Durability string `json:"durability"`
	Setting    string `json:"setting"`
	Sizes      string `json:"sizes"` // what the bytes include
	InProcess  bool   `json:"in_process"`
	CPUOf      string `json:"cpu_of"` // whose processor time is counted
}

// A DataResult describes the data of a collection.
type DataResult struct {
	Collection string `json:"collection"`
	Records    int    `json:"records"`
	File       string `json:"file,omitempty"`
}

// A QuerySetting is what the workload says of a query.
type QuerySetting struct {
	Name       string   `json:"name"`
	Weight     float64  `json:"weight"`
	Kind       string   `json:"kind"`
	Collection string   `json:"collection"`
	Objectives []string `json:"objectives,omitempty"`
}

// A CandidateResult is what was measured of one model on one store.
type CandidateResult struct {
	Name         string        `json:"name"`
	Model        string        `json:"model"`
	Store        string        `json:"store"`
	Durability   string        `json:"durability"`
	State        string        `json:"state"` // VALID, SATURATED, INVALID, BEHIND or TOO SHORT
	Loaded       time.Duration `json:"load_took"`
	RecordBytes  int64         `json:"record_bytes"` // of all records; -1 when the store does not say
	IndexBytes   int64         `json:"index_bytes"`
	CPUPerOp     time.Duration `json:"cpu_per_op"`         // median of the rounds; whose it is says the store's cpu_of
	ServerCPU    time.Duration `json:"server_cpu_per_op"`  // of it the server's, on the average
	TripsEach    float64       `json:"round_trips_per_op"` // one after the other
	RequestsEach float64       `json:"requests_per_op"`    // commands or statements in them
	RowsEach     float64       `json:"rows_per_op"`
	Lag          Percentiles   `json:"lag"` // of all operations
	Queries      []QueryResult `json:"queries"`
	Rounds       []RoundResult `json:"rounds"`
	Failures     int           `json:"failures"`
	Failure      string        `json:"failure,omitempty"` // the first one
}

// An AbsentResult is a model that a store cannot have.
type AbsentResult struct {
	Name   string `json:"name"`
	Model  string `json:"model"`
	Store  string `json:"store"`
	Reason string `json:"reason"`
}

// A QueryResult is what was measured of one query on a candidate.
type QueryResult struct {
	Name         string            `json:"name"`
	Scans        bool              `json:"scans"`
	Calls        int64             `json:"calls"`
	Outcomes     map[string]int    `json:"outcomes"`
	NoEffect     int               `json:"no_effect"`              // calls that found, changed or moved nothing
	CutOffFrom   time.Duration     `json:"cut_off_from,omitempty"` // response of the first call that was cut off: greater times are at least so long
	Response     Percentiles       `json:"response"`               // of all rounds together
	Service      Percentiles       `json:"service"`
	Objectives   []ObjectiveResult `json:"objectives,omitempty"`
	SampledCPU   time.Duration     `json:"sampled_cpu_per_op"`        // alone, one after the other
	SampledOfIt  time.Duration     `json:"sampled_server_cpu_per_op"` // of it the server's
	TripsEach    float64           `json:"sampled_round_trips_per_op"`
	RequestsEach float64           `json:"sampled_requests_per_op"`
	RowsEach     float64           `json:"sampled_rows_per_op"`
	FoundEach    float64           `json:"sampled_records_per_op"`
	Histograms   map[string]string `json:"histograms"` // lag, wait, service, response: HDR V2, base64
}

// An ObjectiveResult is what a candidate made of an objective.
type ObjectiveResult struct {
	Name     string        `json:"name"`
	Bound    time.Duration `json:"bound"`
	Measured time.Duration `json:"measured"`           // median of the rounds
	AtLeast  bool          `json:"at_least,omitempty"` // calls were cut off: it is more
	Met      bool          `json:"met"`
	Finding  string        `json:"finding"` // met, missed, late clock (missed, and the clock may be the cause), stall (missed by one, in few rounds) or not enough calls
	Calls    int64         `json:"calls"`
	Needed   int64         `json:"calls_needed"` // to tell the percentile
	Rounds   int           `json:"rounds"`       // with calls
	Missed   int           `json:"missed_rounds"`
}

// Percentiles are points of a distribution.
type Percentiles struct {
	P50 time.Duration `json:"p50"`
	P90 time.Duration `json:"p90"`
	P99 time.Duration `json:"p99"`
	Max time.Duration `json:"max"`
}

// A RoundResult is what one round gave.
type RoundResult struct {
	Number     int           `json:"number"`
	Ops        int           `json:"ops"`
	Took       time.Duration `json:"took"`
	CPU        time.Duration `json:"cpu"` // of this process
	ServerCPU  time.Duration `json:"server_cpu"`
	Trips      int64         `json:"round_trips"`
	Requests   int64         `json:"requests"`
	Rows       int64         `json:"rows"`
	Lag        time.Duration `json:"lag_p99"`
	HalfWaited int           `json:"waiting_half_way"`        // operations that waited for a slot
	Backlog    int           `json:"backlog"`                 // operations that waited when the last one was due
	Busy       int           `json:"busy_slots"`              // then
	Stall      time.Duration `json:"stall,omitempty"`         // longest time without an answer, if it is much longer than operations take
	Stalled    int           `json:"stall_waiting,omitempty"` // calls that waited for its end
	Unfinished int           `json:"unfinished"`
	Heap       uint64        `json:"heap_bytes"`
	Queries    []RoundQuery  `json:"queries"`
}

// A RoundQuery is what one round gave for one query.
type RoundQuery struct {
	Name     string        `json:"name"`
	Calls    int64         `json:"calls"`
	Work     time.Duration `json:"work_p50"` // wait and service
	Response string        `json:"response"` // HDR V2, base64
}

// A VerdictResult is the ranking of one class of durability.
type VerdictResult struct {
	Class   string   `json:"class"`
	Stores  []string `json:"stores"` // in it: name and the setting that puts it there
	Take    string   `json:"take"`   // the candidate to take in this class; "" when none does what is asked
	Figure  string   `json:"figure"` // what candidates are compared by
	Ranked  []string `json:"ranked"` // best first
	Ratios  []*ratio `json:"ratios"` // times the figure of the best; null for the best itself
	Met     bool     `json:"met"`
	TooWeak bool     `json:"too_close_to_call"`
	Unknown string   `json:"no_verdict,omitempty"` // why there is none
}

// result judges what was measured. With a store that was lost there is no verdict.
func (r *run) result(lost *StoreLost) *Result {
	w := r.w
	for _, c := range r.candidates {
		c.judge(w)
	}
	verdicts := decide(r.candidates)
	out := &Result{Format: 1, Workload: w.Name, File: w.File, Began: r.began.UTC(), Took: time.Since(r.began), Again: r.opts.Again,
		Seed: w.Seed, Rate: w.Rate, Rounds: w.Rounds, Round: w.Round, Slots: w.Slots, Environment: environment(), Compared: r.compared}
	for _, s := range r.stores {
		f := s.facts
		out.Stores = append(out.Stores, StoreResult{s.url, f.Name, f.Version, f.Detail, f.Durability.String(), f.Setting, f.Sizes.Reason, s.inProcess(), s.cpuOf()})
	}
	for i, c := range w.collections {
		out.Data = append(out.Data, DataResult{c.schema.Collection, r.data[i].n, c.data.file})
	}
	for _, q := range w.queries {
		s := QuerySetting{Name: q.name, Weight: q.weight, Kind: q.kind, Collection: q.collection.schema.Collection}
		for _, o := range q.objectives {
			s.Objectives = append(s.Objectives, o.String())
		}
		out.Queries = append(out.Queries, s)
	}
	for _, c := range r.candidates {
		out.Candidates = append(out.Candidates, c.result(w))
	}
	for _, c := range r.absent {
		out.NotThere = append(out.NotThere, AbsentResult{c.label, c.model.name, c.store.url, c.lacks})
	}
	words := &screen{r: r, verdicts: verdicts, lost: lost}
	out.Text = words.text()
	if lost != nil {
		out.Ended, out.Exit = lost.Error(), Usage
		return out
	}
	for _, v := range verdicts {
		out.Verdicts = append(out.Verdicts, v.result(words))
	}
	out.Exit = exitCode(verdicts)
	return out
}

func (v *verdict) result(words *screen) VerdictResult {
	out := VerdictResult{Class: v.class.String(), Figure: v.figureName(), Met: v.best().meets(), TooWeak: v.close}
	for _, s := range v.stores() {
		out.Stores = append(out.Stores, fmt.Sprintf("%s: %s", s.url, s.facts.Setting))
	}
	switch {
	case out.Met:
		out.Take = v.best().label
	case v.open:
		out.Unknown, _ = words.doubt(v.doubtful())
	}
	for i, c := range v.ranked {
		out.Ranked = append(out.Ranked, c.label)
		out.Ratios = append(out.Ratios, nil)
		if x := &v.ratios[i]; i > 0 && !math.IsNaN(x.Times) {
			out.Ratios[i] = x
		}
	}
	return out
}

func percentiles(h *hdrhistogram.Histogram) Percentiles {
	at := func(q float64) time.Duration { return time.Duration(h.ValueAtQuantile(q)) }
	return Percentiles{at(50), at(90), at(99), time.Duration(h.Max())}
}

func (c *candidate) result(w *Workload) CandidateResult {
	out := CandidateResult{Name: c.label, Model: c.model.name, Store: c.store.url, Durability: c.store.facts.Durability.String(), State: c.state, Loaded: c.loaded,
		RecordBytes: c.records, IndexBytes: c.indexes, Lag: percentiles(c.all[lagTime]), Failures: c.failures, Failure: c.failure}
	out.CPUPerOp = c.cpuPerOp()
	each := c.spentPerOp()
	out.ServerCPU, out.TripsEach, out.RequestsEach, out.RowsEach = each.server, each.trips, each.requests, each.rows
	for at := range w.queries {
		out.Queries = append(out.Queries, c.queryResult(w, at))
	}
	for _, r := range c.rounds {
		out.Rounds = append(out.Rounds, r.result(w))
	}
	return out
}

// cpuPerOp returns the median of the rounds' processor time of an operation.
func (c *candidate) cpuPerOp() time.Duration {
	var list []float64
	for _, r := range c.rounds {
		list = append(list, r.cpuPerOp())
	}
	if len(list) == 0 {
		return 0
	}
	return time.Duration(median(list))
}

// spentPerOp returns the cost of an operation of the mix.
func (c *candidate) spentPerOp() costEach {
	var spent cost
	n := 0
	for _, r := range c.rounds {
		spent = spent.plus(r.spent)
		n += r.ops - r.unfinished
	}
	return spent.each(n)
}

func (c *candidate) queryResult(w *Workload, at int) QueryResult {
	s, p := c.spectra[at], c.probes[at]
	q := QueryResult{Name: w.queries[at].name, Scans: c.scans[at], Calls: s[responseTime].TotalCount(), Outcomes: map[string]int{},
		Response: percentiles(s[responseTime]), Service: percentiles(s[serviceTime]), Histograms: map[string]string{},
		NoEffect: c.effect(w.queries[at], at).nothing, CutOffFrom: c.cuts[at],
		SampledCPU: p.each.cpu(), SampledOfIt: p.each.server, TripsEach: p.each.trips, RequestsEach: p.each.requests, RowsEach: p.each.rows, FoundEach: p.found}
	for o := done; o <= unfinished; o++ {
		if n := c.count(at, o); n > 0 {
			q.Outcomes[o.String()] = n
		}
	}
	for i, name := range [kindsOfTime]string{"lag", "wait", "service", "response"} {
		q.Histograms[name] = encoded(s[i])
	}
	for _, j := range c.objectives {
		if j.at == at {
			q.Objectives = append(q.Objectives, ObjectiveResult{j.bound.name, j.bound.bound, j.measured, j.cut, j.finding == met, string(j.finding), j.calls, j.needed, j.rounds, j.missedRounds})
		}
	}
	return q
}

func encoded(h *hdrhistogram.Histogram) string {
	text, err := h.EncodeV2()
	if err != nil {
		return "" // it is encoded into memory, which cannot fail
	}
	return string(text)
}

func (r *round) result(w *Workload) RoundResult {
	out := RoundResult{Number: r.number, Ops: r.ops, Took: r.took, CPU: r.spent.client, ServerCPU: r.spent.server, Trips: r.spent.trips, Requests: r.spent.requests, Rows: r.spent.rows,
		Lag: r.lag, HalfWaited: r.backlog.half, Backlog: r.backlog.end, Busy: r.backlog.busy, Stall: r.stall.took, Stalled: r.stall.waiting, Unfinished: r.unfinished, Heap: r.heap}
	for at, q := range r.queries {
		out.Queries = append(out.Queries, RoundQuery{w.queries[at].name, q.calls, q.work, q.response})
	}
	return out
}

// WriteJSON writes the result.
func (r *Result) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(r)
}

// Save writes the result into a new folder NAME-SEED below dir and returns the
// file. A folder that is there already keeps its name; the new one gets a number.
func (r *Result) Save(dir string) (string, error) {
	base := filepath.Join(dir, fmt.Sprintf("%s-%d", r.Workload, r.Seed))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("save result: %w", err)
	}
	folder := base
	for i := 2; ; i++ {
		err := os.Mkdir(folder, 0o755)
		if err == nil {
			break
		}
		if !os.IsExist(err) {
			return "", fmt.Errorf("save result: %w", err)
		}
		folder = fmt.Sprintf("%s.%d", base, i)
	}
	file := filepath.Join(folder, "result.json")
	return file, writeWhole(file, r.WriteJSON)
}

// writeWhole writes a file that is complete or not there.
func writeWhole(file string, write func(io.Writer) error) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), ".result-")
	if err != nil {
		return fmt.Errorf("save result: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone already when all went well
	if err := errors.Join(write(tmp), tmp.Close()); err != nil {
		return fmt.Errorf("save result: %w", err)
	}
	if err := os.Rename(tmp.Name(), file); err != nil {
		return fmt.Errorf("save result: %w", err)
	}
	return os.Chmod(file, 0o644)
}
