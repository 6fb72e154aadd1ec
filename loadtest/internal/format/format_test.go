package format

import (
	"math"
	"testing"
	"time"
)

func TestNumbers(t *testing.T) {
	tests := []struct{ got, want string }{
		{Count(0), "0"}, {Count(999), "999"}, {Count(12504), "12,504"}, {Count(-1234567), "-1,234,567"},
		{Duration(310 * time.Microsecond), "310 µs"}, {Duration(3500 * time.Microsecond), "3.5 ms"},
		{Duration(20 * time.Millisecond), "20 ms"}, {Duration(2600 * time.Millisecond), "2.6 s"}, {Duration(0), "0 ms"},
		{Digits(1.6), "1.6"}, {Digits(17), "17"}, {Digits(0.02), "0.02"}, {Percent(10), "10 %"}, {Percent(2.5), "2.5 %"},
		{Plural(1, "query"), "1 query"}, {Plural(3, "query"), "3 queries"}, {Plural(2, "model"), "2 models"}, {Plural(2, "key"), "2 keys"},
		{Joined([]string{"a"}), "a"}, {Joined([]string{"a", "b", "c"}), "a, b and c"},
		{Count(math.MinInt), "-" + Count(math.MaxInt)[:len(Count(math.MaxInt))-1] + "8"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}
