// Package report judges what a run measured and puts it into words. A Result comes in, filled by the
// run or read from a file; its verdicts and the text report go out. Nothing else is asked: the same
// Result has the same text wherever it is made.
package report

import "time"

// Format is that of the result files that are written and read. It goes up when
// what a file says means something else, or is judged otherwise.
const Format = 3

// A Result is what came out of a run. It is written and read as JSON; times are
// in nanoseconds.
type Result struct {
	Format      int               `json:"format"` // of this file: 3
	Workload    string            `json:"workload"`
	File        string            `json:"file"`
	Fingerprint string            `json:"fingerprint,omitempty"` // of what the workload file says, but for its pace
	Began       time.Time         `json:"began"`
	Took        time.Duration     `json:"took"`
	Phases      []Phase           `json:"phases,omitempty"` // of it, in their order
	Again       string            `json:"again"`            // the command that repeats the run
	Seed        uint64            `json:"seed"`
	Rate        int               `json:"rate"`
	Trace       string            `json:"trace,omitempty"` // what was sent of a trace, whose mean the rate is; "" if operations were drawn
	Rounds      int               `json:"rounds"`
	Round       time.Duration     `json:"round"`
	Slots       int               `json:"slots"`
	Environment Environment       `json:"environment"`
	Stores      []StoreResult     `json:"stores"`
	Data        []DataResult      `json:"data"`
	Models      []string          `json:"models"`
	Spreads     []SpreadResult    `json:"spreads,omitempty"` // of each model and collection without trees
	Queries     []QuerySetting    `json:"queries"`
	Compared    int               `json:"compared_calls"` // sampled calls that every candidate answered alike
	Candidates  []CandidateResult `json:"candidates"`
	NotThere    []AbsentResult    `json:"not_there,omitempty"`
	Verdicts    []VerdictResult   `json:"verdicts"`                // one for each class of durability
	Ended       string            `json:"ended,omitempty"`         // why there is no verdict
	Wrong       bool              `json:"wrong_answers,omitempty"` // it ended because answers differed, or an index and its records
	Exit        int               `json:"exit"`
	Text        string            `json:"text"`             // the text report, made of all the rest
	Share       *ShareResult      `json:"share,omitempty"`  // which part of a load this is; null if it is all
	Shares      []Environment     `json:"shares,omitempty"` // of the processes whose results were merged, in the order of their numbers
}

// An Environment is the machine and program of a run.
type Environment struct {
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	Kernel     string `json:"kernel,omitempty"`
	CPU        string `json:"cpu,omitempty"`
	CPUs       int    `json:"cpus"`
	GOMAXPROCS int    `json:"gomaxprocs"`
	Go         string `json:"go"`
	Program    string `json:"program"`           // version, and revision where it is known
	Machine    string `json:"machine,omitempty"` // a hash of the machine's ID, where it has one
}

// A StoreResult describes a store.
type StoreResult struct {
	URL        string        `json:"url"` // without secrets
	Name       string        `json:"name"`
	Version    string        `json:"version,omitempty"`
	Detail     string        `json:"detail,omitempty"`
	Durability string        `json:"durability"`
	Delay      time.Duration `json:"delay,omitempty"` // of durability delayed
	Setting    string        `json:"setting"`
	TellsSizes bool          `json:"tells_sizes"`
	Sizes      string        `json:"sizes"` // what the bytes include, or why there are none
	InProcess  bool          `json:"in_process"`
	CPUOf      string        `json:"cpu_of"` // whose processor time is counted
}

// A DataResult describes the data of a collection.
type DataResult struct {
	Collection string   `json:"collection"`
	Key        []string `json:"key"` // its fields
	Records    int      `json:"records"`
	File       string   `json:"file,omitempty"`
}

