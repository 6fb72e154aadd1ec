package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/polystore/polystore/conformance/internal/record"
	"github.com/polystore/polystore/repo"
)

// mostElements is how many elements a list has at most: pushes drop the others.
const mostElements = 3

// useLists is a client that changes the lists of few records by edits that go by what is there, and reads them. Every
// element that it pushes has a value that no other has.
func (h *history) useLists(ctx context.Context, client int) error {
	r := h.rand(client)
	for n := range h.ops {
		e := record.Entry{Part: h.tag, ID: int64(r.IntN(recordsOfHistory)), Kind: h.tag}
		if !h.turn(ctx, r, func(ctx context.Context) { h.oneListCall(ctx, client, r, e, fmt.Sprintf("%d.%d", client, n)) }) {
			return nil
		}
	}
	return nil
}

// lastLists reads every list.
func (h *history) lastLists(ctx context.Context) error {
	for id := range recordsOfHistory {
		h.readList(ctx, h.clients, record.Entry{Part: h.tag, ID: int64(id)})
	}
	return nil
}

// listText returns the state that a list is.
func listText(elements []string) string { return "[" + strings.Join(elements, " ") + "]" }

// oneListCall does one call drawn at random.
func (h *history) oneListCall(ctx context.Context, client int, r *rand.Rand, e record.Entry, value string) {
	began, key, in := h.now(), record.KeyOf(e), call{next: value}
	var err error
	switch r.IntN(6) {
	case 0, 1:
		h.readList(ctx, client, e)
		return
	case 2:
		in.do, in.next = "insert", listText(nil)
		err = h.repo.Insert(ctx, &e)
	case 3:
		in.do = "push front"
		_, err = h.repo.Patch(ctx, key, repo.PushFront("tags", mostElements, value))
	case 4:
		in.do, in.next = "pull", fmt.Sprintf("%d.%d", r.IntN(h.clients), r.IntN(h.ops))
		_, err = h.repo.Patch(ctx, key, repo.Pull("tags", in.next))
	default:
		in.do = "push"
		_, err = h.repo.Patch(ctx, key, repo.Push("tags", mostElements, value))
	}
	s := h.became(ctx, err)
	if s == conflict {
		s = nothingDone // others were faster each time
	}
	h.note(record.KeyText(e), client, began, in, reply{status: s})
}

func (h *history) readList(ctx context.Context, client int, e record.Entry) {
	began := h.now()
	got, err := h.repo.Get(ctx, record.KeyOf(e))
	out := reply{statusOf(err), listText(got.Tags)}
	if errors.Is(err, repo.ErrNotFound) {
		out = reply{status: done}
	}
	h.note(record.KeyText(e), client, began, call{do: "read"}, out)
}

// edited returns a list after an edit by one value.
func (in call) edited(list string) string {
	elements := strings.Fields(strings.Trim(list, "[]"))
	switch in.do {
	case "push":
		elements = append(elements, in.next)
		elements = elements[max(0, len(elements)-mostElements):]
	case "push front":
		elements = append([]string{in.next}, elements...)
		elements = elements[:min(len(elements), mostElements)]
	case "pull":
		elements = slices.DeleteFunc(elements, func(e string) bool { return e == in.next })
	}
	return listText(elements)
}
