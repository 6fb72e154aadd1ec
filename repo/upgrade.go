package repo

import (
	"cmp"
	"context"
	"errors"
	"iter"

	"github.com/polystore/polystore/repo/internal/scan"
)

// An Upgrader is a record type whose format changes over time. A field of it, an int, says in which format a record was
// written; a record without the field is in format 0. Format returns a pointer to this field and the newest format.
// Upgrade brings a record from a format to the next one.
//
// A record in an older format is upgraded whenever it is read as this type, step by step, and is written in the newest
// one. Queries go by what is stored: [Repo.Upgrade] writes the records that are old. A record that a newer program wrote
// keeps its format. [Repo.Patch], and all calls like it, read the record and write it whole, as those of a [Deriver] do.
// A view upgrades nothing, unless its own type does.
type Upgrader interface {
	Format() (at *int, newest int)
	Upgrade(from int) error
}

// An Upgraded tells of a chunk of records that [Repo.Upgrade] has been through.
type Upgraded struct {
	Looked  int    // records that were looked at
	Written int    // of these, how many were old and are written in the newest format now
	Mark    string // at which a later call resumes, "" at the end
}

// Upgrade writes all records that are in an older format, chunk by chunk. Mark is "", or the mark of an earlier chunk.
// Others may read and write meanwhile; what they write is in the newest format already. A loop that goes on to its end
// has upgraded all records that were there, but for those that the error of a chunk names. An error about no record
// comes once, last.
func (r *Repo[T]) Upgrade(ctx context.Context, mark string) iter.Seq2[Upgraded, error] {
	on := r.on()
	return on.c.upgrade(ctx, &on.v, mark, func(ctx context.Context, key Key) error {
		_, err := r.Update(ctx, key, func(*T) error { return nil })
		return err
	})
}

// upgrade writes records by write.
func (c *collection) upgrade(ctx context.Context, v *scan.View, mark string, write func(context.Context, Key) error) iter.Seq2[Upgraded, error] {
	return func(yield func(Upgraded, error) bool) {
		ctx, k := c.begin(ctx, "upgrade")
		defer k.Leave()
		stopped := false
		var first, broken error // of a chunk, and of the store
		err := v.WalkOld(ctx, &k, mark, func(keys [][]any, looked int, mark string, err error) bool {
			out := Upgraded{Looked: looked, Mark: mark}
			if err != nil {
				err = c.annotate(k.Op, nil, err)
			}
			for _, key := range keys {
				switch e := write(ctx, key); {
				case e == nil:
					out.Written++
				case fatal(e) && !errors.Is(e, ErrCorrupt):
					broken = e
					return false
				case !errors.Is(e, ErrNotFound):
					err = errors.Join(err, e)
				}
			}
			first = cmp.Or(first, err)
			stopped = !yield(out, err)
			return !stopped
		})
		if err = cmp.Or(err, broken); err == nil {
			_ = c.end(&k, nil, first)
		} else if err = c.end(&k, nil, err); !stopped {
			yield(Upgraded{}, err)
		}
	}
}
