package hierarchy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// A call is what a client asked of a tree, and what it was told.
type call struct {
	number, client int
	began, ended   int64
	do             string
	id             string // "" stands for the roots
	at             spot
	text           string // what is written
	other          string // the node that IsBelow and facts about children ask for
	status         status
	got            string // what was read
	joined         bool   // another call at the same time may have removed the node
	crowded        bool   // another call at the same time may have moved nodes
	ordered        bool   // siblings have an order
}

func (c *call) String() string {
	text := strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s %s %s", c.do, c.id, c.at.where, c.at.at, c.text, c.other)), " ")
	return fmt.Sprintf("%s: %s %s", text, c.status, c.got)
}

// A status says how a call ended.
type status string

const (
	done        status = "done"
	exists      status = "exists"
	notFound    status = "not found"
	invalid     status = "invalid"
	belowItself status = "below itself"
	hasChildren status = "has children"
	unknown     status = "unknown" // it may be done at any time from its begin on, or never
	nothing     status = "nothing" // it has no effect, and told nothing
)

// statusOf returns how a call ended. Calls of several commits are ended by others, whatever their error.
func statusOf(do string, err error) status {
	several := slices.Contains([]string{"delete", "delete subtree", "lift", "convert"}, do)
	for _, one := range []struct {
		kind   error
		status status
	}{
		{repo.ErrUnknownOutcome, unknown}, {tree.ErrBelowItself, belowItself}, {tree.ErrHasChildren, hasChildren},
		{repo.ErrExists, exists}, {repo.ErrNotFound, notFound}, {repo.ErrInvalid, invalid},
	} {
		if errors.Is(err, one.kind) {
			return one.status
		}
	}
	switch {
	case err == nil:
		return done
	case errors.Is(err, repo.ErrTimeout), errors.Is(err, repo.ErrUnavailable), errors.Is(err, repo.ErrThrottled), errors.Is(err, repo.ErrContention):
		if several {
			return unknown
		}
		return nothing
	}
	return status("failed: " + err.Error()) // which no order of calls explains
}

// A state is a tree, as one program that is alone would have it, and what calls under way have done so far.
type state struct {
	tree     string // its outline, with texts
	strategy tree.Strategy
	removed  string // nodes below what was deleted that may still be found by their ID, each "id#call "
	walks    string // nodes that were there when a walk began, each "call:id "; while one goes on, only inserts are done
}

// A step is what a call may do next, and how far it has come then.
type step struct {
	to   state
	part part
}

type part byte

const (
	before part = iota // it has done nothing
	within             // it was seen to have begun
	over
)

// steps returns what a call that has come so far may do to a tree, none if it must wait for another state. Reads of
// one point in time are not among these calls.
func (c *call) steps(is state, at part) (list []step) {
	l := parse(is.tree)
	switch {
	case c.do == "outline":
		return c.walk(is, l)
	case c.do == "delete subtree" && at == within:
		number := fmt.Sprint(c.number)
		is.removed = is.without(func(_, call string) bool { return call == number })
		return []step{{is, over}}
	case c.do == "lift" && (c.status == done || c.status == unknown):
		list = c.raise(is, l)
	}
	list = append(list, c.change(is, l)...)
	if is.walks == "" || c.do == "insert" || c.do == "update" {
		return list
	}
	return slices.DeleteFunc(list, func(s step) bool { return s.to.tree != is.tree || s.to.strategy != is.strategy })
}

// change returns what a call does in one commit: nothing if it was refused.
func (c *call) change(is state, l *lists) []step {
	next := over
	if c.do == "delete subtree" && c.status != notFound {
		next = within
	}
	after, can := c.changed(is, l)
	switch {
	case (c.status == done || c.status == unknown) && can:
		return []step{{after, next}}
	case c.status != done && c.status != unknown && c.refused(is, parse(is.tree)):
		return []step{{is, over}}
	}
	return nil
}

// changed returns the state after a change, and whether it can be made.
func (c *call) changed(is state, l *lists) (after state, can bool) {
	after = is
	var err error
	switch c.do {
	case "insert":
		return c.inserted(is, l)
	case "update":
		if !l.has(c.id) {
			return is, is.isRemoved(c.id)
		}
		l.text[c.id] = c.text
	case "move":
		err = l.move(c.id, c.at)
	case "delete", "lift":
		if !l.has(c.id) {
			return is, c.joined || is.isRemoved(c.id)
		}
		err = l.delete(c.id, false)
	case "delete subtree": // nothing of it is found from above any more, but by ID until the call ends
		after.removed = is.with(fmt.Sprint(c.number), append(l.below(c.id), c.id)...)
		err = l.delete(c.id, true)
	case "convert":
		after.strategy = c.strategy()
	}
	after.tree = l.outlineOf(c.ordered)
	return after, err == nil
}

func (c *call) inserted(is state, l *lists) (after state, can bool) {
	after = is
	after.removed = is.without(func(id, _ string) bool { return id == c.id })
	if !l.has(c.at.at) && is.isRemoved(c.at.at) && !l.has(c.id) { // it goes with the node beside or below which it came
		for one := range strings.FieldsSeq(is.removed) {
			if id, number, _ := strings.Cut(one, "#"); id == c.at.at {
				after.removed = after.with(number, c.id)
			}
		}
		return after, true
	}
	err := l.insert(c.id, c.at)
	l.text[c.id] = c.text
	after.tree = l.outlineOf(c.ordered)
	return after, err == nil
}

