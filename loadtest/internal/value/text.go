// Package value reads and compares the values of records. Texts and JSON come in; values in the
// types of the library go out, or a text that tells whether two are the same.
package value

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"time"
)

// TimeForms are how a file may write times.
var TimeForms = []string{"rfc3339", "unix", "unix_ms"}

// FromScalar returns a value of a workload file as the Go value that the library
// takes for a kind.
func FromScalar(kind string, x any) (any, error) {
	switch x := x.(type) {
	case string:
		return FromText(kind, x, TimeForms[0])
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

// FromText returns text as a value of a kind. Times are written in one of
// TimeForms.
func FromText(kind, text, times string) (any, error) {
	switch kind {
	case "string":
		return text, nil
	case "int":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s is not a whole number of 64 bits", Quote(text))
		}
		return n, nil
	case "float":
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("%s is not a number", Quote(text))
		}
		return f, nil
	case "bool":
		if text != "true" && text != "false" {
			return nil, fmt.Errorf("%s is neither true nor false", Quote(text))
		}
		return text == "true", nil
	case "time":
		return TimeFrom(text, times)
	case "bytes":
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("%s is not base64", Quote(text))
		}
		return b, nil
	}
	return nil, fmt.Errorf("%s is not a %s", Quote(text), kind)
}

// Quote returns text for a message, cut if it is long.
func Quote(text string) string {
	if r := []rune(text); len(r) > 40 {
		text = string(r[:40]) + "…"
	}
	return strconv.Quote(text)
}

// TimeFrom returns a text in one of TimeForms as a time.
func TimeFrom(text, form string) (time.Time, error) {
	if form == "rfc3339" {
		for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
			if t, err := time.Parse(layout, text); err == nil {
				return t.UTC(), nil
			}
		}
		return time.Time{}, fmt.Errorf("%s is not a time such as 2006-01-02T15:04:05Z or 2006-01-02", Quote(text))
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s is not a whole number of %s", Quote(text), map[string]string{"unix": "seconds", "unix_ms": "milliseconds"}[form])
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
