package loadtest

import (
	"testing"
	"time"
)

func TestShowNumbers(t *testing.T) {
	tests := []struct{ got, want string }{
		{showCount(0), "0"}, {showCount(999), "999"}, {showCount(12504), "12,504"}, {showCount(-1234567), "-1,234,567"},
		{showDuration(310 * time.Microsecond), "310 µs"}, {showDuration(3500 * time.Microsecond), "3.5 ms"},
		{showDuration(20 * time.Millisecond), "20 ms"}, {showDuration(2600 * time.Millisecond), "2.6 s"}, {showDuration(0), "0 ms"},
		{digits(1.6), "1.6"}, {digits(17), "17"}, {digits(0.02), "0.02"}, {showPercent(10), "10 %"}, {showPercent(2.5), "2.5 %"},
		{plural(1, "query"), "1 query"}, {plural(3, "query"), "3 queries"}, {plural(2, "model"), "2 models"}, {plural(2, "key"), "2 keys"},
		{joined([]string{"a"}), "a"}, {joined([]string{"a", "b", "c"}), "a, b and c"},
		{timesLess(2.08, "CPU"), "2.1 times less CPU"}, {timesLess(1.1, "CPU"), "9.1 % less CPU"},
		{distanceText("partitons", "partition"), "2"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func distanceText(a, b string) string { return showCount(distance(a, b)) }
