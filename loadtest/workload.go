package loadtest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/repo"
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

	// Records is how many records of each collection are taken at most, the first ones;
	// 0 is all.
	Records int

	collections []*collection
	queries     []*query
	models      []*model
}

// A collection is a base schema and where its records come from.
type collection struct {
	at     int // index in Workload.collections
	place  place
	schema repo.Schema
	data   source
	needs  map[string]bool // fields whose values queries and other collections draw from
}

// A model is one way to lay out all collections.
type model struct {
	name    string
	place   place
	scan    bool          // queries that no index answers read every record
	schemas []repo.Schema // by collection
}

// A query is one of the operations of the mix.
type query struct {
	name       string
	place      place
	weight     float64 // percent
	kind       string
	collection *collection
	where      []condition
	window     *window
	order      []string
	limit      int
	pages      int
	set        []assignment
	add        []addition
	skew       float64 // of the draw: 0 is uniform, else the exponent of the zipf distribution
	objectives []objective
	misses     bool // calls that find or change nothing are meant
}

// A condition fixes a field: to a literal, or to what a record of the data has.
type condition struct {
	field   string // as the library's Where wants it, with [] for elements
	from    string // field of the drawn record; "" means literal
	literal any
}

// A window is a range or prefix of a field. Its ends are literals or drawn.
type window struct {
	field    string
	from, to *condition
	span     any    // int64, float64 or time.Duration above a drawn from
	chars    int    // of a drawn prefix
	prefix   string // literal
	isPrefix bool
	isAbove  bool // from itself is not included
	isAtMost bool // to itself is
}

// An assignment gives a field a value when a record is updated or inserted.
type assignment struct {
	field string
	make  generator
}

// An addition adds to an integer field.
type addition struct {
	field string
	by    int64
}

// An objective bounds a percentile of the response time.
type objective struct {
	percentile float64
	name       string // "p99"
	bound      time.Duration
}

// writes reports whether a query changes records.
func (q *query) writes() bool {
	switch q.kind {
	case "insert", "update", "move", "delete":
		return true
	}
	return false
}

// Load reads a workload file. What is wrong with it is returned as Faults, all at
// once. The data files that it names are looked at when it is run.
func Load(file string) (*Workload, error) {
	src, err := readLimited(file)
	if err != nil {
		return nil, err
	}
	return parseWorkload(file, src)
}

// readLimited reads a file that should be small; what is over the limit is cut
// just beyond it.
func readLimited(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read workload: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("read workload: %s is a directory; name the YAML file in it", file)
	}
	src, err := io.ReadAll(io.LimitReader(f, limit.MaxYAML+1))
	if err != nil {
		return nil, fmt.Errorf("read workload: %w", err)
	}
	return src, nil
}

var workloadName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// parseWorkload reads the text of a workload file.
func parseWorkload(file string, src []byte) (*Workload, error) {
	d, root := parseYAML(file, src)
	if root == nil {
		return nil, d.faults.asError()
	}
	m, ok := d.mapping(root, "the workload")
	if !ok {
		return nil, d.faults.asError()
	}
	w := &Workload{
		Name:   m.text("workload"),
		File:   file,
		Seed:   uint64(m.integer64("seed", 1, 0, 1<<53)),
		Rate:   m.integer("rate", 500, 1, limit.MaxRate),
		Rounds: m.integer("rounds", 6, 1, limit.MaxRounds),
		Round:  m.duration("round", 2*time.Second, limit.MinRound, limit.MaxRound),
		Slots:  m.integer("slots", 64, 1, limit.MaxSlots),
	}
	if w.Name == "" && !m.has("workload") {
		w.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	if !workloadName.MatchString(w.Name) {
		d.faultIn(m.placeOf("workload"), "the name %q of the workload is part of file names; use a–z, digits, '_' and '-', a letter first, at most 32", w.Name)
	}
	if err := w.checkSize(); err != nil && len(d.faults) == 0 { // what is wrong alone was told
		d.faultIn(m.placeOf("rate"), "%v", err)
	}
	w.readCollections(d, m)
	w.readQueries(d, m)
	w.readModels(d, m)
	m.done()
	if err := d.faults.asError(); err != nil {
		return nil, err
	}
	return w, nil
}

// checkSize checks what the file or the program's flags say of the rounds.
func (w *Workload) checkSize() error {
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
	if n := w.roundOps(); n < 1 || n > limit.MaxRoundOps {
		return fmt.Errorf("a round of %v at %d/s has %d operations; want 1 to %d, so change rate or round", w.Round, w.Rate, n, limit.MaxRoundOps)
	}
	return nil
}

// roundOps returns the number of operations of a round.
func (w *Workload) roundOps() int {
	return int(float64(w.Rate) * w.Round.Seconds())
}

// collectionNamed returns a collection, nil if there is none of the name.
func (w *Workload) collectionNamed(name string) *collection {
	for _, c := range w.collections {
		if c.schema.Collection == name {
			return c
		}
	}
	return nil
}

func (w *Workload) collectionNames() string {
	var names []string
	for _, c := range w.collections {
		names = append(names, c.schema.Collection)
	}
	return strings.Join(names, ", ")
}

// kind returns the kind of a field, "" if it is not declared.
func (c *collection) kind(field string) string { return c.schema.Fields[field] }

// key returns the names of the key fields.
func (c *collection) key() []string {
	var key []string
	key = append(key, c.schema.Partition...)
	for _, f := range c.schema.Sort {
		key = append(key, strings.TrimPrefix(f, "-"))
	}
	return key
}
