package operation

import (
	"math/rand/v2"

	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// gather notes which records lie in one partition, as the collection is declared.
func (d *drawer) gather(q *workload.Query, t *generate.Table) {
	names := q.Collection.Schema.Partition
	at, rec := map[string]int32{}, map[string]any{}
	for i := range t.Len {
		for _, f := range names {
			rec[f] = t.Column(f)[i]
		}
		id := value.Identity(rec, names)
		p, known := at[id]
		if !known {
			p = int32(len(d.partitions))
			at[id], d.partitions = p, append(d.partitions, nil)
		}
		d.partitions[p] = append(d.partitions[p], int32(i))
		d.lies = append(d.lies, p)
	}
}

// mates draws n records of the partition of the i-th one, which is the first of them.
func (d *drawer) mates(r *rand.Rand, i, n int) []int {
	all := d.partitions[d.lies[i]]
	list, seen := []int{i}, map[int]bool{i: true}
	for len(list) < n {
		if mate := int(all[r.IntN(len(all))]); !seen[mate] {
			seen[mate], list = true, append(list, mate)
		}
	}
	return list
}
