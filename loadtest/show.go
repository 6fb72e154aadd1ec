package loadtest

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// showCount returns a number with commas between its thousands.
func showCount(n int) string {
	text := strconv.Itoa(n)
	if n < 0 {
		return "-" + showCount(-n)
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// showDuration returns a time with two or three digits and a unit.
func showDuration(d time.Duration) string {
	switch {
	case d <= 0:
		return "0 ms"
	case d < 1000*time.Microsecond:
		return fmt.Sprintf("%s µs", digits(float64(d)/1e3))
	case d < 1000*time.Millisecond:
		return fmt.Sprintf("%s ms", digits(float64(d)/1e6))
	}
	return fmt.Sprintf("%s s", digits(d.Seconds()))
}

// digits returns a number with two digits, or all before the point.
func digits(x float64) string {
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

// showPercent returns a share of 100.
func showPercent(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) + " %" }

// plural returns "1 model", "3 models".
func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	if stem, ok := strings.CutSuffix(one, "y"); ok && !strings.HasSuffix(stem, "a") && !strings.HasSuffix(stem, "e") {
		return showCount(n) + " " + stem + "ies"
	}
	return showCount(n) + " " + one + "s"
}

// joined returns "a", "a and b", "a, b and c".
func joined(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}
