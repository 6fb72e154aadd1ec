package history

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/polystore/polystore/repo"
)

// A Pruned tells of a chunk of revisions that [History.Prune] has been through.
type Pruned struct {
	Looked  int    // revisions that were looked at
	Removed int    // revisions that were removed, of all records that these are of
	Mark    string // at which a later call resumes, "" at the end
}

// Prune removes the revisions that are no longer to be kept, chunk by chunk: after [Keep] was changed to less. What
// the writes of a History keep by then is no work for it. Mark is "", or the mark of an earlier chunk. Others may read
// and write meanwhile. An error comes once, last, but for those about revisions that cannot be read: they come with
// their chunk.
func (h *History[T]) Prune(ctx context.Context, mark string) iter.Seq2[Pruned, error] {
	return func(yield func(Pruned, error) bool) {
		if err := h.opened(); err != nil {
			yield(Pruned{}, h.failed("prune", err))
			return
		}
		for chunk, err := range h.rows.Walk(ctx, mark) {
			removed, broken := h.pruneChunk(ctx, chunk.Items)
			if broken != nil {
				yield(Pruned{}, h.failed("prune", broken))
				return
			}
			if !yield(Pruned{len(chunk.Items), removed, chunk.Mark}, h.failed("prune", err)) {
				return
			}
		}
	}
}

// pruneChunk removes what is too much of the records that some rows are of.
func (h *History[T]) pruneChunk(ctx context.Context, rows []map[string]any) (removed int, err error) {
	seen := map[string]bool{}
	for i := range rows {
		key := h.form.keyIn(&rows[i], h.key)
		id := fmt.Sprintf("%#v", key)
		if seen[id] {
			continue
		}
		seen[id] = true
		n, err := h.pruneOne(ctx, key)
		if removed += n; err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// together is how many revisions are read at a time.
const together = 256

// pruneOne removes what is too much of one record, the oldest first: while a revision is there, all that followed are.
func (h *History[T]) pruneOne(ctx context.Context, key repo.Key) (removed int, err error) {
	last, err := h.newest(ctx, key)
	if err != nil {
		return 0, err
	}
	for {
		list, err := repo.Collect(h.marks.Find(ctx, h.of(key).Order(numberField).Limit(together)))
		if err != nil {
			return removed, err
		}
		for i := range list[:max(len(list)-1, 0)] { // the last one may be the newest; the next round tells
			if !h.isTooMuch(&list[i], &list[i+1], last.Number) {
				return removed, nil
			}
			if err := h.rows.Delete(ctx, rowKey(key, list[i].Number)); err != nil {
				return removed, err
			}
			removed++
		}
		if len(list) < together {
			return removed, nil
		}
	}
}

// isTooMuch reports whether a revision is no longer to be kept; next is the one that followed.
func (h *History[T]) isTooMuch(m, next *mark, newest int64) bool {
	n, kept := int64(h.keep.Revisions), h.keep.For
	return n > 0 && m.Number <= newest-n || kept > 0 && time.Since(next.At) > kept
}
