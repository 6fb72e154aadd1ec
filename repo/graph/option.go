package graph

import (
	"fmt"
	"math"

	"github.com/polystore/polystore/repo"
)

// A Direction says which way edges are followed.
type Direction uint8

// The directions. In and Both need an index by which edges are found backwards: see [Edges] and [Lists]. Without the
// index they are ErrInvalid, and the text names the index to add.
const (
	Out  Direction = iota // from the beginning of an edge to its end
	In                    // from the end of an edge to its beginning
	Both                  // either way, as if the edges had no direction
)

func (d Direction) reversed() Direction {
	switch d {
	case Out:
		return In
	case In:
		return Out
	}
	return d
}

// An Option changes a call. An option that makes no sense for a call is ErrInvalid.
type Option func(*settings)

// Along makes a call follow edges in a direction. The default is Out.
func Along(d Direction) Option {
	return func(s *settings) { s.along, s.given = d, s.given|hasAlong }
}

// MaxDepth bounds how many edges a call follows, one after the other. The default is no bound; 0 is only the starts.
func MaxDepth(n int) Option {
	return func(s *settings) { s.depth, s.given = n, s.given|hasDepth }
}

// MaxNodes bounds how many nodes a call holds in memory. A call that meets more nodes is ErrTooLarge. The default is
// 100,000, which take some 20 MB with short IDs.
func MaxNodes(n int) Option {
	return func(s *settings) { s.nodes = n }
}

const defaultNodes = 100_000

// An option is a set of options.
type option uint8

const (
	hasAlong option = 1 << iota
	hasDepth
)

type settings struct {
	along Direction
	depth int
	nodes int
	given option
}

// settingsOf returns what the options of a call say. Takes are the options that the call has beside MaxNodes.
func settingsOf(opts []Option, takes option) (settings, error) {
	s := settings{depth: math.MaxInt, nodes: defaultNodes}
	for _, set := range opts {
		if set != nil {
			set(&s)
		}
	}
	wrong := ""
	switch {
	case s.given&hasAlong&^takes != 0:
		wrong = "the call has no option Along"
	case s.given&hasDepth&^takes != 0:
		wrong = "the call has no option MaxDepth"
	case s.along > Both:
		wrong = fmt.Sprintf("direction %d is not Out, In or Both", s.along)
	case s.depth < 0:
		wrong = "MaxDepth is negative"
	case s.nodes < 1 || s.nodes > math.MaxInt32:
		wrong = "MaxNodes is not between 1 and 2,147,483,647"
	default:
		return s, nil
	}
	return s, fmt.Errorf("%s: %w", wrong, repo.ErrInvalid)
}

// tooMany is the error of a call that meets too many nodes.
func (s *settings) tooMany() error {
	return fmt.Errorf("more than %d nodes: bound the call by MaxDepth, or allow more by MaxNodes: %w", s.nodes, repo.ErrTooLarge)
}
