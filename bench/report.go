package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"text/tabwriter"
)

// A report is the result of all settings: what -json writes.
type report struct {
	Machine  machine   `json:"machine"`
	Seed     uint64    `json:"seed"`
	Rounds   int       `json:"rounds"`
	Settings []section `json:"settings"`
}

// A section is the result of one setting.
type section struct {
	Setting setting                        `json:"setting"`
	Records int                            `json:"records"`
	Lines   []line                         `json:"lines"`
	Samples map[string]map[string][]sample `json:"samples"`                // by operation and candidate, one a round
	Sizes   map[string]float64             `json:"record_bytes,omitempty"` // on the server, with the rows of indexes
}

func (r *report) writeFile(path string) error {
	data, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

// print writes the tables for people.
func (r *report) print(w io.Writer) error {
	fmt.Fprintf(w, "%s\n%d rounds, seed %d. Ratios are medians of the rounds, with the interval that holds\n"+
		"the true one at %.0f %%. \"Same code\" is the floor against itself: less than that nothing tells.\n",
		r.Machine, r.Rounds, r.Seed, 100*coverageOf(r.Rounds))
	for i := range r.Settings {
		fmt.Fprintf(w, "\n%s, %d records\n", r.Settings[i].Setting.Name, r.Settings[i].Records)
		if err := r.Settings[i].print(w); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "\n%s\n", r.summary())
	return err
}

func coverageOf(rounds int) float64 { return estimateOf(make([]float64, rounds)).Sure }

func (s *section) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "operation\tcandidate\tagainst\tbound\tp50 ratio\tsame code\tCPU ratio\tsame code\tof it client\tsame code\tp50 µs\tCPU µs\tof it server\tallocs\tbytes\tswitches\twrites\trequests\tverdict")
	for i := range s.Lines {
		l := &s.Lines[i]
		limit := "-"
		if l.Most > 0 {
			limit = fmt.Sprintf("%.2f", l.Most)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.Op, l.Name, l.Against, limit,
			l.P50, l.SameP.interval(), l.Time, l.SameC.interval(), l.Own, l.SameO.interval(),
			both(l.P50Micros, "%.1f"), both(l.CPUMicros, "%.1f"), both(l.ServerCPU, "%.1f"), both(l.Counts, "%.1f"), both(l.AllocsBytes, "%.0f"),
			both(l.Switches, "%.2f"), both(l.Writes, "%.3f"), both(l.Asked, "%.2f"), l.text())
	}
	for _, name := range slices.Sorted(maps.Keys(s.Sizes)) {
		fmt.Fprintf(t, "%s\t%.0f bytes a record, with its rows in indexes\n", name, s.Sizes[name])
	}
	return t.Flush()
}

// String returns the median and the interval.
func (e estimate) String() string { return fmt.Sprintf("%.2f %s", e.Median, e.interval()) }

func (e estimate) interval() string { return fmt.Sprintf("%.2f–%.2f", e.Low, e.High) }

// both returns the figures of a candidate and of that which it is held against.
func both(v [2]float64, format string) string {
	return fmt.Sprintf(format+" / "+format, v[0], v[1])
}

// summary counts the verdicts.
func (r *report) summary() string {
	count := map[string]int{}
	for _, s := range r.Settings {
		for _, l := range s.Lines {
			count[l.Verdict]++
		}
	}
	return fmt.Sprintf("%d met, %d missed, %d too noisy to tell", count[met], count[missed], count[noisy])
}
