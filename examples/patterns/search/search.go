// Package search finds pages by their words: an inverted index, ranked by how many of the words a page has, and counted
// by site. It reads the rows of all words that are asked for; a search engine knows more about languages, and ranks
// without reading all.
package search

import (
	"cmp"
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
type Hit struct {
	URL   string
	Words int
}

// Best returns the pages with most of some words, the best first.
func (p Pages) Best(ctx context.Context, limit int, words ...string) ([]Hit, error) {
	has := map[string]int{}
	for _, word := range words {
		for key, err := range p.Keys(ctx, repo.Where("words[]", strings.ToLower(word))) {
			if err != nil {
				return nil, err
			}
			has[key[0].(string)]++
		}
	}
	var hits []Hit
	for url, n := range has {
		hits = append(hits, Hit{url, n})
	}
	slices.SortFunc(hits, func(a, b Hit) int { return cmp.Or(b.Words-a.Words, cmp.Compare(a.URL, b.URL)) })
	return hits[:min(limit, len(hits))], nil
}

// Sites returns how many pages of each site have a word.
func (p Pages) Sites(ctx context.Context, word string) (map[string]int, error) {
	sites := map[string]int{}
	for site, err := range p.GroupBy("site").Find(ctx, repo.Where("words[]", strings.ToLower(word))) {
		if err != nil {
			return nil, err
		}
		sites[site.Key[0].(string)] = site.Count
	}
	return sites, nil
}
