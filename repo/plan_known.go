package repo

import "slices"

// A presence is what the catalog says of fields that are no parts of the key. It does not
// change: another one takes its place.
type presence struct {
	made    string   // of which collection
	always  []string // every record has them
	telling []string // so far; but programs are being told that records may lack them
}

// all returns the fields that every record has so far.
func (p *presence) all() []string { return slices.Concat(p.always, p.telling) }

// but returns what of p still holds by what the catalog said at another time: a field that
// records may lack, by one of the two, is not always there again. It is p itself if all does.
func (p *presence) but(other *presence) *presence {
	next := &presence{made: p.made}
	for _, name := range p.always {
		switch {
		case slices.Contains(other.always, name):
			next.always = append(next.always, name)
		case slices.Contains(other.telling, name):
			next.telling = append(next.telling, name)
		}
	}
	for _, name := range p.telling {
		if slices.Contains(other.always, name) || slices.Contains(other.telling, name) {
			next.telling = append(next.telling, name)
		}
	}
	if len(next.always) == len(p.always) && len(next.telling) == len(p.telling) {
		return p
	}
	return next
}

// isAlways reports whether no record of the collection lacks the field at a position.
func (p *presence) isAlways(c *layoutC, at int) bool {
	return at < len(c.key) || c.scalars[at] != nil && slices.Contains(p.always, c.cols[at].Name)
}

// needsRecords reports whether the rows of x alone do not say that there is a record: one
// to which they belong, and that has not expired.
func (n known) needsRecords(x *index) bool {
	return x != nil && (x.loose || x.table.Bare && n.mayExpire)
}

// known is what a program knows of the records that no schema says.
type known struct {
	*presence
	mayExpire bool
}

// A planner plans queries on a collection.
type planner struct {
	*layoutC
	known known
}
