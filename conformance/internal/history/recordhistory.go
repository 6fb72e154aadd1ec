package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/polystore/polystore/conformance/internal/record"
	"github.com/polystore/polystore/repo"
)

const recordsOfHistory = 2

// useRecords is a client that reads and writes a few records, which others do
// too. Every write has a value that no other has, in Note.
func (h *history) useRecords(ctx context.Context, client int) error {
	r := h.rand(client)
	seen := map[string]record.Entry{} // by record, as the client last saw it
	for n := range h.ops {
		id := int64(r.IntN(recordsOfHistory))
		next := record.Entry{Part: h.tag, ID: id, Kind: h.tag + fmt.Sprint(r.IntN(2)), Score: int64(n), Note: fmt.Sprintf("%d.%d", client, n)}
		if !h.turn(ctx, r, func(ctx context.Context) { h.oneRecordCall(ctx, client, r, seen, next) }) {
			return nil
		}
	}
	return nil
}

// lastRecords reads every record.
func (h *history) lastRecords(ctx context.Context) error {
	for id := range recordsOfHistory {
		h.readRecord(ctx, h.clients, map[string]record.Entry{}, record.Entry{Part: h.tag, ID: int64(id)})
	}
	return nil
}

// oneRecordCall does one call drawn at random.
func (h *history) oneRecordCall(ctx context.Context, client int, r *rand.Rand, seen map[string]record.Entry, next record.Entry) {
	thing, began := record.KeyText(next), h.now()
	last := seen[thing]
	in := call{next: next.Note, expect: last.Note}
	var err error
	switch n := r.IntN(10); {
	case n < 3:
		in.do = "read"
		h.readRecord(ctx, client, seen, next)
		return
	case n < 5:
		in.do = "insert"
		err = h.repo.Insert(ctx, &next)
	case n < 6:
		in.do = "put"
		err = h.repo.Put(ctx, &next)
	case n < 7:
		in.do = "update"
		next, err = h.repo.Update(ctx, record.KeyOf(next), func(e *record.Entry) error {
			in.expect = e.Note
			e.Note, e.Kind, e.Score = in.next, next.Kind, next.Score
			return nil
		})
	case n < 8 && !last.Version.IsZero():
		in.do = "compare and set"
		err = h.repo.Replace(ctx, &next, repo.IfVersion(last.Version))
	case n < 9 && !last.Version.IsZero():
		in.do, in.next = "delete by version", ""
		err = h.repo.Delete(ctx, record.KeyOf(next), repo.IfVersion(last.Version))
	default:
		in.do = "delete"
		err = h.repo.Delete(ctx, record.KeyOf(next))
	}
	h.note(thing, client, began, in, reply{status: h.became(ctx, err)})
	if err == nil && in.next != "" && in.do != "delete" {
		seen[thing] = next
	}
}

func (h *history) readRecord(ctx context.Context, client int, seen map[string]record.Entry, next record.Entry) {
	began := h.now()
	got, err := h.repo.Get(ctx, record.KeyOf(next))
	out := reply{status: statusOf(err), state: got.Note}
	if errors.Is(err, repo.ErrNotFound) {
		out = reply{status: done}
	}
	h.note(record.KeyText(next), client, began, call{do: "read"}, out)
	if err == nil {
		seen[record.KeyText(next)] = got
	}
}
