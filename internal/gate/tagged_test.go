package gate_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// Tagged JSON, as the design describes it: JSON that keeps the kinds apart.

func tagged(v driver.Value) string {
	switch v.Kind() {
	case driver.Bool:
		return strconv.FormatBool(v.Bool())
	case driver.Int:
		return strconv.FormatInt(v.Int(), 10)
	case driver.Float:
		return taggedFloat(v.Float())
	case driver.String:
		return quoted(v.Str())
	case driver.Bytes:
		return `{"$bytes":"` + base64.StdEncoding.EncodeToString([]byte(v.Str())) + `"}`
	case driver.Time:
		return `{"$time":` + strconv.FormatInt(v.Int(), 10) + `}`
	case driver.List:
		var parts []string
		for _, e := range v.List() {
			parts = append(parts, tagged(e))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case driver.Map:
		return taggedMap(v.List())
	}
	return "null"
}

func taggedFloat(f float64) string {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	switch {
	case math.IsInf(f, 0):
		return `{"$float":"` + s + `"}`
	case !strings.ContainsAny(s, ".e"):
		s += ".0"
	}
	return s
}

func taggedMap(pairs []driver.Value) string {
	var parts []string
	for i := 0; i < len(pairs); i += 2 {
		name := pairs[i].Str()
		if strings.HasPrefix(name, "$") {
			name = "$" + name
		}
		parts = append(parts, quoted(name)+":"+tagged(pairs[i+1]))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string is always JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func untagged(s string) (driver.Value, error) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return driver.Value{}, fmt.Errorf("tagged JSON %.100q: %w", s, err)
	}
	return untag(v)
}

func untag(v any) (driver.Value, error) {
	switch v := v.(type) {
	case bool:
		return driver.BoolValue(v), nil
	case string:
		return driver.StringValue(v), nil
	case json.Number:
		if strings.ContainsAny(v.String(), ".e") {
			f, err := v.Float64()
			return driver.FloatValue(f), err
		}
		n, err := v.Int64()
		return driver.IntValue(n), err
	case []any:
		list := make([]driver.Value, len(v))
		for i := range v {
			var err error
			if list[i], err = untag(v[i]); err != nil {
				return driver.Value{}, err
			}
		}
		return driver.ListValue(list), nil
	case map[string]any:
		return untagMap(v)
	}
	return driver.Value{}, nil
}

func untagMap(m map[string]any) (driver.Value, error) {
	if v, ok := m["$bytes"].(string); ok {
		b, err := base64.StdEncoding.DecodeString(v)
		return driver.BytesValue(string(b)), err
	}
	if v, ok := m["$time"].(json.Number); ok {
		ms, err := v.Int64()
		return driver.TimeValue(ms), err
	}
	if v, ok := m["$float"].(string); ok {
		f, err := strconv.ParseFloat(v, 64)
		return driver.FloatValue(f), err
	}
	names := slices.Sorted(maps.Keys(m))
	var pairs []driver.Value
	for _, name := range names {
		v, err := untag(m[name])
		if err != nil {
			return v, err
		}
		name = strings.TrimPrefix(name, "$")
		pairs = append(pairs, driver.StringValue(name), v)
	}
	return driver.MapValue(pairs), nil
}
