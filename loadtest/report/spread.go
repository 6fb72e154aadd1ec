package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/format"
)

// A partition is large if it has so many records, and such a part of all.
const (
	largeRecords = 1000
	largeShare   = 0.01
)

// spreads says how models spread records over partitions, where they do it differently or a partition is large.
func (p *page) spreads() (list []Item) {
	for i := range p.r.Spreads {
		s := &p.r.Spreads[i]
		others := slices.ContainsFunc(p.r.Spreads, func(o SpreadResult) bool {
			return o.Collection == s.Collection && (!slices.Equal(o.Partition, s.Partition) || o.In != s.In)
		})
		share := float64(s.Largest) / float64(max(p.records(s.Collection), 1))
		if large := s.Largest >= largeRecords && share >= largeShare; !others && !large {
			continue
		}
		text := fmt.Sprintf("%s: %s in %s by %s; the largest has %s", s.Model, s.Collection, format.Plural(s.Partitions, "partition"), strings.Join(s.Partition, ", "), format.Plural(s.Largest, "record"))
		if s.In != "" {
			text = fmt.Sprintf("%s: %s embedded in %s of %s; the largest has %s", s.Model, s.Collection, format.Plural(s.Partitions, "record"), s.In, format.Count(s.Largest))
		}
		if share >= largeShare {
			text += fmt.Sprintf(", %s", format.Percent(100*share))
		}
		if s.Grown > s.Largest {
			text += fmt.Sprintf(", and %s at the end", format.Count(s.Grown))
		}
		list = append(list, Item{"partitions", text})
	}
	return list
}

// records returns how many records were loaded into a collection.
func (p *page) records(collection string) int {
	for _, d := range p.r.Data {
		if d.Collection == collection {
			return d.Records
		}
	}
	return 0
}
