package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A Report is what a run found.
type Report struct {
	Store      string   `json:"store"`             // name and version of the store
	Detail     string   `json:"detail,omitempty"`  // its topology and settings
	Scope      string   `json:"scope"`             // what one commit can change
	Durability string   `json:"durability"`        // what a commit survives
	Setting    string   `json:"setting,omitempty"` // what decides that
	Seed       uint64   `json:"seed"`              // of the random operations and histories
	Groups     []Group  `json:"groups"`
	Passed     int      `json:"passed"`
	Failed     int      `json:"failed"`
	Missing    int      `json:"not_supported"`
	Seconds    float64  `json:"seconds"`
	Started    string   `json:"started"`              // RFC 3339
	Problems   []string `json:"problems,omitempty"`   // what went wrong beside the rules: a clean-up that failed
	Cause      string   `json:"cause,omitempty"`      // what to mend first of many failures, and what most of them have in common
	BrokenOff  bool     `json:"broken_off,omitempty"` // not all was run
}

// A Group is one group of rules, or a kind of test that is no rule.
type Group struct {
	Name     string        `json:"name"`
	Passed   int           `json:"passed"`
	Note     string        `json:"note,omitempty"` // "20,000 against the reference, seed 7"
	Failed   []Failure     `json:"failed,omitempty"`
	Missing  []Unsupported `json:"not_supported,omitempty"`
	Verified []string      `json:"rules,omitempty"` // the sentences that hold
}

// A Failure is a sentence of the contract that does not hold.
type Failure struct {
	Rule     string `json:"rule"`
	Sentence string `json:"sentence"`
	Want     string `json:"want"`
	Got      string `json:"got"`
	Again    string `json:"again"`          // the command that repeats it
	Same     bool   `json:"same,omitempty"` // its cause is that of an earlier one, most likely
}

// An Unsupported is a rule about something that the store cannot do.
type Unsupported struct {
	Rule     string `json:"rule"`
	Sentence string `json:"sentence"`
	Reason   string `json:"reason"`
}

func newReport(f driver.Facts, seed uint64, began time.Time) *Report {
	return &Report{Store: strings.TrimSpace(f.Name + " " + f.Version), Detail: f.Detail, Scope: f.Scope.String(), Durability: f.Durability.String(),
		Setting: f.Setting, Seed: seed, Started: began.UTC().Format(time.RFC3339)}
}

// Name returns the name of the store without its version, for the names of files.
func (r *Report) Name() string {
	name, _, _ := strings.Cut(r.Store, " ")
	return name
}

// group returns the group with a name, after making it.
func (r *Report) group(name string) *Group {
	for i := range r.Groups {
		if r.Groups[i].Name == name {
			return &r.Groups[i]
		}
	}
	r.Groups = append(r.Groups, Group{Name: name})
	return &r.Groups[len(r.Groups)-1]
}

// count sums the groups up.
func (r *Report) count(began time.Time) {
	r.Passed, r.Failed, r.Missing = 0, 0, 0
	for i := range r.Groups {
		g := &r.Groups[i]
		r.Passed, r.Failed, r.Missing = r.Passed+g.Passed, r.Failed+len(g.Failed), r.Missing+len(g.Missing)
		if g.Note == "" && g.Passed+len(g.Failed)+len(g.Missing) == 0 {
			g.Note = "not run"
		}
	}
	r.Failed += len(r.Problems)
	r.Seconds = time.Since(began).Seconds()
}

// JSON returns the report as indented JSON.
func (r *Report) JSON() ([]byte, error) {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the report as json: %w", err)
	}
	return append(b, '\n'), nil
}

// Summary returns the verdict in one line.
func (r *Report) Summary() string {
	text := fmt.Sprintf("%d passed, %d failed, %d not supported", r.Passed, r.Failed, r.Missing)
	if r.BrokenOff {
		text += "; the run was broken off"
	}
	return text
}

// WriteText writes the report for a terminal: the store, a line for each group,
// and every failure in full.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	b.WriteString(strings.Join(nonEmpty(r.Store, r.Detail, r.Setting), ", ") + "\n")
	for _, g := range r.Groups {
		fmt.Fprintf(&b, "  %-22s %s\n", g.Name, g.line())
	}
	if r.Cause != "" {
		fmt.Fprintf(&b, "\n%s\n", r.Cause)
	}
	var same []string
	for _, g := range r.Groups {
		for _, f := range g.Failed {
			if f.Same {
				same = append(same, f.Rule)
				continue
			}
			fmt.Fprintf(&b, "\n%s\n  %s\n  want   %s\n  got    %s\n  again  %s\n", f.Rule, f.Sentence, indent(f.Want), indent(f.Got), f.Again)
		}
	}
	if len(same) > 0 {
		fmt.Fprintf(&b, "\nfailed with the same answer: %s\n", strings.Join(same, ", "))
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "\n%s\n", p)
	}
	if r.Failed > 0 {
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func nonEmpty(parts ...string) []string {
	var list []string
	for _, p := range parts {
		if p != "" && p != "none" {
			list = append(list, p)
		}
	}
	return list
}

func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n         ") }

func (g *Group) line() string {
	if g.Note != "" {
		return g.Note
	}
	parts := []string{fmt.Sprintf("%3d passed", g.Passed)}
	if n := len(g.Failed); n > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", n))
	}
	if n := len(g.Missing); n > 0 {
		parts = append(parts, fmt.Sprintf("%d not supported: %s", n, reasons(g.Missing)))
	}
	return strings.Join(parts, "   ")
}

// reasons returns the different reasons of a list, once each.
func reasons(list []Unsupported) string {
	var texts []string
	seen := map[string]bool{}
	for _, u := range list {
		if !seen[u.Reason] {
			seen[u.Reason] = true
			texts = append(texts, u.Reason)
		}
	}
	return strings.Join(texts, "; ")
}

// Markdown returns the report as a page for people.
func (r *Report) Markdown() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Conformance of %s\n\n%s\n\n", r.Store, strings.Join(nonEmpty(r.Detail, "commit scope "+r.Scope, "durability "+r.Durability, r.Setting), "; "))
	fmt.Fprintf(&b, "**%s**, seed %d, %.0f s, %s\n\n| group | passed | failed | not supported | |\n|---|---:|---:|---:|---|\n", r.Summary(), r.Seed, r.Seconds, r.Started)
	for _, g := range r.Groups {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %s |\n", g.Name, g.Passed, len(g.Failed), len(g.Missing), cell(g.Note))
	}
	if r.Cause != "" {
		fmt.Fprintf(&b, "\n## %s\n", cell(r.Cause))
	}
	for _, g := range r.Groups {
		for _, f := range g.Failed {
			fmt.Fprintf(&b, "\n## Failed: %s\n\n%s\n\n- want: %s\n- got: %s\n\n    %s\n", f.Rule, f.Sentence, cell(f.Want), cell(f.Got), f.Again)
		}
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "\n## %s\n", cell(p))
	}
	for _, g := range r.Groups {
		fmt.Fprintf(&b, "\n## %s\n\n", g.Name)
		for _, s := range g.Verified {
			fmt.Fprintf(&b, "- %s\n", s)
		}
		for _, u := range g.Missing {
			fmt.Fprintf(&b, "- not supported (%s): %s\n", u.Reason, u.Sentence)
		}
	}
	return []byte(b.String())
}

// cell returns text that stays in one cell of a table.
func cell(s string) string {
	return strings.NewReplacer("\n", " ", "|", "\\|").Replace(s)
}
