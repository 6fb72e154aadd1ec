package report

import (
	"strings"
	"testing"

	"github.com/polystore/polystore/repo/driver"
)

// Partitions are told where models differ in them, or one is large.
func TestSpreads(t *testing.T) {
	by := func(model string, largest int, fields ...string) SpreadResult {
		return SpreadResult{Model: model, Collection: "posts", Partition: fields, Partitions: 7, Largest: largest}
	}
	in := by("c", 40, "x")
	in.In, in.Grown = "topics", 41
	for name, tt := range map[string]struct {
		spreads []SpreadResult
		want    []string
	}{
		"alike and small": {[]SpreadResult{by("a", 999, "x"), by("b", 999, "x")}, nil},
		"others":          {[]SpreadResult{by("a", 3, "x"), by("b", 2000, "y", "z")}, []string{"partitions a: posts in 7 partitions by x; the largest has 3 records b: ", "by y, z; the largest has 2,000 records, 2 %"}},
		"large":           {[]SpreadResult{by("a", 50_000, "x")}, []string{"the largest has 50,000 records, 50 %"}},
		"embedded":        {[]SpreadResult{by("a", 40, "x"), in}, []string{"a: posts in 7 partitions by x; the largest has 40 records", "c: posts embedded in 7 records of topics; the largest has 40, and 41 at the end"}},
		"one":             {[]SpreadResult{by("a", 1, "x"), by("b", 1, "y")}, []string{"the largest has 1 record b:"}},
	} {
		r := small(made{"m", driver.Power, fast, 0, fast, 100, 0})
		r.Data[0].Records, r.Spreads = 100_000, tt.spreads
		text := words(r)
		if strings.Contains(text, "partitions ") != (len(tt.want) > 0) {
			t.Errorf("%s:\n%s", name, text)
		}
		for _, want := range tt.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the text has no %q:\n%s", name, want, text)
			}
		}
	}
}
