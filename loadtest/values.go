package loadtest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// timeForms are how a file may write times.
var timeForms = []string{"rfc3339", "unix", "unix_ms"}

// fromScalar returns a value of a workload file as the Go value that the library
// takes for a kind.
func fromScalar(kind string, x any) (any, error) {
	switch x := x.(type) {
	case string:
		return fromText(kind, x, timeForms[0])
	case bool:
		if kind == "bool" {
			return x, nil
		}
	case int64:
		if kind == "int" {
			return x, nil
		}
		if kind == "float" {
			return float64(x), nil
		}
	case float64:
		if kind == "float" && !math.IsNaN(x) {
			return x, nil
		}
	}
	if kind == "string" {
		return nil, fmt.Errorf("%v is not text; put it in quotes", x)
	}
	return nil, fmt.Errorf("%v is not of kind %s", x, kind)
}

// fromText returns text as a value of a kind. Times are written in one of
// timeForms.
func fromText(kind, text, times string) (any, error) {
	switch kind {
	case "string":
		return text, nil
	case "int":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s is not a whole number of 64 bits", show(text))
		}
		return n, nil
	case "float":
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("%s is not a number", show(text))
		}
		return f, nil
	case "bool":
		if text != "true" && text != "false" {
			return nil, fmt.Errorf("%s is neither true nor false", show(text))
		}
		return text == "true", nil
	case "time":
		return timeFrom(text, times)
	case "bytes":
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("%s is not base64", show(text))
		}
		return b, nil
	}
	return nil, fmt.Errorf("%s is not a %s", show(text), kind)
}

// show returns text for a message, cut if it is long.
func show(text string) string {
	if r := []rune(text); len(r) > 40 {
		text = string(r[:40]) + "…"
	}
	return strconv.Quote(text)
}

func timeFrom(text, form string) (time.Time, error) {
	if form == "rfc3339" {
		for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
			if t, err := time.Parse(layout, text); err == nil {
				return t.UTC(), nil
			}
		}
		return time.Time{}, fmt.Errorf("%s is not a time such as 2006-01-02T15:04:05Z or 2006-01-02", show(text))
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s is not a whole number of %s", show(text), map[string]string{"unix": "seconds", "unix_ms": "milliseconds"}[form])
	}
	return unixTime(n, form)
}

func unixTime(n int64, form string) (time.Time, error) {
	const most = int64(1) << 50
	if n > most || n < -most {
		return time.Time{}, fmt.Errorf("%d is too far away to be a time", n)
	}
	if form == "unix" {
		return time.Unix(n, 0).UTC(), nil
	}
	return time.UnixMilli(n).UTC(), nil
}

// fromJSON returns a value of a JSON file, whose numbers are json.Number, as a
// value of a kind. JSON's null, and an empty list or object, is nil: absent.
func fromJSON(kind string, x any, times string) (any, error) {
	switch x := x.(type) {
	case nil:
		return nil, nil
	case string:
		if kind != "int" && kind != "float" && kind != "bool" {
			return fromText(kind, x, times)
		}
	case json.Number:
		return fromNumber(kind, x, times)
	case bool:
		if kind == "bool" {
			return x, nil
		}
	case []any:
		if kind == "list" {
			return plainList(x)
		}
	case map[string]any:
		if kind == "map" {
			return plainMap(x)
		}
	}
	return nil, fmt.Errorf("%s, want %s", describeJSON(x), wanted(kind, times))
}

func fromNumber(kind string, x json.Number, times string) (any, error) {
	switch {
	case kind == "int" || kind == "float":
		return fromText(kind, x.String(), times)
	case kind == "time" && times != "rfc3339":
		return timeFrom(x.String(), times)
	}
	return nil, fmt.Errorf("number %s, want %s", show(x.String()), wanted(kind, times))
}

func wanted(kind, times string) string {
	switch {
	case kind == "time" && times == "rfc3339":
		return "a time as text (times: unix allows numbers)"
	case kind == "list":
		return "a list"
	case kind == "int":
		return "a whole number"
	case kind == "float":
		return "a number"
	case kind == "map":
		return "an object"
	case kind == "bool":
		return "true or false"
	}
	return "text of kind " + kind
}

func describeJSON(x any) string {
	switch x := x.(type) {
	case string:
		return "text " + show(x)
	case bool:
		return fmt.Sprint(x)
	case []any:
		return "a list"
	}
	return "an object"
}

var errNestedNumber = errors.New("a number in it is neither a whole number of 64 bits nor a fraction")

// plain returns a nested JSON value in the library's types.
func plain(x any) (any, error) {
	switch x := x.(type) {
	case json.Number:
		if n, err := x.Int64(); err == nil {
			return n, nil
		}
		if f, err := x.Float64(); err == nil {
			return f, nil
		}
		return nil, errNestedNumber
	case []any:
		return plainList(x)
	case map[string]any:
		return plainMap(x)
	}
	return x, nil
}

func plainList(list []any) (any, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := make([]any, len(list))
	for i, x := range list {
		v, err := plain(x)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func plainMap(m map[string]any) (any, error) {
	if len(m) == 0 {
		return nil, nil
	}
	out := make(map[string]any, len(m))
	for k, x := range m {
		v, err := plain(x)
		if err != nil {
			return nil, err
		}
		out[k] = v
	}
	return out, nil
}
