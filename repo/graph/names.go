package graph

// names number the nodes of a graph from 0 on, in the order in which they come.
type names struct {
	settings *settings
	ids      []string
	numbers  map[string]int32
}

// number returns the number of a node.
func (s *names) number(id string) (int32, error) {
	n, known := s.numbers[id]
	switch {
	case known:
		return n, nil
	case len(s.ids) == s.settings.nodes:
		return 0, s.settings.tooMany()
	case s.numbers == nil:
		s.numbers = map[string]int32{}
	}
	n = int32(len(s.ids))
	s.ids, s.numbers[id] = append(s.ids, id), n
	return n, nil
}
