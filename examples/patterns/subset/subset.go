// Package subset keeps the newest reviews of a product in its record, so that the page of a product is one read. All
// reviews are records of their own, in the partition of the product: both are written together. Where the list is short
// keep all of it in the record.
package subset

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/polystore/polystore/repo"
)

// Newest is how many reviews lie in the record of a product.
const Newest = 3

// A Product has its newest reviews, the newest first.
type Product struct {
	ID      string   `repo:"product"`
	Reviews []Review `repo:"reviews"`
	Count   int64    `repo:"count"`
}

// A Review is what a user says of a product.
type Review struct {
	Product string    `repo:"product"`
	At      time.Time `repo:"at"`
	User    string    `repo:"user"`
	Text    string    `repo:"text"`
}

// Shop has products with reviews.
type Shop struct {
	Products *repo.Repo[Product]
	reviews  *repo.Repo[Review]
}

// Open opens the shop of a store.
func Open(ctx context.Context, store *repo.Store) (Shop, error) {
	products, err1 := repo.Open[Product](ctx, store, repo.Schema{Collection: "products", Partition: []string{"product"}})
	reviews, err2 := repo.Open[Review](ctx, store, repo.Schema{Collection: "reviews", With: "products", Partition: []string{"product"}, Sort: []string{"-at", "user"}})
	return Shop{products, reviews}, errors.Join(err1, err2)
}

// Review adds a review, to the product and to all reviews. Reviews that come late are not the newest, but lie in front
// all the same. A user's second review of the same time is ErrExists.
func (s Shop) Review(ctx context.Context, r Review) error {
	g := s.Products.Store().Group()
	s.reviews.In(g).Insert(&r)
	s.Products.In(g).Patch(repo.Key{r.Product}, repo.PushFront("reviews", Newest, r), repo.Add("count", 1))
	return g.Commit(ctx)
}

// Reviews yields all reviews of a product, the newest first.
func (s Shop) Reviews(ctx context.Context, product string) iter.Seq2[Review, error] {
	return s.reviews.Find(ctx, repo.Where("product", product))
}