// refused reports whether a state is a reason for the refusal of a change.
func (c *call) refused(is state, l *lists) bool {
	has := l.has(c.id)
	switch c.status {
	case exists:
		return c.do == "insert" && (has || is.isRemoved(c.id))
	case notFound:
		return c.do != "insert" && !has || (c.do == "insert" || c.do == "move") && !l.has(c.at.at)
	case invalid:
		return c.at.beside() && c.at.at == c.id
	case belowItself:
		return errors.Is(l.move(c.id, c.at), tree.ErrBelowItself)
	case hasChildren:
		return c.do == "delete" && (len(l.children[c.id]) > 0 || is.isRemoved(c.id))
	}
	return false
}

// raise returns the steps of a Lift before the last: each brings a child up, the last one first. Where others move nodes
// meanwhile the last of those that were listed may be another one.
func (c *call) raise(is state, l *lists) (list []step) {
	children := l.children[c.id]
	if c.ordered && !c.crowded && len(children) > 0 {
		children = children[len(children)-1:]
	}
	for _, child := range children {
		one, after := parse(is.tree), is
		if one.move(child, spot{"after", c.id}) == nil {
			after.tree = one.outlineOf(c.ordered)
			list = append(list, step{after, before})
		}
	}
	return list
}

func (c *call) strategy() tree.Strategy { return tree.Strategy(c.id) }

func (is state) isRemoved(id string) bool {
	return id != "" && strings.Contains(" "+is.removed, " "+id+"#")
}

// without returns nodes that may still be found, but for some.
func (is state) without(drop func(id, call string) bool) string {
	text := ""
	for one := range strings.FieldsSeq(is.removed) {
		if id, number, _ := strings.Cut(one, "#"); !drop(id, number) {
			text += one + " "
		}
	}
	return text
}

// with returns the nodes that may still be found, and more.
func (is state) with(call string, ids ...string) string {
	list := strings.Fields(is.removed)
	for _, id := range ids {
		list = append(list, id+"#"+call)
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), " ") + " "
}

// walk begins a read of what lies below a node. Until it ends nothing moves and nothing is removed; what is inserted
// meanwhile may be seen or not.
func (c *call) walk(is state, l *lists) []step {
	if c.status != done || !l.has(c.id) || strings.Contains(" "+is.walks, fmt.Sprintf(" %d:", c.number)) {
		return nil
	}
	walks := append(strings.Fields(is.walks), fmt.Sprintf("%d:", c.number)) // though there may be no nodes
	for _, id := range l.below(c.id) {
		walks = append(walks, fmt.Sprintf("%d:%s", c.number, id))
	}
	slices.Sort(walks)
	is.walks = strings.Join(walks, " ") + " "
	return []step{{is, within}}
}

// read takes a call that changes nothing, if the state explains what it read.
func (c *call) read(is state, at part) (state, bool) {
	l := parse(is.tree)
	switch {
	case c.isRead():
		return is, c.reads(is, l)
	case c.do != "outline":
		return is, false
	case c.status == notFound, is.isRemoved(c.id):
		return is, !l.has(c.id)
	case at == before:
		return is, l.has(c.id) && l.seenAs(c.got, c.id, l.below(c.id), c.ordered)
	}
	number, walks, began := fmt.Sprint(c.number), "", []string{}
	for one := range strings.FieldsSeq(is.walks) {
		call, id, _ := strings.Cut(one, ":")
		switch {
		case call != number:
			walks += one + " "
		case id != "":
			began = append(began, id)
		}
	}
	is.walks = walks
	return is, l.seenAs(c.got, c.id, began, c.ordered)
}

func (c *call) isRead() bool {
	return slices.Contains([]string{"get", "ancestors", "is below", "child", "strategy", "settle"}, c.do)
}

// reads reports whether a state explains what a client has read.
func (c *call) reads(is state, l *lists) bool {
	switch c.do {
	case "settle":
		return strings.TrimSpace(is.removed) == ""
	case "strategy":
		return c.got == string(is.strategy)
	case "child":
		_, has := l.parent[c.other]
		return is.isRemoved(c.other) || c.got == fmt.Sprint(has && l.parent[c.other] == c.id)
	}
	if is.isRemoved(c.id) {
		return true
	}
	if !l.has(c.id) || c.status != done {
		return c.status == notFound && !l.has(c.id)
	}
	return c.got == c.answer(l)
}

// answer returns what a client reads of a node that is there.
func (c *call) answer(l *lists) string {
	switch c.do {
	case "get":
		return l.parent[c.id] + " " + l.text[c.id]
	case "ancestors":
		return strings.Join(l.above(c.id), " ")
	default:
		return fmt.Sprint(slices.Contains(l.above(c.id), c.other))
	}
}

// seenAs reports whether an outline of what lies below a node has all nodes that were there when it was begun, and
// some of those that are there now.
func (l *lists) seenAs(outline, top string, began []string, ordered bool) bool {
	seen := parse(outline)
	for _, id := range began {
		if !seen.has(id) {
			return false
		}
	}
	for id, parent := range seen.parent {
		if at, has := l.parent[id]; !has || parent != "" && at != parent || parent == "" && at != top {
			return false
		}
	}
	now := &lists{children: map[string][]string{}, parent: seen.parent, text: seen.text}
	for id := range seen.children {
		of := id
		if id == "" {
			of = top
		}
		now.children[id] = slices.DeleteFunc(slices.Clone(l.children[of]), func(child string) bool { return !seen.has(child) })
	}
	return now.outlineOf(ordered) == seen.outlineOf(ordered)
}
