package nested

import (
	"encoding/binary"
	"hash/fnv"
)

// mostPlaces is how many bytes of positions a row carries. A record with more has none in its rows: it is read
// wherever it has the terms of a query, and the record itself decides.
const mostPlaces = 1 << 10

// The first byte of encoded places says what follows.
const (
	placesLeftOut = 0
	placesFollow  = 1
)

// encodePlaces returns, for each term, a hash, the number of its positions, and the steps from one to the next.
func encodePlaces(terms []string, at map[string][]int) []byte {
	b := []byte{placesFollow}
	for _, term := range terms {
		b = binary.BigEndian.AppendUint32(b, hashOf(term))
		b = binary.AppendUvarint(b, uint64(len(at[term])))
		last := 0
		for _, i := range at[term] {
			b = binary.AppendUvarint(b, uint64(i-last))
			last = i
		}
		if len(b) > mostPlaces {
			return []byte{placesLeftOut}
		}
	}
	return b
}

func hashOf(term string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(term))
	return h.Sum32()
}

// decodePlaces returns the positions by the hashes of terms. It reports false if b does not tell them.
func decodePlaces(b []byte) (map[uint32][]int, bool) {
	if len(b) == 0 || b[0] != placesFollow {
		return nil, false
	}
	at := map[uint32][]int{}
	for b = b[1:]; len(b) > 0; {
		if len(b) < 4 {
			return nil, false
		}
		hash := binary.BigEndian.Uint32(b)
		count, n := binary.Uvarint(b[4:])
		if b = b[4:]; n <= 0 || count > uint64(len(b)) {
			return nil, false
		}
		b = b[n:]
		_, taken := at[hash]
		last := 0
		for range count {
			step, n := binary.Uvarint(b)
			if n <= 0 || step > 1<<30 || taken {
				return nil, false // also where two terms have one hash
			}
			last, b = last+int(step), b[n:]
			at[hash] = append(at[hash], last)
		}
	}
	return at, true
}

// within reports whether each list has a position so that the farthest two are at most distance apart. The lists
// are sorted.
func within(lists [][]int, distance int) bool {
	next := make([]int, len(lists))
	for {
		low, high := -1, -1
		for l, list := range lists {
			if next[l] == len(list) {
				return false
			}
			at := list[next[l]]
			if low < 0 || at < lists[low][next[low]] {
				low = l
			}
			high = max(high, at)
		}
		if high-lists[low][next[low]] <= distance {
			return true
		}
		next[low]++
	}
}
