// Package search finds pages by their words: an inverted index, ranked by how many of the words a page has, and counted
// by site. It reads the rows of all words that are asked for; a search engine knows more about languages, and ranks
// without reading all.
package search

import (
	"context"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo"
)

// A Page is a page with its words.
type Page struct {
	URL   string   `repo:"url"`
	Site  string   `repo:"site"`
	Text  string   `repo:"text"`
	Words []string `repo:"words"` // follow from Text
}

// Derive fills Words, each once and in small letters.
func (p *Page) Derive() error {
	p.Words = slices.Compact(slices.Sorted(strings.FieldsSeq(strings.ToLower(p.Text))))
	return nil
}

// Pages are pages with an index of their words.
type Pages struct{ *repo.Repo[Page] }

// Open opens the pages of a store.
func Open(ctx context.Context, store *repo.Store) (Pages, error) {
	r, err := repo.Open[Page](ctx, store, repo.Schema{
		Collection: "pages", Partition: []string{"url"},
		Indexes: []repo.Index{{Partition: []string{"words[]"}, Sort: []string{"site"}}},
	})
	return Pages{r}, err
}

// A Hit is a page, and how many of the words it has.
type Hit = repo.Ranked[Page]

// Best returns the pages with most of some words, the best first.
func (p Pages) Best(ctx context.Context, limit int, words ...string) ([]Hit, error) {
	return repo.Best(ctx, p.Repo, repo.All().AnyOf("words[]", inForm(words)...).Limit(limit))
}

// inForm returns words in the form that the index has.
func inForm(words []string) (list []any) {
	for _, word := range words {
		list = append(list, strings.ToLower(word))
	}
	return list
}

// Sites returns how many pages of each site have all of some words.
func (p Pages) Sites(ctx context.Context, words ...string) (map[string]int, error) {
	sites := map[string]int{}
	for site, err := range p.GroupBy("site").Find(ctx, repo.All().AllOf("words[]", inForm(words)...)) {
		if err != nil {
			return nil, err
		}
		sites[site.Key[0].(string)] = site.Count
	}
	return sites, nil
}
