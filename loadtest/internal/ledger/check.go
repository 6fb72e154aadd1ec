package ledger

import (
	"fmt"
	"strings"
	"time"

	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/value"
)

// A loss is acknowledged writes that are not there.
type loss struct {
	n    int
	call *operation.Call // one of them
	text string
}

// last returns those of some entries that can be the last one: no acknowledged one of them began after they had ended.
// It returns an acknowledged one, too, and how many of these there are.
func last(list []entry) (can []entry, one *entry, n int) {
	begun := time.Duration(-1)
	for i := range list {
		if list[i].acknowledged {
			begun = max(begun, list[i].began)
		}
	}
	for i := range list {
		if x := &list[i]; !x.acknowledged {
			can = append(can, *x) // it may be done still
		} else if x.ended >= begun {
			can, one, n = append(can, *x), x, n+1
		}
	}
	return can, one, n
}

// some returns the entries that fit.
func (h *history) some(fits func(*entry) bool) (list []entry) {
	for i := range h.list {
		if fits(&h.list[i]) {
			list = append(list, h.list[i])
		}
	}
	return list
}

// checkAbsent says which acknowledged writes a record that is not there lacks.
func (h *history) checkAbsent() *loss {
	can, _, _ := last(h.some(func(x *entry) bool { return x.Whole || x.Gone }))
	for i := range can {
		if can[i].Gone {
			return nil
		}
	}
	if _, one, n := last(h.some(func(x *entry) bool { return !x.Gone })); one != nil {
		return &loss{n, one.call, "is not there"}
	}
	return nil
}

// check says which acknowledged writes a record lacks.
func (h *history) check(rec map[string]any) *loss {
	can, one, n := last(h.some(func(x *entry) bool { return x.Whole || x.Gone }))
	there := one == nil
	for i := range can {
		there = there || !can[i].Gone
	}
	if !there {
		return &loss{n, one.call, "is there still"}
	}
	fields, adds, grown := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range h.list {
		for f := range h.list[i].Sets {
			fields[f] = true
		}
		for f := range h.list[i].Adds {
			adds[f] = true
		}
		for to := range h.list[i].Pushes {
			grown[to.Field] = true
		}
	}
	var lost *loss
	for f := range fields {
		if x := h.checkField(rec, f); x != nil && !adds[f] && !grown[f] && (lost == nil || x.text < lost.text) {
			lost = x
		}
	}
	for f := range adds {
		if x := h.checkSum(rec, f); x != nil && !fields[f] && lost == nil {
			lost = x
		}
	}
	for f := range grown {
		if x := h.checkList(rec, f); x != nil && !fields[f] && lost == nil {
			lost = x
		}
	}
	return lost
}

// checkField looks for the value that was set last.
func (h *history) checkField(rec map[string]any, f string) *loss {
	can, one, n := last(h.some(func(x *entry) bool {
		_, sets := x.Sets[f]
		return sets || x.Whole
	}))
	if one == nil {
		return nil
	}
	got := at(rec, f)
	for i := range can {
		if same(can[i].Sets[f], got) {
			return nil
		}
	}
	return &loss{n, one.call, fmt.Sprintf("has another %s", f)}
}

// checkSum looks at a number to which writes added. One that another write sets is not looked at.
func (h *history) checkSum(rec map[string]any, f string) *loss {
	if h.start == nil || len(h.some(func(x *entry) bool { return x.Whole || x.Gone })) > 0 {
		return nil
	}
	least, _ := h.start[f].(int64)
	most := least
	var one *operation.Call
	n := 0
	for i := range h.list {
		x := &h.list[i]
		switch by := x.Adds[f]; {
		case x.acknowledged && by != 0:
			least, most, one, n = least+by, most+by, x.call, n+1
		case by < 0:
			least += by
		default:
			most += by
		}
	}
	got, _ := at(rec, f).(int64)
	if one == nil || got >= least && got <= most {
		return nil
	}
	return &loss{1, one, fmt.Sprintf("has another %s: %d, where %s was acknowledged %d times", f, got, one.Q.Name, n)}
}

// checkList looks at a list to which writes pushed. One that another write sets, or that is pushed to in several ways, is
// not looked at.
func (h *history) checkList(rec map[string]any, f string) *loss {
	if h.start == nil || len(h.some(func(x *entry) bool { return x.Whole || x.Gone })) > 0 {
		return nil
	}
	var one *operation.Call
	first, _ := h.start[f].([]any)
	g := operation.Growth{First: first}
	for i := range h.list {
		for to, v := range h.list[i].Pushes {
			if to.Field != f {
				continue
			}
			if g.To != nil && (g.To.Cap != to.Cap || g.To.Front != to.Front) {
				return nil
			}
			ended := int64(operation.Unknown)
			if h.list[i].acknowledged {
				one, ended = h.list[i].call, int64(h.list[i].ended)
			}
			g.To = to
			g.Add(v, int64(h.list[i].began), ended)
		}
	}
	list, _ := at(rec, f).([]any)
	if text := g.Wrong(list, operation.Unknown, operation.Unknown); one != nil && text != "" {
		return &loss{1, one, fmt.Sprintf("has another %s: %s", f, text)}
	}
	return nil
}

// at returns a field of a record, which may be a path.
func at(rec map[string]any, f string) any {
	v, ok := rec[f]
	head, rest, path := strings.Cut(f, ".")
	if inner, deep := rec[head].(map[string]any); !ok && path && deep {
		return at(inner, rest)
	}
	return v
}

// same reports whether a store that was given one value may return the other. What is empty need not be kept.
func same(given, got any) bool { return value.Same(given, got) || blank(given) && blank(got) }

func blank(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}
