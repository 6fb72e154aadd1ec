package data

import (
	"math/rand/v2"

	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/random"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// A Maker makes the records of a collection that has generators: the n-th is the
// same whenever it is made.
type Maker struct {
	c      *workload.Collection
	seed   uint64
	making generate.Making
	source *rand.PCG
}

// NewMaker returns what makes the records of a collection. The tables are those of the collections above.
func NewMaker(w *workload.Workload, c *workload.Collection, data []*generate.Table) *Maker {
	m := &Maker{c: c, seed: random.New(w.Seed, "records of "+c.Schema.Collection, 0).Uint64(), source: rand.NewPCG(0, 0)}
	m.making = generate.Making{Rand: rand.New(m.source), Count: w.Limited(c.Data.Count), Data: data, Refs: map[int]int{}, Pickers: map[*generate.Reference]*random.Picker{}}
	return m
}

// begin starts the n-th record.
func (m *Maker) begin(n int) {
	m.source.Seed(m.seed, uint64(n)*0x9e3779b97f4a7c15+1)
	m.making.N = n
	clear(m.making.Refs)
}

// Record returns the n-th record.
func (m *Maker) Record(n int) map[string]any {
	m.begin(n)
	m.making.Record = make(map[string]any, len(m.c.Data.Fields))
	for _, f := range m.c.Data.Fields {
		if v := f.Make.Value(&m.making); v != nil {
			m.making.Record[f.Name] = v
		}
	}
	return m.making.Record
}
