package plan

import "github.com/polystore/polystore/repo/driver"

// An Extent is the part of a partition that is read: the rows with from <= Sort, and
// Sort < to unless the end is open. Nothing sorts below the empty text, so that an
// extent up to it is empty; that is not the same as an open end.
type Extent struct {
	From, To string
	open     bool // there is no end
}

// extentAt returns the extent of the rows whose Sort begins with head.
func extentAt(head string) Extent {
	to := driver.After(head)
	return Extent{From: head, To: to, open: to == ""}
}

// ExtentOf returns the extent of a span.
func ExtentOf(s *driver.Span) Extent { return Extent{From: s.From, To: s.To, open: s.To == ""} }

// Bound gives a span the ends of e, which is not empty.
func (e Extent) Bound(s *driver.Span) { s.From, s.To = e.From, e.To }

// Empty reports whether no text can lie in e.
func (e Extent) Empty() bool { return !e.open && e.From >= e.To }

// Has reports whether a text lies in e.
func (e Extent) Has(sort string) bool { return sort >= e.From && (e.open || sort < e.To) }

// upTo returns what of e lies before a text.
func (e Extent) upTo(sort string) Extent {
	if e.open || sort < e.To {
		e.To, e.open = sort, false
	}
	return e
}

// OnFrom returns what is left of e when a row is the next to be read.
func (e Extent) OnFrom(sort string, reverse bool) Extent {
	if !reverse {
		e.From = max(e.From, sort)
	} else if next := driver.After(sort); next != "" {
		e = e.upTo(next)
	}
	return e
}

// beyond returns what is left of e when all rows were read whose Sort begins with a prefix.
func (e Extent) beyond(prefix string, reverse bool) Extent {
	next := driver.After(prefix)
	switch {
	case reverse:
		return e.upTo(prefix)
	case next == "":
		return Extent{}
	}
	e.From = max(e.From, next)
	return e
}

// Behind returns what is left of e when a row was the last to be read.
func (e Extent) Behind(sort string, reverse bool) Extent {
	if reverse {
		return e.upTo(sort)
	}
	next := driver.After(sort)
	if next == "" {
		return Extent{} // only the empty text has none after it, and it is alone
	}
	e.From = max(e.From, next)
	return e
}
