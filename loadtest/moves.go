package loadtest

import "strings"

// A position is a field of a record of the data by which an index orders it.
type position struct {
	collection, record int
	field              string
}

// follow notes which moves move nothing: they set what the record has already, as the calls before
// left it. The calls are all calls after those of the last time.
func (s *stream) follow(calls []call) {
	for i := range calls {
		k := &calls[i]
		if k.q.kind == "update" || k.q.kind == "move" {
			k.still = !s.moves(k) && k.q.kind == "move"
		}
	}
}

// moves reports whether a change gives a record another position in an index, and notes that one.
func (s *stream) moves(k *call) bool {
	moved := false
	for i, a := range k.q.set {
		if at := (position{k.q.collection.at, k.from, a.field}); k.q.collection.indexed(a.field) {
			moved = moved || !same(s.now(at), k.values[i])
			s.positions[at] = k.values[i]
		}
	}
	for _, a := range k.q.add {
		if at := (position{k.q.collection.at, k.from, a.field}); k.q.collection.indexed(a.field) {
			old, _ := s.now(at).(int64) // what is absent counts as 0
			moved = moved || a.by != 0
			s.positions[at] = old + a.by
		}
	}
	return moved
}

// now returns what a record has at a position.
func (s *stream) now(at position) any {
	if v, ok := s.positions[at]; ok {
		return v
	}
	return s.data[at.collection].column(at.field)[at.record]
}

// same reports whether two values are the same.
func same(a, b any) bool {
	var x, y strings.Builder
	appendCanonical(&x, a)
	appendCanonical(&y, b)
	return x.String() == y.String()
}
