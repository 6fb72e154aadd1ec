package plan

import (
	"slices"

	"github.com/polystore/polystore/repo/internal/layout"
)

// A Presence is what the catalog says of fields that are no parts of the key. It does not
// change: another one takes its place.
type Presence struct {
	Made    string   // of which collection
	Always  []string // every record has them
	Telling []string // so far; but programs are being told that records may lack them
}

// All returns the fields that every record has so far.
func (p *Presence) All() []string { return slices.Concat(p.Always, p.Telling) }

// But returns what of p still holds by what the catalog said at another time: a field that
// records may lack, by one of the two, is not always there again. It is p itself if all does.
func (p *Presence) But(other *Presence) *Presence {
	next := &Presence{Made: p.Made}
	for _, name := range p.Always {
		switch {
		case slices.Contains(other.Always, name):
			next.Always = append(next.Always, name)
		case slices.Contains(other.Telling, name):
			next.Telling = append(next.Telling, name)
		}
	}
	for _, name := range p.Telling {
		if slices.Contains(other.Always, name) || slices.Contains(other.Telling, name) {
			next.Telling = append(next.Telling, name)
		}
	}
	if len(next.Always) == len(p.Always) && len(next.Telling) == len(p.Telling) {
		return p
	}
	return next
}

// isAlways reports whether no record of the collection lacks what a source says. A part of a field may be lacking.
func (p *Presence) isAlways(c *layout.Layout, src layout.Source) bool {
	at := src.At
	return src.Path == nil && (at < len(c.Key) || c.Scalars[at] != nil && slices.Contains(p.Always, c.Cols[at].Name))
}

// NeedsRecords reports whether the rows of x alone do not say that there is a record: one
// to which they belong, and that has not expired.
func (n Known) NeedsRecords(x *layout.Index) bool {
	return x != nil && (x.Remote || x.Table.KeyOnly && n.MayExpire)
}

// Known is what a program knows of the records that no schema says.
type Known struct {
	*Presence
	MayExpire bool
}

// A Planner plans queries on a collection.
type Planner struct {
	*layout.Layout
	Known Known
}
