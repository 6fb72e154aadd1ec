package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A meter has a counter that no index has, which is added to without reading, and
// one that decides its place in an index.
type meter struct {
	ID      string       `repo:"id"`
	N       int64        `repo:"n"`
	Level   int64        `repo:"level"`
	Version repo.Version `repo:",version"`
}

func meterSchema(scope driver.Scope) repo.Schema {
	s := repo.Schema{Partition: []string{"id"}}
	if scope >= driver.ScopeStore {
		s.Indexes = []repo.Index{{Sort: []string{"level"}, Buckets: 1}}
	}
	return s
}

const metersOfHistory = 2

func (h *history) meter(n int) string { return fmt.Sprintf("%s.m%d", h.tag, n) }

// useCounters is a client that adds to few counters, as others do, and reads them.
func (h *history) useCounters(ctx context.Context, client int) error {
	r := h.rand(client)
	for range h.ops {
		id := h.meter(r.IntN(metersOfHistory))
		goesOn := h.turn(ctx, r, func(ctx context.Context) {
			if r.IntN(2) == 0 {
				h.readCounters(ctx, client, id)
			} else {
				h.addOne(ctx, client, id, r)
			}
		})
		if !goesOn {
			return nil
		}
	}
	return nil
}

// makeCounters makes the meters, before there is any trouble.
func (h *history) makeCounters(ctx context.Context) error {
	for n := range metersOfHistory {
		began, id := h.now(), h.meter(n)
		inserted := func(ctx context.Context) error {
			err := h.meters.Insert(ctx, &meter{ID: id})
			if errors.Is(err, repo.ErrExists) { // by an insert whose answer was lost
				return nil
			}
			return err
		}
		if err := insist(ctx, inserted); err != nil {
			return err
		}
		h.note(id+".n", h.clients, began, call{do: "insert", next: "0"}, reply{status: done})
		h.note(id+".level", h.clients, began, call{do: "insert", next: "0"}, reply{status: done})
	}
	return nil
}

// lastCounters reads all counters.
func (h *history) lastCounters(ctx context.Context) error {
	for n := range metersOfHistory {
		h.readCounters(ctx, h.clients, h.meter(n))
	}
	return nil
}

func (h *history) readCounters(ctx context.Context, client int, id string) {
	began := h.now()
	m, err := h.meters.Get(ctx, repo.Key{id})
	h.note(id+".n", client, began, call{do: "read"}, reply{statusOf(err), strconv.FormatInt(m.N, 10)})
	h.note(id+".level", client, began, call{do: "read"}, reply{statusOf(err), strconv.FormatInt(m.Level, 10)})
}

// addOne adds one to a counter in one of five ways.
func (h *history) addOne(ctx context.Context, client int, id string, r *rand.Rand) {
	began, key, which := h.now(), repo.Key{id}, "n"
	var err error
	switch r.IntN(5) {
	case 0:
		_, err = h.meters.Patch(ctx, key, repo.Add("n", 1))
	case 1:
		which = "level"
		_, err = h.meters.Patch(ctx, key, repo.Add("level", 1))
	case 2:
		_, err = h.meters.PatchBlind(ctx, key, repo.Add("n", 1))
	case 3:
		which = "level"
		_, err = h.meters.Update(ctx, key, func(m *meter) error { m.Level++; return nil })
	default:
		var m meter
		if m, err = h.meters.Get(ctx, key); err == nil {
			_, err = h.meters.PatchIf(ctx, key, m.Version, repo.Add("n", 1))
		}
	}
	s := h.became(ctx, err)
	if s == conflict {
		s = nothingDone // by another one's addition, which is no state of this counter
	}
	h.note(id+"."+which, client, began, call{do: "add"}, reply{status: s})
}
