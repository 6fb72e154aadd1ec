package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/polystore/polystore/conformance/internal/record"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
)

// A twin is a record of a second collection, which lies with the first. It has the Note of the entry
// with its key, because both are written by groups alone.
type twin struct {
	Part string `repo:"part"`
	ID   int64  `repo:"id"`
	Note string `repo:"note"`
}

// withTwins is Entries with a collection of twins; that is nil on a store whose commits change one record.
func withTwins(ctx context.Context, on tested.Store) (*repo.Repo[record.Entry], *repo.Repo[twin], error) {
	r, err := Entries(ctx, on)
	if err != nil || tested.ChangesPartition(on.Facts) != "" {
		return r, nil, err
	}
	twins, err := repo.Open[twin](ctx, r.Store(), repo.Schema{Collection: on.FreshName(), With: nameOf(r), Partition: []string{"part"}, Sort: []string{"-id"}})
	return r, twins, err
}

// twinKinds returns the kind of histories that twins have, where there are some.
func twinKinds(twins *repo.Repo[twin]) []historyKind {
	if twins == nil {
		return nil
	}
	return []historyKind{{what: "a record and its twin", client: (*history).useTwins, last: (*history).lastTwins, check: (*history).checkCalls}}
}

// useTwins is a client that writes records together with their twins, and reads either. What it reads must be
// explained as if both were one record.
func (h *history) useTwins(ctx context.Context, client int) error {
	r := h.rand(client)
	seen := map[string]record.Entry{} // by record, as the client last saw it
	for n := range h.ops {
		id := int64(r.IntN(recordsOfHistory))
		next := record.Entry{Part: h.tag, ID: id, Kind: h.tag, Score: int64(n), Note: fmt.Sprintf("%d.%d", client, n)}
		if !h.turn(ctx, r, func(ctx context.Context) { h.oneTwinCall(ctx, client, r, seen, next) }) {
			return nil
		}
	}
	return nil
}

// lastTwins reads every record and its twin.
func (h *history) lastTwins(ctx context.Context) error {
	for id := range recordsOfHistory {
		h.readTwin(ctx, h.clients, h.tag, int64(id))
	}
	return h.lastRecords(ctx)
}

// oneTwinCall does one call drawn at random.
func (h *history) oneTwinCall(ctx context.Context, client int, r *rand.Rand, seen map[string]record.Entry, next record.Entry) {
	switch r.IntN(4) {
	case 0:
		h.readRecord(ctx, client, seen, next)
		return
	case 1:
		h.readTwin(ctx, client, next.Part, next.ID)
		return
	}
	thing, began := record.KeyText(next), h.now()
	last := seen[thing]
	in, key := call{next: next.Note, expect: last.Note}, record.KeyOf(next)
	g := h.repo.Store().Group()
	entries, twins := h.repo.In(g), h.twins.In(g)
	its := &twin{next.Part, next.ID, next.Note}
	var write func()
	switch n := r.IntN(10); {
	case n < 3:
		in.do, write = "insert", func() { entries.Insert(&next) }
	case n < 5:
		in.do, write = "put", func() { entries.Put(&next) }
	case n < 7:
		in.do, write = "update", func() {
			entries.Update(key, func(e *record.Entry) error {
				in.expect, e.Note, e.Score = e.Note, in.next, next.Score
				return nil
			})
		}
	case n < 8 && !last.Version.IsZero():
		in.do, write = "compare and set", func() { entries.Replace(&next, repo.IfVersion(last.Version)) }
	default:
		in.do, in.next, write, its = "delete", "", func() { entries.Delete(key) }, nil
	}
	steps := []func(){write, func() {
		if its == nil {
			twins.Delete(key)
		} else {
			twins.Put(its)
		}
	}}
	first := r.IntN(2) // the first that is written is asked for an outcome
	steps[first]()
	steps[1-first]()
	err := g.Commit(ctx)
	h.note(thing, client, began, in, reply{status: h.became(ctx, err)})
	if delete(seen, thing); err == nil && in.do != "delete" && in.do != "update" { // which do not tell the version
		seen[thing] = next
	}
}

// readTwin reads a twin, as a read of its record.
func (h *history) readTwin(ctx context.Context, client int, part string, id int64) {
	began := h.now()
	got, err := h.twins.Get(ctx, repo.Key{part, id})
	out := reply{status: statusOf(err), state: got.Note}
	if errors.Is(err, repo.ErrNotFound) {
		out = reply{status: done}
	}
	h.note(record.KeyText(record.Entry{Part: part, ID: id}), client, began, call{do: "read"}, out)
}
