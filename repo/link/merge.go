package link

import (
	"context"
	"sync"

	"github.com/polystore/polystore/repo"
)

// How many keys are read at once: few at first and after a leap.
const (
	fewKeys  = 16
	manyKeys = 512
	atOnce   = 16 // ranges
)

// A list is the members that are linked with one end, read piece by piece. Nothing stays open between two pieces.
type list struct {
	end   id
	rows  []id // read, and not passed
	piece int  // how many were read with them
	size  int  // of the next piece
	ended bool

	// What is not read yet lies above from, or is from itself; nil is everything.
	from *id
	at   bool
}

func (l *list) needsRows() bool { return len(l.rows) == 0 && !l.ended }

func (l *list) read(ctx context.Context, r *reader) error {
	q := repo.Where(r.other, l.end.value()).Order(r.member).Limit(l.size)
	switch {
	case l.from == nil:
	case l.at:
		q = q.AtLeast(r.member, l.from.value())
	default:
		q = q.Above(r.member, l.from.value())
	}
	for key, err := range r.keys(ctx, q) {
		if err != nil {
			return err
		}
		member, _ := idOf(key[r.at])
		l.rows = append(l.rows, member)
	}
	if l.ended = len(l.rows) < l.size; !l.ended {
		l.from, l.at = &l.rows[len(l.rows)-1], false
	}
	l.piece, l.size = len(l.rows), min(2*l.size, manyKeys)
	return nil
}

// leap passes over the members below one, and over it, too, if past is set.
func (l *list) leap(member id, past bool) {
	n := 0
	for n < len(l.rows) && (l.rows[n].compare(member) < 0 || past && l.rows[n] == member) {
		n++
	}
	if l.rows = l.rows[n:]; len(l.rows) > 0 || l.ended {
		return
	}
	if l.from == nil || l.from.compare(member) < 0 {
		l.from, l.at = &member, !past
	}
	if 2*n > l.piece { // the next members of other lists are far, too
		l.size = fewKeys
	}
}

// A merge reads the lists of a set side by side.
type merge struct {
	links  *reader
	groups [][]*list
	wanted []*list // of all groups
	none   []*list
}

func (s *Set) merge(above *id) *merge {
	m := &merge{links: s.links}
	size := fewKeys
	if s.limit > 0 && len(s.groups) == 1 {
		size = min(max(s.limit+1, fewKeys), manyKeys)
	}
	listOf := func(end id, size int) *list { return &list{end: end, size: size, from: above} }
	for _, ends := range s.groups {
		var group []*list
		for _, end := range ends {
			group = append(group, listOf(end, size))
		}
		m.groups, m.wanted = append(m.groups, group), append(m.wanted, group...)
	}
	for _, end := range s.none {
		m.none = append(m.none, listOf(end, fewKeys))
	}
	return m
}

// next returns the next member, or false at the end.
func (m *merge) next(ctx context.Context) (id, bool, error) {
	for {
		if err := m.read(ctx, m.wanted); err != nil {
			return id{}, false, err
		}
		member, all, ok := m.head()
		if !ok {
			return id{}, false, nil
		}
		for _, l := range m.wanted {
			l.leap(member, all)
		}
		if !all {
			continue
		}
		out, err := m.isOut(ctx, member)
		if err != nil || !out {
			return member, err == nil, err
		}
	}
}

// head returns the least id that can be a member, and whether it is in one list of each group. It reports false if
// there is none.
func (m *merge) head() (member id, all, ok bool) {
	for i, group := range m.groups {
		var least *id
		for _, l := range group {
			if len(l.rows) > 0 && (least == nil || l.rows[0].compare(*least) < 0) {
				least = &l.rows[0]
			}
		}
		switch {
		case least == nil:
			return id{}, false, false
		case i == 0:
			member, all = *least, true
		case least.compare(member) != 0:
			all = false
			if least.compare(member) > 0 {
				member = *least
			}
		}
	}
	return member, all, len(m.groups) > 0
}

// isOut reports whether a member is in one of the lists that none may be in.
func (m *merge) isOut(ctx context.Context, member id) (bool, error) {
	for _, l := range m.none {
		l.leap(member, false)
	}
	if err := m.read(ctx, m.none); err != nil {
		return false, err
	}
	for _, l := range m.none {
		if len(l.rows) > 0 && l.rows[0] == member {
			return true, nil
		}
	}
	return false, nil
}

// read reads the next piece of the lists that need one, at the same time.
func (m *merge) read(ctx context.Context, lists []*list) error {
	var need []*list
	for _, l := range lists {
		if l.needsRows() {
			need = append(need, l)
		}
	}
	if len(need) == 1 {
		return need[0].read(ctx, m.links)
	}
	var wait sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	errs := make([]error, len(need))
	for i, l := range need {
		slots <- struct{}{}
		wait.Go(func() {
			errs[i] = l.read(ctx, m.links)
			<-slots
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
