package data

import (
	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// hosts are the records in which a model embeds others.
type hosts struct {
	model     string
	of        *workload.Collection
	partition []string // of what is embedded: it names the host
	there     map[uint64]bool
	sampled   bool // not all records are taken
}

// hostsOf returns the hosts of the records of a file, by model. Generators take theirs from the data.
func hostsOf(w *workload.Workload, c *workload.Collection, data []*generate.Table) (list []hosts) {
	for _, m := range w.Models {
		host := m.Hosts[c.At]
		if host == nil || c.Data.File == "" || w.First { // of the first records of two files nobody knows whether they belong together
			continue
		}
		h := hosts{model: m.Name, of: host, partition: m.Schemas[c.At].Partition, there: map[uint64]bool{}, sampled: w.Records > 0}
		names, t := host.Keys[m.KeyAt[host.At]], data[host.At]
		key := make([]any, len(names))
		for i := range t.Len {
			for j, f := range names {
				key[j] = t.Column(f)[i]
			}
			h.there[value.Hash(value.IdentityOf(key))] = true
		}
		list = append(list, h)
	}
	return list
}

// check reports a record without a host.
func (h *hosts) check(s *surveyor, r Row) {
	if h.there[value.Hash(value.Identity(r.record, h.partition))] {
		return
	}
	remedy := "add it, or leave out the record"
	if h.sampled {
		remedy = "of both collections a sample is taken, so leave out --records, and records"
	}
	s.fault(r, "%s has no record %s, in which model %s embeds it; %s", h.of.Schema.Collection, value.Key(r.record, h.partition), h.model, remedy)
}
