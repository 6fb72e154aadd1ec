package operation

import "github.com/polystore/polystore/loadtest/internal/value"

// A position is a field of a record of the data by which an index orders it.
type position struct {
	collection, record int
	field              string
}

// Follow notes which moves move nothing: they set what the record has already, as the calls before
// left it, and lets what calls insert be drawn. The calls are all calls after those of the last time.
func (s *Stream) Follow(calls []Call) {
	s.Inserted(calls) // changes may be of these
	s.follow(calls)
}

func (s *Stream) follow(calls []Call) {
	for i := range calls {
		k := &calls[i]
		switch k.Q.Kind {
		case "journey":
			for j := range k.Parts {
				if !k.Q.Steps[j].Found { // what is found is in no position that matters
					s.follow(k.Parts[j : j+1])
				}
			}
		case "update", "modify", "move":
			k.still = !s.moves(k) && k.Q.Kind == "move"
		case "group":
			s.follow(k.Parts)
		case "put":
			s.places(k)
		}
	}
}

// moves reports whether a change gives a record another position in an index, and notes that one.
func (s *Stream) moves(k *Call) bool {
	moved := k.from < 0 // nothing is known of it
	if moved {
		return true
	}
	for i, a := range k.sets {
		if at := (position{k.Q.Collection.At, k.from, a.Field}); k.Q.Collection.Indexed(a.Field) {
			moved = moved || !value.Same(s.now(at), k.values[i])
			s.positions[at] = k.values[i]
		}
	}
	for _, a := range k.Q.Add {
		if at := (position{k.Q.Collection.At, k.from, a.Field}); k.Q.Collection.Indexed(a.Field) {
			old, _ := s.now(at).(int64) // what is absent counts as 0
			moved = moved || a.By != 0
			s.positions[at] = old + a.By
		}
	}
	for p, v := range k.Pushes {
		if at := (position{k.Q.Collection.At, k.from, p.Field}); k.Q.Collection.Indexed(p.Field) {
			old, _ := s.now(at).([]any)
			list := p.Into(old, v)
			moved = moved || !value.Same(old, list)
			s.positions[at] = list
		}
	}
	return moved
}

// places notes the values of a record that was written as a whole.
func (s *Stream) places(k *Call) {
	if k.from < 0 {
		return
	}
	for f := range k.Q.Collection.Schema.Fields {
		if k.Q.Collection.Indexed(f) {
			s.positions[position{k.Q.Collection.At, k.from, f}] = k.Record[f]
		}
	}
}

// now returns what a record has at a position.
func (s *Stream) now(at position) any {
	if v, ok := s.positions[at]; ok {
		return v
	}
	return s.at(s.w.Collections[at.collection], at.field, at.record)
}
