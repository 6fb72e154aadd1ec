// Package format writes numbers, times and lists for people. Values come in, short texts go out.
package format

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Count returns a number with commas between its thousands.
func Count(n int) string {
	text, negative := strings.CutPrefix(strconv.Itoa(n), "-")
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	if negative {
		return "-" + text
	}
	return text
}

// Duration returns a time with two or three digits and a unit.
func Duration(d time.Duration) string {
	switch {
	case d <= 0:
		return "0 ms"
	case d < 1000*time.Microsecond:
		return fmt.Sprintf("%s µs", Digits(float64(d)/1e3))
	case d < 1000*time.Millisecond:
		return fmt.Sprintf("%s ms", Digits(float64(d)/1e6))
	}
	return fmt.Sprintf("%s s", Digits(d.Seconds()))
}

// Digits returns a number with two digits, or all before the point.
func Digits(x float64) string {
	switch {
	case x == 0 || math.IsNaN(x) || math.IsInf(x, 0):
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 9.95:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 0.095:
		return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
	}
	return strconv.FormatFloat(x, 'g', 1, 64)
}

// Percent returns a share of 100.
func Percent(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) + " %" }

// Plural returns "1 model", "3 models".
func Plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	if stem, ok := strings.CutSuffix(one, "y"); ok && !strings.HasSuffix(stem, "a") && !strings.HasSuffix(stem, "e") {
		return Count(n) + " " + stem + "ies"
	}
	return Count(n) + " " + one + "s"
}

// Joined returns "a", "a and b", "a, b and c".
func Joined(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}
