package draft

import (
	"encoding/json"
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/value"
)

// A column is what is known of a field of a file.
type column struct {
	name  string // in the file
	field string // in the collection
	kinds []string
	there int // rows that have a value
	seen  map[uint64]bool
	most  int64 // the greatest whole number
	last  uint64
	has   bool // the last row has a value

	parts int             // elements of its lists
	texts map[uint64]bool // those that are text
	other bool            // an element is none
}

// textKinds are those that a text of a CSV file may be, the narrowest first.
var textKinds = []string{"bool", "int", "float", "time", "string"}

var seed = maphash.MakeSeed()

// take looks at a value, of which text is the same for equal ones.
func (c *column) take(kinds []string, text string) {
	if c.there++; c.there == 1 {
		c.kinds = slices.Clone(kinds)
	}
	c.kinds = slices.DeleteFunc(c.kinds, func(k string) bool { return !slices.Contains(kinds, k) })
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		c.most = max(c.most, n)
	}
	c.last, c.has = maphash.String(seed, text), true
	c.seen[c.last] = true
}

// takeElements looks at the elements of a list.
func (c *column) takeElements(x any) {
	list, _ := x.([]any)
	for _, e := range list {
		text, ok := e.(string)
		if c.other = c.other || !ok; c.texts == nil {
			c.texts = map[uint64]bool{}
		}
		c.parts++
		c.texts[maphash.String(seed, text)] = true
	}
}

// byElements reports whether records are found by what is in the lists of a column: text that comes again.
func (c *column) byElements() bool {
	return c.kind() == "list" && c.parts > 0 && !c.other && len(c.texts) <= c.parts/2
}

// place returns what an index and a condition name: the elements of a list.
func (c *column) place() string {
	if c.kind() == "list" {
		return c.field + "[]"
	}
	return c.field
}

// kind returns what a column is, "" if its values have nothing in common.
func (c *column) kind() string {
	switch {
	case c.there == 0:
		return "string"
	case len(c.kinds) == 0:
		return ""
	}
	return c.kinds[0]
}

// kindsOfText returns the kinds that a text may be. One with zeros in front, as a postal code has, is no number.
func kindsOfText(text string) (kinds []string) {
	digits := strings.TrimLeft(text, "+-")
	padded := len(digits) > 1 && digits[0] == '0' && digits[1] != '.' || strings.HasPrefix(text, "+")
	for _, k := range textKinds {
		if _, err := value.FromText(k, text, value.TimeForms[0]); err == nil && (!padded || k != "int" && k != "float") {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// kindsOfJSON returns the kinds that a value of JSON may be, and a text for it.
func kindsOfJSON(x any) (kinds []string, text string) {
	switch x := x.(type) {
	case bool:
		return []string{"bool"}, strconv.FormatBool(x)
	case json.Number:
		if _, err := x.Int64(); err == nil {
			return []string{"int", "float"}, x.String()
		}
		if f, err := x.Float64(); err == nil && !math.IsInf(f, 0) {
			return []string{"float"}, x.String()
		}
		return nil, x.String()
	case string:
		kinds = []string{"string"}
		if _, err := value.FromText("time", x, value.TimeForms[0]); err == nil {
			kinds = []string{"time", "string"}
		}
		return kinds, x
	case []any:
		return []string{"list"}, ""
	}
	return []string{"map"}, ""
}

// scalar reports whether a kind may be part of a key.
func scalar(kind string) bool { return kind == "string" || kind == "int" || kind == "time" }
