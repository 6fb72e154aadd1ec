// Package attribute finds products by any attribute, of which each kind of product has others: pairs of a name and a
// value lie in one index over the elements of a list. It is not for ranges of values; what all products have is better
// a field of its own.
package attribute

import (
	"context"
	"iter"
	"net/url"

	"github.com/polystore/polystore/repo"
)

// A Product has attributes by name.
type Product struct {
	ID         string            `repo:"id"`
	Attributes map[string]string `repo:"attributes"`
	Pairs      []string          `repo:"pairs"` // follows from Attributes
}

// Derive fills Pairs before each write.
func (p *Product) Derive() error {
	p.Pairs = p.Pairs[:0]
	for name, value := range p.Attributes {
		p.Pairs = append(p.Pairs, pair(name, value))
	}
	return nil
}

// pair keeps names and values apart that hold a "=".
func pair(name, value string) string { return url.QueryEscape(name) + "=" + value }

// Products are products with an index of their attributes.
type Products struct{ *repo.Repo[Product] }

// Open opens the products of a store.
func Open(ctx context.Context, store *repo.Store) (Products, error) {
	r, err := repo.Open[Product](ctx, store, repo.Schema{
		Collection: "products", Partition: []string{"id"},
		Indexes: []repo.Index{{Partition: []string{"pairs[]"}}},
	})
	return Products{r}, err
}

// With yields the products whose attributes are all as asked for.
func (p Products) With(ctx context.Context, attributes map[string]string) iter.Seq2[Product, error] {
	var pairs []any
	for name, value := range attributes {
		pairs = append(pairs, pair(name, value))
	}
	return p.Find(ctx, repo.All().AllOf("pairs[]", pairs...))
}
