// Package outlier keeps a list in its record, and what is too much for it in continuation records of the same
// partition: most books have few buyers, and a best-seller has a million. Where all lists are long, let each element be
// a record of its own from the start.
package outlier

import (
	"context"
	"errors"
	"iter"

	"github.com/polystore/polystore/repo"
)

// PartSize is how many buyers lie in one record.
const PartSize = 100

// A Part is a part of the buyers of a book; part 0 is the book.
type Part struct {
	Book   string   `repo:"book"`
	Part   int64    `repo:"part"`
	Title  string   `repo:"title"`
	Extras int64    `repo:"extras"` // of part 0: how many other parts there are
	Buyers []string `repo:"buyers"`
}

// Books are books with their buyers.
type Books struct{ parts *repo.Repo[Part] }

// Open opens the books of a store.
func Open(ctx context.Context, store *repo.Store) (Books, error) {
	r, err := repo.Open[Part](ctx, store, repo.Schema{
		Collection: "books", Partition: []string{"book"}, Sort: []string{"part"},
	})
	return Books{r}, err
}

// Add makes a book.
func (b Books) Add(ctx context.Context, id, title string) error {
	return b.parts.Insert(ctx, &Part{Book: id, Title: title})
}

// Bought adds a buyer of a book. One that is added again is there twice.
func (b Books) Bought(ctx context.Context, id, buyer string) error {
	for {
		last, err := b.parts.First(ctx, repo.Where("book", id).Order("-part"))
		if err != nil {
			return err
		}
		g := b.parts.Store().Group()
		in := b.parts.In(g)
		if len(last.Buyers) < PartSize {
			in.Update(repo.Key{id, last.Part}, func(p *Part) error {
				if len(p.Buyers) >= PartSize {
					return errFull
				}
				p.Buyers = append(p.Buyers, buyer)
				return nil
			})
		} else {
			in.Insert(&Part{Book: id, Part: last.Part + 1, Buyers: []string{buyer}})
			in.Patch(repo.Key{id, int64(0)}, repo.Add("extras", 1))
		}
		if err = g.Commit(ctx); !errors.Is(err, errFull) && !errors.Is(err, repo.ErrExists) {
			return err
		}
	}
}

var errFull = errors.New("another buyer was faster")

// Parts yields a book and its further parts, by one range.
func (b Books) Parts(ctx context.Context, id string) iter.Seq2[Part, error] {
	return b.parts.Find(ctx, repo.Where("book", id))
}
