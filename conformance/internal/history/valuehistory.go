package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/polystore/polystore/conformance/internal/record"
	"github.com/polystore/polystore/repo"
)

const valuesOfHistory = 3

// A holder is a client's own pair of records, which lie in one partition, and the
// unique values that they hold.
type holder struct {
	part string
	have [2]string
	made [2]bool
	lost [2]bool // an outcome was unknown: what it holds is not known either
}

func (o *holder) owner(i int) string { return fmt.Sprintf("%q/%d", o.part, i) }

// useValues is a client that lets its two records take, exchange and free values
// that others want too, and looks for the owners of values.
func (h *history) useValues(ctx context.Context, client int) error {
	r, own := h.rand(client), &holder{part: fmt.Sprint(h.tag, "-", client)}
	for range h.ops {
		value := h.value(r.IntN(valuesOfHistory))
		goesOn := h.turn(ctx, r, func(ctx context.Context) {
			switch n := r.IntN(10); {
			case n < 5:
				h.lookUp(ctx, client, value)
			case n < 8:
				h.take(ctx, client, own, r.IntN(2), value, r)
			case n < 9:
				h.passOn(ctx, client, own)
			default:
				h.free(ctx, client, own, r.IntN(2))
			}
		})
		if !goesOn {
			return nil
		}
	}
	return nil
}

func (h *history) value(n int) string { return fmt.Sprintf("%s.v%d", h.tag, n) }

// lastValues looks for the owner of every value.
func (h *history) lastValues(ctx context.Context) error {
	for n := range valuesOfHistory {
		h.lookUp(ctx, h.clients, h.value(n))
	}
	return nil
}

func (h *history) lookUp(ctx context.Context, client int, value string) {
	began := h.now()
	got, err := h.repo.One(ctx, repo.Where("name", value))
	out := reply{status: statusOf(err)}
	switch {
	case err == nil:
		out.state = record.KeyText(got)
	case errors.Is(err, repo.ErrNotFound):
		out.status = done
	}
	h.note(value, client, began, call{do: "read"}, out)
}

// take lets a record have a value: by an insert, or by a change, which frees the
// value that it had.
func (h *history) take(ctx context.Context, client int, own *holder, i int, value string, r *rand.Rand) {
	if own.lost[i] || own.have[i] == value {
		return
	}
	began, old := h.now(), own.have[i]
	e := record.Entry{Part: own.part, ID: int64(i), Name: &value, Kind: h.tag}
	var err error
	switch {
	case !own.made[i]:
		err = h.repo.Insert(ctx, &e)
	case r.IntN(2) == 0:
		_, err = h.repo.Patch(ctx, record.KeyOf(e), repo.Set("name", value))
	default:
		_, err = h.repo.Update(ctx, record.KeyOf(e), func(e *record.Entry) error { e.Name = &value; return nil })
	}
	got := reply{status: h.became(ctx, err)}
	h.note(value, client, began, call{do: "take", next: own.owner(i)}, got)
	if old != "" && (got.status == done || got.status == notKnown) {
		h.note(old, client, began, call{do: "free", expect: own.owner(i)}, got)
	}
	own.lost[i] = got.status == notKnown
	if got.status == done {
		own.made[i], own.have[i] = true, value
	}
}

// passOn exchanges the values of both records in one group.
func (h *history) passOn(ctx context.Context, client int, own *holder) {
	a, b := own.have[0], own.have[1]
	if own.lost[0] || own.lost[1] || a == "" || b == "" {
		return
	}
	began := h.now()
	g := h.repo.Store().Group()
	in := h.repo.In(g)
	in.Put(&record.Entry{Part: own.part, ID: 0, Name: &b, Kind: h.tag})
	in.Put(&record.Entry{Part: own.part, ID: 1, Name: &a, Kind: h.tag})
	got := reply{status: h.became(ctx, g.Commit(ctx))}
	h.note(a, client, began, call{do: "pass on", expect: own.owner(0), next: own.owner(1)}, got)
	h.note(b, client, began, call{do: "pass on", expect: own.owner(1), next: own.owner(0)}, got)
	if got.status == done {
		own.have = [2]string{b, a}
	}
	own.lost = [2]bool{got.status == notKnown, got.status == notKnown}
}

// free takes a record's value away, by a patch or with the record itself.
func (h *history) free(ctx context.Context, client int, own *holder, i int) {
	if own.lost[i] || own.have[i] == "" {
		return
	}
	began := h.now()
	key := repo.Key{own.part, int64(i)}
	var err error
	deleted := began%2 == 0
	if deleted {
		err = h.repo.Delete(ctx, key)
	} else {
		_, err = h.repo.Patch(ctx, key, repo.Unset("name"))
	}
	got := reply{status: h.became(ctx, err)}
	h.note(own.have[i], client, began, call{do: "free", expect: own.owner(i)}, got)
	own.lost[i] = got.status == notKnown
	if got.status == done {
		own.have[i], own.made[i] = "", !deleted
	}
}
