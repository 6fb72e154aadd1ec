package report

import (
	"fmt"
	"time"

	"github.com/polystore/polystore/loadtest/internal/format"
)

// A ShareResult says which part of a load a process sent, and which other results belong to it.
type ShareResult struct {
	Number int       `json:"number"` // from 1
	Of     int       `json:"of"`     // how many there are
	Start  time.Time `json:"start"`  // of the first round, the same for all shares
	Group  string    `json:"group"`  // a name that the shares of one run have, and no other run
	Data   string    `json:"data"`   // a hash of the records
	Layout string    `json:"layout"` // a hash of how the models keep the collections
}

// String returns the share for people.
func (s *ShareResult) String() string { return fmt.Sprintf("share %d of %d", s.Number, s.Of) }

// apart reports whether the result has no verdict of its own: it is one share of a run.
func (r *Result) apart() bool { return r.Share != nil }

// compares reports whether the process compared answers, and verified indexes: the first share does so for all.
func (r *Result) compares() bool { return r.Share == nil || r.Share.Number == 1 }

// unmerged says why a share has no verdict.
func (r *Result) unmerged() []Statement {
	return []Statement{{Text: fmt.Sprintf("No verdict: this is %s, which sent its part of %s/s. polystore merge makes one result of all shares, with the verdict.", r.Share, format.Count(r.Rate))}}
}

// sharedBy says what a merged result is made of.
func (r *Result) sharedBy() []Item {
	n := len(r.Shares)
	if n == 0 {
		return nil
	}
	machines := map[string]bool{}
	for i, e := range r.Shares {
		if name := e.Machine; name != "" {
			machines[name] = true
		} else {
			machines[fmt.Sprint("unknown ", i)] = true
		}
	}
	return []Item{{"shares", fmt.Sprintf("%s from %s make up the rate; times are of merged histograms, within 0.1 %%", format.Plural(n, "share"), format.Plural(len(machines), "machine"))}}
}
