package loadtest

import (
	"math"
	"testing"

	"github.com/polystore/polystore/backends/memory"
)

const growing = `
workload: growing
rate: 100
rounds: 4
round: 200ms
collections:
  - collection: posts
    partition: [author]
    sort: [id]
    fields: {author: string, id: string, category: string, title: string}
    indexes: [{partition: [category], sort: [author]}]
    data:
      count: 4000
      fields:
        author: {int: {min: 1, max: 20}, pattern: "u%02d"}
        id: {sequence: 1, pattern: "P%06d"}
        category: {int: {min: 1, max: 10}, pattern: "c%d"}
        title: {words: {min: 2, max: 4}}
queries:
  - {name: a post, weight: 50, kind: get, collection: posts}
  - {name: of a category, weight: 50, kind: find, collection: posts, where: {category: $}, order: [author], limit: 20}
models:
  - name: index table
  - {name: scan, scan: true}
`

// What a forecast says of four times as many records is what a run with so many then costs, as far as that does not
// depend on the machine: rows and requests within 5 %, bytes within 2 %.
func TestForecastHolds(t *testing.T) {
	at := func(records int) *Result {
		w := mustParse(t, growing)
		w.Records = records
		r, err := Run(t.Context(), w, options(memory.New(nil)))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	f, err := Plan([]*Result{at(250), at(1000)}, 4000)
	if err != nil {
		t.Fatal(err)
	}
	after := at(4000)
	if len(f.Candidates) != 2 {
		t.Fatalf("%d candidates", len(f.Candidates))
	}
	compared, grew := 0, 0
	for i, g := range f.Candidates {
		c := after.Candidates[i]
		for _, x := range g.Costs {
			var is float64
			bound := 0.05
			switch {
			case x.Figure == "bytes":
				is, bound = float64(c.RecordBytes+c.IndexBytes), 0.02
			case x.Figure == "rows a call" && x.Query == c.Queries[0].Name:
				is = c.Queries[0].RowsEach
			case x.Figure == "rows a call":
				is = c.Queries[1].RowsEach
			default:
				continue
			}
			if compared++; x.Exponent > 0.9 {
				grew++
			}
			if math.Abs(x.Forecast/is-1) > bound {
				t.Errorf("%s: %s %s: forecast %.1f, then %.1f", g.Name, x.Query, x.Figure, x.Forecast, is)
			}
		}
	}
	if compared < 5 || grew < 2 {
		t.Errorf("%d costs were compared, of which %d grow as the records", compared, grew)
	}
}
