package frame

import (
	"slices"
	"strconv"
	"strings"
)

// CompareVersions compares texts like 7.0.15 by their first numbers, and says which is the later as cmp.Compare does.
// One that is not there is 0, and of one like 4-rc1 its beginning counts.
func CompareVersions(a, b string) int {
	x, y := numbers(a), numbers(b)
	return slices.Compare(x[:], y[:])
}

func numbers(version string) (n [4]int) {
	for i, part := range strings.SplitN(version, ".", len(n)) {
		digits := part[:len(part)-len(strings.TrimLeft(part, "0123456789"))]
		n[i], _ = strconv.Atoi(digits)
	}
	return n
}
