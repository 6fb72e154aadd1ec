// Package workload reads workload files. The text of a file comes in; collections, queries and models
// that are checked go out, or faults.
package workload

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/polystore/polystore/loadtest/internal/document"
	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// A Workload is a workload file, read and checked.
type Workload struct {
	Name   string
	File   string
	Seed   uint64
	Rate   int           // operations a second
	Rounds int           // of each candidate
	Round  time.Duration // how long one lasts
	Slots  int           // operations that may be under way at once

	// Records is how many records of each collection are taken at most; 0 is all.
	Records int

	// First takes the first records of a file, too, and no sample, so that the rest is not read.
	First bool

	Trace *Trace  // the operations, nil if they are drawn
	Speed float64 // how much faster than they came they are sent

	Collections []*Collection
	Queries     []*Query
	Models      []*Model
}

// A Collection is a base schema and where its records come from.
type Collection struct {
	At     int // index in Workload.collections
	place  document.Place
	Schema repo.Schema
	Tree   *Tree         // nil if its records are no nodes of trees
	TTL    time.Duration // after which a record expires that nobody renews; 0 is never
	Data   Source
	Needs  map[string]bool // fields whose values queries and other collections draw from
	Keys   [][]string      // the key fields, as declared and in each model that has other ones

	Embedded bool // some model has the records in those of another collection
	InSeries bool // some model keeps it as series
}

// A Model is one way to lay out all collections.
type Model struct {
	Name    string
	place   document.Place
	Scan    bool           // queries that no index answers read every record
	Schemas []repo.Schema  // by collection
	Forests []*tree.Schema // by collection, nil where there are no trees
	Series  []*Series      // by collection, nil where the model keeps records
	Copies  [][]Join       // by collection: what its records have of others
	KeyAt   []int          // by collection: which of its Keys the model has
	Hosts   []*Collection  // by collection: that in whose records its records are, nil if they lie by themselves
}

// Load reads a workload file. What is wrong with it is returned as Faults, all at
// once. The data files that it names are looked at when it is run.
func Load(file string) (*Workload, error) {
	src, err := document.Read(file)
	if err != nil {
		return nil, err
	}
	return Parse(file, src)
}

var workloadName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// Parse reads the text of a workload file.
func Parse(file string, src []byte) (*Workload, error) {
	d, root := document.Parse(file, src)
	if root == nil {
		return nil, failure.AsError(d.Faults)
	}
	m, ok := d.Mapping(root, "the workload")
	if !ok {
		return nil, failure.AsError(d.Faults)
	}
	w := &Workload{
		Name:    m.Text("workload"),
		File:    file,
		Seed:    uint64(m.Integer64("seed", 1, 0, 1<<53)),
		Rate:    m.Integer("rate", 500, 1, limit.MaxRate),
		Rounds:  m.Integer("rounds", 6, 1, limit.MaxRounds),
		Round:   m.Duration("round", 2*time.Second, limit.MinRound, limit.MaxRound),
		Slots:   m.Integer("slots", 64, 1, limit.MaxSlots),
		Speed:   1,
		Records: m.Integer("records", 0, 0, limit.MaxRecords),
	}
	if w.Name == "" && !m.Has("workload") {
		w.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	if !workloadName.MatchString(w.Name) {
		d.FaultIn(m.PlaceOf("workload"), "the name %q of the workload is part of file names; use a–z, digits, '_' and '-', a letter first, at most 32", w.Name)
	}
	if err := w.CheckSize(); err != nil && len(d.Faults) == 0 { // what is wrong alone was told
		d.FaultIn(m.PlaceOf("rate"), "%v", err)
	}
	w.readCollections(d, m)
	w.readTrace(d, m)
	w.readQueries(d, m)
	w.readModels(d, m)
	w.addKeys(d)
	w.needChecked()
	m.Done()
	if err := failure.AsError(d.Faults); err != nil {
		return nil, err
	}
	return w, nil
}

// CheckSize checks what the file or the program's flags say of the rounds.
func (w *Workload) CheckSize() error {
	switch {
	case w.Rate < 1 || w.Rate > limit.MaxRate:
		return fmt.Errorf("rate is %d; want 1 to %d", w.Rate, limit.MaxRate)
	case w.Records < 0:
		return fmt.Errorf("records is %d; want 1 or more, or 0 for all", w.Records)
	case w.Rounds < 1 || w.Rounds > limit.MaxRounds:
		return fmt.Errorf("rounds is %d; want 1 to %d", w.Rounds, limit.MaxRounds)
	case w.Round < limit.MinRound || w.Round > limit.MaxRound:
		return fmt.Errorf("round is %v; want %v to %v", w.Round, limit.MinRound, limit.MaxRound)
	}
	if w.Trace != nil {
		if w.Speed < limit.MinSpeed || w.Speed > limit.MaxSpeed {
			return fmt.Errorf("speed is %v; want %v to %v", w.Speed, limit.MinSpeed, limit.MaxSpeed)
		}
		return nil // the trace has its own rate
	}
	if n := w.RoundOps(); n < 1 || n > limit.MaxRoundOps {
		return fmt.Errorf("a round of %v at %d/s has %d operations; want 1 to %d, so change rate or round", w.Round, w.Rate, n, limit.MaxRoundOps)
	}
	return nil
}

// RoundOps returns the number of operations of a round.
func (w *Workload) RoundOps() int {
	return int(float64(w.Rate) * w.Round.Seconds())
}

// Limited returns how many of n records are taken.
func (w *Workload) Limited(n int) int {
	if w.Records > 0 {
		return min(n, w.Records)
	}
	return n
}

// collectionNamed returns a collection, nil if there is none of the name.
func (w *Workload) collectionNamed(name string) *Collection {
	for _, c := range w.Collections {
		if c.Schema.Collection == name {
			return c
		}
	}
	return nil
}

func (w *Workload) collectionNames() string {
	var names []string
	for _, c := range w.Collections {
		names = append(names, c.Schema.Collection)
	}
	return strings.Join(names, ", ")
}

// Kind returns the kind of a field, "" if it is not declared.
func (c *Collection) Kind(field string) string { return c.Schema.Fields[field] }
