package history

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/record"
	"github.com/polystore/polystore/repo"
)

// A stay is a run of time in which a record has one value of an indexed field:
// from some instant between Call and Return of the write that gave it, to one of
// the write that took it away.
type stay struct {
	value         string
	call, ret     int64 // of the write that gave it
	leave, left   int64 // of the write that took it away; forever if none
	maybe, inside bool  // the outcome of the first write is unknown; of the second
}

// A look is one lookup by an index.
type look struct {
	value     string
	part      string // the partition that it is in; "" is any
	found     []string
	call, ret int64
	client    int
	way       string
}

const (
	kindsOfHistory = 3
	waysToLook     = 5
	localRecords   = 4 // the way by an index in the partition of a client's records
)

// useIndex is a client that moves two records of its own from value to value, and
// looks for the records of a value.
func (h *history) useIndex(ctx context.Context, client int) error {
	r := h.rand(client)
	part := partOf(h, client)
	view, err := repo.ViewOf[record.Glance](h.repo)
	if err != nil {
		return err
	}
	for range h.ops {
		value := h.kind(r.IntN(kindsOfHistory))
		goesOn := h.turn(ctx, r, func(ctx context.Context) {
			if r.IntN(2) == 0 {
				h.moveRecord(ctx, record.Entry{Part: part, ID: int64(r.IntN(2)), Kind: value, Tags: []string{value, "all"}, Score: 1}, r.IntN(5))
			} else {
				h.lookIn(ctx, client, view, look{value: value, part: partOf(h, r.IntN(h.clients))}, r.IntN(waysToLook))
			}
		})
		if !goesOn {
			return nil
		}
	}
	return nil
}

// partOf returns the partition of a client's records.
func partOf(h *history, client int) string { return fmt.Sprint(h.tag, "-", client) }

func (h *history) kind(n int) string { return fmt.Sprintf("%s.k%d", h.tag, n) }

// lastLooks looks for the records of every value in every way.
func (h *history) lastLooks(ctx context.Context) error {
	view, err := repo.ViewOf[record.Glance](h.repo)
	if err != nil {
		return err
	}
	for n := range kindsOfHistory {
		for way := range localRecords {
			h.lookIn(ctx, h.clients, view, look{value: h.kind(n)}, way)
		}
		for client := range h.clients {
			h.lookIn(ctx, h.clients, view, look{value: h.kind(n), part: partOf(h, client)}, localRecords)
		}
	}
	return nil
}

// moveRecord writes or deletes a record, and notes what value it has from then on.
func (h *history) moveRecord(ctx context.Context, e record.Entry, how int) {
	began, value := h.now(), e.Kind
	var err error
	switch how {
	case 0:
		value, err = "", h.repo.Delete(ctx, record.KeyOf(e))
	case 1:
		_, err = h.repo.Patch(ctx, record.KeyOf(e), repo.Set("kind", e.Kind), repo.Set("tags", e.Tags))
	default:
		err = h.repo.Put(ctx, &e)
	}
	h.moved(record.KeyText(e), value, began, h.became(ctx, err))
}

func (h *sights) moved(record, value string, began int64, s status) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count(s); s != done && s != notKnown {
		return
	}
	unknown := s == notKnown
	list := h.moves[record]
	now := h.now()
	if n := len(list); n > 0 {
		list[n-1].leave, list[n-1].left, list[n-1].inside = began, now, unknown
	}
	h.moves[record] = append(list, stay{value: value, call: began, ret: now, leave: forever, left: forever, maybe: unknown})
}

// lookIn looks for the records of a value in one of some ways, of which one wants a partition.
func (h *history) lookIn(ctx context.Context, client int, view *repo.View[record.Glance], l look, way int) {
	l.client, l.way = client, [...]string{"an index", "an index that covers", "the elements of a list", "keys", "a local index"}[way]
	if way != localRecords {
		l.part = ""
	}
	var err error
	value := l.value
	l.call = h.now()
	note := func(part string, id int64) { l.found = append(l.found, fmt.Sprintf("%q/%d", part, id)) }
	switch way {
	case 0:
		for e, findErr := range h.repo.Find(ctx, repo.Where("kind", value).Order("score")) {
			err = findErr
			note(e.Part, e.ID)
		}
	case 1:
		for g, findErr := range view.Find(ctx, repo.Where("kind", value).Order("score")) {
			err = findErr
			note(g.Part, g.ID)
		}
	case 2:
		for e, findErr := range h.repo.Find(ctx, repo.Where("tags[]", value)) {
			err = findErr
			note(e.Part, e.ID)
		}
	case localRecords:
		for e, findErr := range h.repo.Find(ctx, h.near(l)) {
			err = findErr
			note(e.Part, e.ID)
		}
	default:
		for k, findErr := range h.repo.Keys(ctx, repo.Where("kind", value).Order("score")) {
			if err = findErr; err == nil {
				note(k[0].(string), k[1].(int64))
			}
		}
	}
	l.ret = h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count(statusOf(err)); err == nil {
		h.looks = append(h.looks, l)
	}
}

// near returns the query by a local index: a native one, if there is one, for
// no other has their order.
func (h *history) near(l look) repo.Query {
	q := repo.Where("part", l.part).Where("kind", l.value)
	if _, err := h.repo.Explain(q.Order("-id")); err == nil {
		return q.Order("-id")
	}
	return q.Order("score")
}

// checkLooks sees that each lookup found the records that had the value all the
// while, each once, and none that did not have it at any time of the call.
func (h *sights) checkLooks(string) error {
	for _, l := range h.looks {
		for record, stays := range h.moves {
			must, may := false, false
			for _, s := range stays {
				if s.value != l.value || l.part != "" && !strings.HasPrefix(record, strconv.Quote(l.part)+"/") {
					continue
				}
				must = must || !s.maybe && s.ret < l.call && s.leave > l.ret
				may = may || s.call < l.ret && (s.left > l.call || s.inside)
			}
			times := 0
			for _, f := range l.found {
				if f == record {
					times++
				}
			}
			if times > 1 || must && times == 0 || !may && times > 0 {
				return h.badLook(l, record, times, must)
			}
		}
	}
	return nil
}

func (h *sights) badLook(l look, record string, times int, must bool) error {
	want := "a lookup by " + l.way + " to find only records that had the value during the call"
	switch {
	case times > 1:
		want = "a lookup by " + l.way + " to find a record once"
	case must:
		want = "a lookup by " + l.way + " to find every record that had the value during the whole call"
	}
	var b strings.Builder
	for _, s := range h.moves[record] {
		fmt.Fprintf(&b, "\n  %9.3f to %9.3f ms  %s became %q", float64(s.call)/1e6, float64(s.ret)/1e6, record, s.value)
	}
	slices.Sort(l.found)
	return finding.Wanted(want, fmt.Sprintf("client %d, from %.3f to %.3f ms, found %s %d times among %q of %q; its writes:%s", l.client, float64(l.call)/1e6, float64(l.ret)/1e6, record, times, l.found, l.value, b.String()))
}
