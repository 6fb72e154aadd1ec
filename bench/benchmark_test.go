package main

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkOperations is for profiles: a phase of one candidate in this process.
func BenchmarkOperations(b *testing.B) {
	const records = 5_000
	for _, c := range onPebble {
		for _, op := range operations {
			b.Run(c.name+"/"+op, func(b *testing.B) {
				p, err := c.open(place{dir: b.TempDir()}, c.covering)
				if err != nil {
					b.Fatal(err)
				}
				defer p.close()
				n := records
				if op == opDelete {
					n += b.N
				}
				if err := fill(b.Context(), p, n); err != nil {
					b.Fatal(err)
				}
				calls := newWorld(n).calls(op, b.N, 1, rand.New(rand.NewPCG(1, 1)))[0]
				b.ReportAllocs()
				b.ResetTimer()
				for i := range calls {
					if _, err := calls[i].do(b.Context(), p); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkTrees is that for trees.
func BenchmarkTrees(b *testing.B) {
	const records = 20_000
	for _, c := range treesOnPebble {
		for _, op := range treeOperations {
			b.Run(c.name+"/"+op, func(b *testing.B) {
				t, err := c.tree(place{dir: b.TempDir()})
				if err != nil {
					b.Fatal(err)
				}
				defer t.close()
				p := newPlot(records)
				if err := t.load(b.Context(), p.nodes); err != nil {
					b.Fatal(err)
				}
				calls := p.calls(op, b.N, 1, rand.New(rand.NewPCG(1, 1)))[0]
				b.ReportAllocs()
				b.ResetTimer()
				for i := range calls {
					if _, err := calls[i].do(b.Context(), t); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
