package tree

import "strings"

// A place is where a node stands among its siblings: a text, by whose bytes they are ordered. Between any two places
// there is another one, so that a node is inserted without others being written. A place has a whole part and,
// where that is taken, a fraction. The whole part begins with a digit that says how long it is, so that a million
// nodes, each inserted after the last, have places of at most six bytes.
//
// The scheme is that of D. Greenspan, Implementing Fractional Indexing (Observable, 2020).

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

const (
	firstPlace = "a0"
	leastHead  = 'A' // of the longest whole part below firstPlace
	mostHead   = 'z'
)

// between returns a place after one and before another; "" is no bound.
// It is "" if there is none: the bounds are not in order, or are no places.
func between(after, before string) string {
	if after != "" && before != "" && after >= before || !isPlace(after) || !isPlace(before) {
		return ""
	}
	switch {
	case after == "" && before == "":
		return firstPlace
	case after == "":
		whole, fraction := cutPlace(before)
		if fraction != "" {
			return whole
		}
		if less := decrement(whole); less != "" {
			return less
		}
		return "" // after 62^26 insertions before the first
	case before == "":
		whole, fraction := cutPlace(after)
		if more := increment(whole); more != "" {
			return more
		}
		return whole + middle(fraction, "")
	}
	low, lowFraction := cutPlace(after)
	high, highFraction := cutPlace(before)
	if low == high {
		return low + middle(lowFraction, highFraction)
	}
	if more := increment(low); more != "" && more < before {
		return more
	}
	return low + middle(lowFraction, "")
}

// isPlace reports whether a text is a place, or "".
func isPlace(text string) bool {
	if text == "" {
		return true
	}
	n := wholeLen(text[0])
	if n == 0 || len(text) < n || len(text) > n && text[len(text)-1] == digits[0] {
		return false
	}
	for i := range len(text) {
		if strings.IndexByte(digits, text[i]) < 0 {
			return false
		}
	}
	return true
}

// wholeLen returns how long a whole part is that begins with a byte, 0 if none does.
func wholeLen(head byte) int {
	switch {
	case head >= 'a' && head <= mostHead:
		return int(head-'a') + 2
	case head >= leastHead && head <= 'Z':
		return int('Z'-head) + 2
	}
	return 0
}

func cutPlace(place string) (whole, fraction string) {
	n := wholeLen(place[0])
	return place[:n], place[n:]
}

// increment returns the next whole part, "" after the last.
func increment(whole string) string {
	b := []byte(whole)
	for i := len(b) - 1; i > 0; i-- {
		if d := strings.IndexByte(digits, b[i]); d < len(digits)-1 {
			b[i] = digits[d+1]
			return string(b)
		}
		b[i] = digits[0]
	}
	switch head := b[0]; {
	case head == 'Z':
		return firstPlace
	case head == mostHead:
		return ""
	case head > 'Z':
		return string(head+1) + string(b[1:]) + digits[:1]
	default:
		return string(head+1) + string(b[2:])
	}
}

// decrement returns the whole part before one, "" before the first.
func decrement(whole string) string {
	b, last := []byte(whole), digits[len(digits)-1]
	for i := len(b) - 1; i > 0; i-- {
		if d := strings.IndexByte(digits, b[i]); d > 0 {
			b[i] = digits[d-1]
			return string(b)
		}
		b[i] = last
	}
	switch head := b[0]; {
	case head == 'a':
		return "Z" + string(last)
	case head == leastHead:
		return ""
	case head > 'a':
		return string(head-1) + string(b[2:])
	default:
		return string(head-1) + string(b[1:]) + string(last)
	}
}

// middle returns a fraction between two, of which the second may be "", no bound. It does not end with the least
// digit, so that there is always one before it.
func middle(low, high string) string {
	same := 0
	for same < len(high) && digitAt(low, same) == strings.IndexByte(digits, high[same]) {
		same++
	}
	if same > 0 {
		return high[:same] + middle(low[min(same, len(low)):], high[same:])
	}
	from, to := digitAt(low, 0), len(digits)
	if high != "" {
		to = strings.IndexByte(digits, high[0])
	}
	switch {
	case to-from > 1:
		return string(digits[(from+to)/2])
	case len(high) > 1:
		return high[:1]
	default:
		return string(digits[from]) + middle(low[min(1, len(low)):], "")
	}
}

// digitAt returns the value of a digit of a fraction, which ends with zeros.
func digitAt(fraction string, i int) int {
	if i >= len(fraction) {
		return 0
	}
	return strings.IndexByte(digits, fraction[i])
}
