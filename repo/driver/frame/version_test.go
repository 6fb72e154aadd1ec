package frame

import "testing"

func TestCompareVersions(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"4.1.0", "4.1", 0}, {"4.0.19", "4.1", -1}, {"5.0.4-rc1", "5.0.4", 0}, {"5.0.3", "5.0.4", -1}, {"10.0", "9.9", 1},
		{"7.2.4", "7.2.10", -1}, {"", "1", -1}, {"odd", "0", 0}, {"1.2.3.4.5", "1.2.3.4", 0},
	} {
		if got := CompareVersions(tt.a, tt.b); got != tt.want {
			t.Errorf("%q to %q is %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
