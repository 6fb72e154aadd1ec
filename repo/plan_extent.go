package repo

import "github.com/polystore/polystore/repo/driver"

// An extent is the part of a partition that is read: the rows with from <= Sort, and
// Sort < to unless the end is open. Nothing sorts below the empty text, so that an
// extent up to it is empty; that is not the same as an open end.
type extent struct {
	from, to string
	open     bool // there is no end
}

// extentAt returns the extent of the rows whose Sort begins with head.
func extentAt(head string) extent {
	to := driver.After(head)
	return extent{from: head, to: to, open: to == ""}
}

// extentOf returns the extent of a span.
func extentOf(s *driver.Span) extent { return extent{from: s.From, to: s.To, open: s.To == ""} }

// bound gives a span the ends of e, which is not empty.
func (e extent) bound(s *driver.Span) { s.From, s.To = e.from, e.to }

// empty reports whether no text can lie in e.
func (e extent) empty() bool { return !e.open && e.from >= e.to }

// has reports whether a text lies in e.
func (e extent) has(sort string) bool { return sort >= e.from && (e.open || sort < e.to) }

// upTo returns what of e lies before a text.
func (e extent) upTo(sort string) extent {
	if e.open || sort < e.to {
		e.to, e.open = sort, false
	}
	return e
}

// onFrom returns what is left of e when a row is the next to be read.
func (e extent) onFrom(sort string, reverse bool) extent {
	if !reverse {
		e.from = max(e.from, sort)
	} else if next := driver.After(sort); next != "" {
		e = e.upTo(next)
	}
	return e
}

// behind returns what is left of e when a row was the last to be read.
func (e extent) behind(sort string, reverse bool) extent {
	if reverse {
		return e.upTo(sort)
	}
	next := driver.After(sort)
	if next == "" {
		return extent{} // only the empty text has none after it, and it is alone
	}
	e.from = max(e.from, next)
	return e
}
