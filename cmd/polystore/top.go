package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo"
)

const topAbout = `Reads all records of a collection, and prints the largest of them, the largest partitions, and
the largest partitions of each index: what makes the load of a cluster uneven. It changes nothing.
The store remembers the schema, so the name of the collection is enough.`

func top(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	const want = "URL COLLECTION"
	fs := newFlags("top", want, topAbout, "polystore top pebble:/data/blog posts --lines 5", stderr)
	lines := fs.Int("lines", 10, "how many are printed of each kind")
	rest, err := parse(fs, args, want, stdout)
	if err != nil {
		return err
	}
	if *lines < 1 || *lines > mostCounted {
		return usageError("top: --lines is %d; want 1 to %d", *lines, mostCounted)
	}
	return withCollection(ctx, rest[0], rest[1], func(r *repo.Repo[map[string]any]) error {
		schema, err := repo.SchemaOf(ctx, r.Store(), rest[1])
		if err != nil {
			return err
		}
		s := newSkew(schema, *lines)
		for chunk, err := range r.Walk(ctx, "") {
			if err != nil {
				return err
			}
			for _, rec := range chunk.Items {
				s.add(rec)
			}
		}
		_, err = io.WriteString(stdout, s.text())
		return err
	})
}

// A skew is how unevenly the records of a collection lie.
type skew struct {
	schema     repo.Schema
	lines      int
	records    int64
	bytes      int64
	largest    []counted // records, by their bytes
	partitions counts    // records
	indexes    []counts  // rows
}

func newSkew(schema repo.Schema, lines int) *skew {
	s := &skew{schema: schema, lines: lines, partitions: newCounts()}
	for range schema.Indexes {
		s.indexes = append(s.indexes, newCounts())
	}
	return s
}

// add counts a record.
func (s *skew) add(rec map[string]any) {
	text, _ := json.Marshal(rec) // its length stands for the bytes in every store
	size := int64(len(text))
	s.records, s.bytes = s.records+1, s.bytes+size
	s.largest = append(s.largest, counted{textsOf(rec, slices.Concat(s.schema.Partition, s.schema.Sort))[0], size})
	if len(s.largest) > 2*s.lines+100 {
		s.largest = largest(s.largest, s.lines)
	}
	s.partitions.add(textsOf(rec, s.schema.Partition)[0], 1)
	for i, x := range s.schema.Indexes {
		rows := int64(len(textsOf(rec, x.Sort)))
		for _, part := range textsOf(rec, x.Partition) {
			if rows > 0 {
				s.indexes[i].add(part, rows)
			}
		}
	}
}

// textsOf returns the values of some fields of a record as one text, or as several where the elements of a list are
// among them; none if the record lacks one.
func textsOf(rec map[string]any, fields []string) []string {
	texts := []string{""}
	for i, name := range fields {
		bare, elements := strings.CutSuffix(strings.TrimPrefix(name, "-"), "[]")
		values := []any{rec[bare]}
		if elements {
			values, _ = rec[bare].([]any)
		}
		var next []string
		for _, text := range texts {
			for _, v := range values {
				if v == nil {
					continue
				}
				if i > 0 {
					v = fmt.Sprint(text, "/", v)
				}
				if text := fmt.Sprint(v); !slices.Contains(next, text) {
					next = append(next, text)
				}
			}
		}
		texts = next
	}
	return texts
}

// text returns what is printed.
func (s *skew) text() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %d records, about %d bytes as JSON\n", s.schema.Collection, s.records, s.bytes)
	fmt.Fprintf(&out, "largest records, in bytes:\n")
	table(&out, largest(s.largest, s.lines), s.bytes)
	fmt.Fprintf(&out, "partitions by %s: %s, in records:\n", strings.Join(s.schema.Partition, "/"), s.partitions.many())
	table(&out, s.partitions.largest(s.lines), s.records)
	for i, x := range s.schema.Indexes {
		c := &s.indexes[i]
		by, spread := strings.Join(x.Partition, "/"), ""
		if by == "" {
			by = "nothing"
		}
		if x.Buckets > 1 {
			spread = fmt.Sprintf(", each over %d buckets", x.Buckets)
		}
		fmt.Fprintf(&out, "index %s: %d rows; partitions by %s: %s%s, in rows:\n", x, c.total, by, c.many(), spread)
		table(&out, c.largest(s.lines), c.total)
	}
	return out.String()
}

func table(out *strings.Builder, list []counted, total int64) {
	for _, one := range list {
		label := "(all)"
		if one.name != "" {
			label = printable(one.name)
		}
		fmt.Fprintf(out, "  %10d  %5.1f %%  %s\n", one.n, 100*float64(one.n)/float64(max(total, 1)), label)
	}
}

// mostCounted is how many partitions are counted at once.
const mostCounted = 100_000

// counts counts by name. Of more names than it can hold it keeps those that are frequent, by the algorithm of Misra and
// Gries (1982): their counts are then too low by no more than lost.
type counts struct {
	of    map[string]int64
	total int64
	lost  int64
}

type counted struct {
	name string
	n    int64
}

func newCounts() counts { return counts{of: map[string]int64{}} }

func (c *counts) add(name string, n int64) {
	c.total += n
	c.of[name] += n
	if len(c.of) <= mostCounted {
		return
	}
	least := n
	for _, has := range c.of {
		least = min(least, has)
	}
	for name := range c.of {
		if c.of[name] -= least; c.of[name] == 0 {
			delete(c.of, name)
		}
	}
	c.lost += least
}

// many says how many names there are.
func (c *counts) many() string {
	if c.lost > 0 {
		return fmt.Sprintf("over %d, each counted too low by %d at most", mostCounted, c.lost)
	}
	return fmt.Sprint(len(c.of))
}

func (c *counts) largest(most int) []counted {
	list := make([]counted, 0, len(c.of))
	for name, n := range c.of {
		list = append(list, counted{name, n})
	}
	return largest(list, most)
}

// largest returns the first of a list, the largest before others.
func largest(list []counted, most int) []counted {
	slices.SortFunc(list, func(a, b counted) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.name, b.name)) })
	return list[:min(most, len(list))]
}
