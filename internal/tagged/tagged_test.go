package tagged_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/internal/tagged"
	"github.com/polystore/polystore/repo/driver"
)

var texts = []string{"", "a", "$", "$$x", "$time", "_expires", "\x00\x1f\"\\/\r\n\t", "é\u2028\U0010ffff", "*1\r\n$4\r\nPING\r\n", "{}[],:", strings.Repeat("n", 300)}

// random draws a value of any kind.
func random(r *rand.Rand, depth int) driver.Value {
	pick := func() string { return texts[r.IntN(len(texts))] }
	n := 6
	if depth > 0 {
		n = 8
	}
	switch r.IntN(n) {
	case 0:
		return driver.BoolValue(r.IntN(2) == 0)
	case 1:
		return driver.IntValue([]int64{0, -1, math.MaxInt64, math.MinInt64, r.Int64()}[r.IntN(5)])
	case 2:
		return driver.FloatValue([]float64{0, 1, -2.5, 1e300, 5e-324, math.Inf(1), math.Inf(-1), math.MaxFloat64, r.NormFloat64()}[r.IntN(9)])
	case 3:
		return driver.StringValue(pick())
	case 4:
		return driver.BytesValue(pick() + "\xff")
	case 5:
		return driver.TimeValue(r.Int64N(1<<53) - 1<<52)
	case 6:
		var list []driver.Value
		for range 1 + r.IntN(4) {
			list = append(list, random(r, depth-1))
		}
		return driver.ListValue(list)
	}
	names := slices.Clone(texts)
	slices.Sort(names)
	var pairs []driver.Value
	for _, name := range names {
		if r.IntN(3) == 0 {
			pairs = append(pairs, driver.StringValue(name), random(r, depth-1))
		}
	}
	return driver.MapValue(append(pairs, driver.StringValue("\U0010ffff"), driver.BoolValue(true)))
}

// Tagged JSON is JSON, and reads back as the value that it was made of.
func TestReadsBack(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	kinds := map[driver.Kind]int{}
	for range 20_000 {
		v := random(r, 3)
		kinds[v.Kind()]++
		text := string(tagged.Append(nil, v))
		if !json.Valid([]byte(text)) {
			t.Fatalf("%v is written as %s, which is no JSON", v, text)
		}
		got, err := tagged.Parse(text)
		if err != nil || !got.Equal(v) {
			t.Fatalf("%s reads back as %v, %v; want %v", text, got, err, v)
		}
	}
	if len(kinds) != 8 {
		t.Errorf("values of %d kinds were tried, want 8", len(kinds))
	}
}

// What another program wrote, or only a part of, is an error and no panic; other
// ways to write the same JSON are understood.
func TestTextsOfOthers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " ", "{", "[", `"`, `"\`, `"\u12"`, "[1,]", "[1 2]", `{"a"}`, `{"a":}`, `{"b":1,"a":2}`, `{"a":1,"a":2}`, "1x", "nul", "-", "NaN",
		"1e999", "9223372036854775808", `{"$time":"x"}`, `{"$time":1,"b":2}`, `{"$bytes":"!"}`, `{"$bytes":""}`, `{"$float":"1"}`, `{"$float":""}`, `{"$other":1}`, "1 2", "\"\xff\"",
		strings.Repeat("[", 2<<20)} {
		if v, err := tagged.Parse(text); !errors.Is(err, driver.ErrCorrupt) {
			t.Errorf("%.40q reads as %v, %v; want ErrCorrupt", text, v, err)
		}
	}
	got, err := tagged.Parse(` { "a" : [ 1 , "\u00e9\ud83d\ude00\/" , null ] , "b" : 1E2 } `)
	want := driver.MapValue([]driver.Value{driver.StringValue("a"), driver.ListValue([]driver.Value{driver.IntValue(1), driver.StringValue("é😀/"), {}}),
		driver.StringValue("b"), driver.FloatValue(100)})
	if err != nil || !got.Equal(want) {
		t.Errorf("JSON as others write it reads as %v, %v; want %v", got, err, want)
	}
	r := rand.New(rand.NewPCG(3, 4))
	failed := 0
	for range 20_000 {
		text := tagged.Append(nil, random(r, 3))
		text[r.IntN(len(text))] = byte(r.IntN(256))
		if _, err := tagged.Parse(string(text)); err != nil {
			failed++
		}
	}
	if failed < 1000 {
		t.Errorf("%d of 20000 spoilt texts were refused", failed)
	}
}

// An object is read field by field, in any order, up to what is no tagged JSON.
func TestObject(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text, want string
		ok         bool
	}{
		{`{}`, "", true},
		{` { "b" : 1 , "$$a" : [ "x" ] } `, `b=1 $a=["x"] `, true},
		{`{"b":1,"a":2,"b":3}`, "b=1 a=2 b=3 ", true},
		{"", "", false},
		{`[1]`, "", false},
		{`{"a":1`, "a=1 ", false},
		{`{"a":1,}`, "a=1 ", false},
		{`{"a":1} {}`, "a=1 ", false},
		{`{"a":1,"b":x,"c":2}`, "a=1 ", false},
		{`{"a":1,"$time":2}`, "a=1 ", false},
		{`{"a":1,"b" 2}`, "a=1 ", false},
	} {
		got := ""
		err := tagged.Object(tt.text, func(name string, value driver.Value) {
			got += name + "=" + string(tagged.Append(nil, value)) + " "
		})
		if got != tt.want || (err == nil) != tt.ok || err != nil && !errors.Is(err, driver.ErrCorrupt) {
			t.Errorf("%s reads as %s, %v; want %s", tt.text, got, err, tt.want)
		}
	}
}
