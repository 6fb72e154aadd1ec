package loadtest

import (
	"context"
	"fmt"
	"time"

	"github.com/polystore/polystore/loadtest/internal/document"
	"github.com/polystore/polystore/loadtest/internal/draft"
	"github.com/polystore/polystore/loadtest/internal/store"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/loadtest/report"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

// A Workload is a workload file, read and checked. What stands here may be changed before it is run.
type Workload struct {
	Name   string
	File   string
	Seed   uint64
	Rate   int           // operations a second
	Rounds int           // of each candidate
	Round  time.Duration // how long one lasts
	Slots  int           // operations that may be under way at once

	// Records is how many records of each collection are taken at most, of a file a random sample, of generators and
	// trees the first ones; 0 is all.
	Records int

	Speed float64 // how much faster than they came the operations of a trace are sent; 1 is as they came

	// Writes is how many percent of the operations write, journeys with a step that writes among them. Another number than
	// the file's gives the queries other weights: those that write keep their proportions, and so do the others.
	Writes float64

	read        *workload.Workload
	fingerprint string
}

// Load reads a workload file. What is wrong with it is returned as Faults, all at
// once. The data files that it names are looked at when it is run.
func Load(file string) (*Workload, error) {
	w, err := workload.Load(file)
	if err != nil {
		return nil, err
	}
	out := opened(w)
	out.fingerprint, err = document.Fingerprint(file, "seed", "rate", "rounds", "round", "slots")
	return out, err
}

// Draft returns the text of a workload file for the records of a file of CSV or JSON Lines, which is to lie beside that. What
// it says of kinds, keys, indexes and queries is guessed, and marked so.
func Draft(ctx context.Context, file string) (string, error) {
	if ctx == nil {
		return "", fmt.Errorf("the context is nil: %w", driver.ErrInvalid)
	}
	return draft.Of(ctx, file)
}

// opened returns a workload as callers see it.
func opened(w *workload.Workload) *Workload {
	return &Workload{w.Name, w.File, w.Seed, w.Rate, w.Rounds, w.Round, w.Slots, w.Records, w.Speed, w.WriteShare(), w, ""}
}

// settled returns the workload that was read, with the settings of now.
func (w *Workload) settled() (*workload.Workload, error) {
	if w == nil || w.read == nil {
		return nil, fmt.Errorf("the workload is empty; read one by Load: %w", driver.ErrInvalid)
	}
	switch traced := w.read.Trace != nil; {
	case traced && w.Rate != w.read.Rate:
		return nil, fmt.Errorf("rate is %d, and the operations are those of a trace, which has its own; take a speed: %w", w.Rate, driver.ErrInvalid)
	case !traced && w.Speed != 1:
		return nil, fmt.Errorf("speed is %v, and the workload has no trace; take a rate: %w", w.Speed, driver.ErrInvalid)
	}
	s := *w.read
	s.Name, s.File, s.Seed, s.Rate, s.Rounds, s.Round, s.Slots, s.Records, s.Speed = w.Name, w.File, w.Seed, w.Rate, w.Rounds, w.Round, w.Slots, w.Records, w.Speed
	if w.Writes != s.WriteShare() {
		if err := s.SetWriteShare(w.Writes); err != nil {
			return nil, fmt.Errorf("%w: %w", err, driver.ErrInvalid)
		}
	}
	return &s, s.CheckSize()
}

// is returns the fingerprint of what the file says, and of what the caller says otherwise of it.
func (w *Workload) is() string {
	if w.read == nil || w.Writes == w.read.WriteShare() {
		return w.fingerprint
	}
	return fmt.Sprintf("%s with %v %% writes", w.fingerprint, w.Writes)
}

// Differences returns why a run of the workload here cannot be compared with an earlier result, as far as that is known
// before it: another workload, machine or pace.
func (w *Workload) Differences(before *Result) []string {
	after := *before
	after.Workload, after.Fingerprint, after.Environment = w.Name, w.is(), environment()
	after.Rate, after.Rounds, after.Round, after.Slots = w.Rate, w.Rounds, w.Round, w.Slots
	if w.read != nil && w.read.Trace != nil { // whose rate is not known before it is read
		after.Rate, after.Round = before.Rate, before.Round
	}
	return report.Differences(before, &after)
}

// A Layout is how a model of a workload file keeps its collections.
type Layout struct {
	Model   string        // its name, "" of a schema alone
	Schemas []repo.Schema // of series that of their buckets
	Trees   []tree.Schema
}

// Layouts reads the layouts of a workload file, which is checked as by [Load], or of one schema alone. What is wrong is
// returned as Faults.
func Layouts(file string) (list []Layout, err error) {
	w, err := workload.Layouts(file)
	if err != nil {
		return nil, err
	}
	for _, mo := range w.Models {
		l := Layout{Model: mo.Name}
		for i, f := range mo.Forests {
			switch s := mo.Series[i]; {
			case f != nil:
				l.Trees = append(l.Trees, *f)
			case s != nil:
				l.Schemas = append(l.Schemas, s.Buckets(mo.Schemas[i].Collection))
			case mo.Hosts[i] == nil: // else it is part of another collection
				l.Schemas = append(l.Schemas, mo.Schemas[i])
			}
		}
		list = append(list, l)
	}
	return list, nil
}

// Redact returns a store's URL without what must not be seen: what stands before
// the host, which may be a password or a token, what cannot be a host, the values of
// options that the stores of this module do not have, and what follows a '#'. The URL of
// no store loses all that stands before its last '@', or everything.
func Redact(raw string) string { return store.Redact(raw) }