// A SpreadResult says how a model spreads the records of a collection over partitions, as they are loaded.
type SpreadResult struct {
	Model      string   `json:"model"`
	Collection string   `json:"collection"`
	Partition  []string `json:"partition"` // its fields
	Partitions int      `json:"partitions"`
	Largest    int      `json:"largest"` // records of the largest

	// In names the collection in whose records the model embeds those of this one; a partition is one of them then, and
	// Grown is how many records the largest has at the end.
	In    string `json:"in,omitempty"`
	Grown int    `json:"grown,omitempty"`
}

// A QuerySetting is what the workload says of a query.
type QuerySetting struct {
	Name       string             `json:"name"`
	Weight     float64            `json:"weight"`
	Kind       string             `json:"kind"`
	Writes     bool               `json:"writes"` // it changes records
	Collection string             `json:"collection"`
	Misses     bool               `json:"misses"` // calls that find or change nothing are meant
	Objectives []ObjectiveSetting `json:"objectives,omitempty"`
}

// An ObjectiveSetting bounds a percentile of the response time.
type ObjectiveSetting struct {
	Name       string        `json:"name"` // "p99"
	Percentile float64       `json:"percentile"`
	Bound      time.Duration `json:"bound"`
}

// A CandidateResult is what was measured of one model on one store.
type CandidateResult struct {
	Name         string         `json:"name"`
	Model        string         `json:"model"`
	Store        string         `json:"store"`
	StoreAt      int            `json:"store_at"` // place of the store in stores, from 0
	Durability   string         `json:"durability"`
	State        string         `json:"state"` // VALID, SATURATED, INVALID, BEHIND or TOO SHORT
	Loaded       time.Duration  `json:"load_took"`
	RecordBytes  int64          `json:"record_bytes"` // of all records; -1 when the store does not say
	IndexBytes   int64          `json:"index_bytes"`
	CPUPerOp     time.Duration  `json:"cpu_per_op"`         // median of the rounds; whose it is says the store's cpu_of
	ServerCPU    time.Duration  `json:"server_cpu_per_op"`  // of it the server's, on the average
	TripsEach    float64        `json:"round_trips_per_op"` // one after the other
	RequestsEach float64        `json:"requests_per_op"`    // commands or statements in them
	RowsEach     float64        `json:"rows_per_op"`
	Lag          Percentiles    `json:"lag"`    // of all operations
	Reads        Typical        `json:"reads"`  // of all queries that read
	Writes       Typical        `json:"writes"` // of all queries that write
	Queries      []QueryResult  `json:"queries"`
	Rounds       []RoundResult  `json:"rounds"`
	Steps        []StepResult   `json:"steps,omitempty"`   // of the search for its highest rate, in their order
	Endured      *EnduredResult `json:"endured,omitempty"` // what it made of faults; null if there were none
	Failures     int            `json:"failures"`
	Failure      string         `json:"failure,omitempty"`   // the first one
	LagTimes     string         `json:"lag_times,omitempty"` // of a share, of all operations: HDR V2, base64
}

// A Typical is the median response of several queries together.
type Typical struct {
	Calls int64         `json:"calls"`
	P50   time.Duration `json:"p50"`
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
	Name            string            `json:"name"`
	Scans           bool              `json:"scans"`
	Calls           int64             `json:"calls"`
	Outcomes        map[string]int    `json:"outcomes"`
	NoEffect        int               `json:"no_effect"`              // calls that found, changed or moved nothing
	CutOffFrom      time.Duration     `json:"cut_off_from,omitempty"` // response of the first call that was cut off: greater times are at least so long
	Response        Percentiles       `json:"response"`               // of all rounds together
	Service         Percentiles       `json:"service"`
	Objectives      []ObjectiveResult `json:"objectives,omitempty"`
	SampledCalls    int               `json:"sampled_calls"`             // alone, one after the other
	SampledNoEffect int               `json:"sampled_no_effect"`         // of them, that found, changed or moved nothing
	SampledCPU      time.Duration     `json:"sampled_cpu_per_op"`        // of these calls, as what follows
	SampledOfIt     time.Duration     `json:"sampled_server_cpu_per_op"` // of it the server's
	TripsEach       float64           `json:"sampled_round_trips_per_op"`
	RequestsEach    float64           `json:"sampled_requests_per_op"`
	RowsEach        float64           `json:"sampled_rows_per_op"`
	FoundEach       float64           `json:"sampled_records_per_op"`
	Checked         int               `json:"checked,omitempty"`          // answers that were checked against what was written
	CheckedWhole    int               `json:"checked_complete,omitempty"` // of them, for missing records, too
	Histograms      map[string]string `json:"histograms"`                 // lag, wait, service, response: HDR V2, base64
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
	Late     int           `json:"missed_rounds_of_clock,omitempty"` // of these, rounds in which the clock may be the cause
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
	Slots      int           `json:"slots"`                   // that there were
	WithinLag  int           `json:"due_within_lag"`          // operations that are due within the clock's greatest lag: so many may wait because of it
	Stall      time.Duration `json:"stall,omitempty"`         // longest time without an answer, if it is much longer than operations take
	Stalled    int           `json:"stall_waiting,omitempty"` // calls that waited for its end
	Failed     int           `json:"failed"`
	Unfinished int           `json:"unfinished"`
	Others     time.Duration `json:"others_cpu,omitempty"` // processor time of other programs on the machine, where the store is in this process
	Heap       uint64        `json:"heap_bytes"`
	Queries    []RoundQuery  `json:"queries"`

	Began    time.Duration    `json:"began,omitempty"`     // from the beginning of the measurement
	LagTimes string           `json:"lag_times,omitempty"` // of a share: HDR V2, base64
	Series   []IntervalResult `json:"series,omitempty"`
}

// An IntervalResult is what a part of a round gave, for the operations that were due in it.
type IntervalResult struct {
	At    time.Duration `json:"at"` // its beginning, from that of the round
	Calls int           `json:"calls"`
	P50   time.Duration `json:"p50"` // of the response
	P99   time.Duration `json:"p99"`
	Max   time.Duration `json:"max"`

	Response string `json:"response,omitempty"` // of a share: HDR V2, base64
}

// A RoundQuery is what one round gave for one query.
type RoundQuery struct {
	Name       string        `json:"name"`
	Calls      int64         `json:"calls"`
	Work       time.Duration `json:"work_p50"` // wait and service
	WorkMean   time.Duration `json:"work_mean,omitempty"`
	P50        Mark          `json:"p50"`
	P99        Mark          `json:"p99"`
	Objectives []Mark        `json:"objectives,omitempty"`   // percentiles of the query's objectives, in their order
	Response   string        `json:"response"`               // HDR V2, base64
	CutOffFrom time.Duration `json:"cut_off_from,omitempty"` // response of the first call that was cut off, of a share
	Service    string        `json:"service,omitempty"`      // of a share, as that
	WorkTimes  string        `json:"work,omitempty"`         // of a share, as that: wait and service
}

// A Mark is a percentile of one query in one round.
type Mark struct {
	Response time.Duration `json:"response"`
	Service  time.Duration `json:"service"`
	Over     int           `json:"over"`          // calls whose response took longer than the objective's bound
	Cut      bool          `json:"cut,omitempty"` // calls that were cut off are among those below it: it is more than that
}

// A VerdictResult is the ranking of one class of durability.
type VerdictResult struct {
	Class   string   `json:"class"`
	Stores  []string `json:"stores"` // in it: name and the setting that puts it there
	Take    string   `json:"take"`   // the candidate to take in this class; "" when none does what is asked
	Figure  string   `json:"figure"` // what candidates are compared by
	Ranked  []string `json:"ranked"` // best first
	Ratios  []*Ratio `json:"ratios"` // times the figure of the best; null for the best itself
	Met     bool     `json:"met"`
	TooWeak bool     `json:"too_close_to_call"`
	Unknown string   `json:"no_verdict,omitempty"` // why there is none
}
