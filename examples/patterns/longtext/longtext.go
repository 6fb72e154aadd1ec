// Package longtext finds texts of any length by their words. A record has at most 256 rows of indexes, so a text is several
// records, of which each has its words in the index.
package longtext

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo"
)

// PartWords is how many words lie in one record.
const PartWords = 200

// A Part is a part of a text.
type Part struct {
	Doc     string       `repo:"doc"`
	No      int64        `repo:"no"`
	Parts   int64        `repo:"parts"` // how many there are
	Text    string       `repo:"text"`
	Words   []string     `repo:"words"` // follow from Text
	Version repo.Version `repo:",version"`
}

// Derive fills Words, each once and in small letters.
func (p *Part) Derive() error {
	p.Words = slices.Compact(slices.Sorted(strings.FieldsSeq(strings.ToLower(p.Text))))
	return nil
}

// Texts are texts with an index of their words.
type Texts struct{ *repo.Repo[Part] }

// Open opens the texts of a store.
func Open(ctx context.Context, store *repo.Store) (Texts, error) {
	r, err := repo.Open[Part](ctx, store, repo.Schema{
		Collection: "texts", Partition: []string{"doc"}, Sort: []string{"no"},
		Indexes: []repo.Index{{Partition: []string{"words[]"}, Sort: []string{"doc"}}},
	})
	return Texts{r}, err
}

// Write writes a text in the place of what is there, all parts by one commit.
func (t Texts) Write(ctx context.Context, doc, text string) error {
	parts := slices.Collect(slices.Chunk(strings.Fields(text), PartWords))
	for {
		old, err := t.Get(ctx, repo.Key{doc, 0})
		if err != nil && !errors.Is(err, repo.ErrNotFound) {
			return err
		}
		g := t.Store().Group()
		for no := range max(len(parts), 1) {
			p := Part{Doc: doc, No: int64(no), Parts: int64(len(parts))}
			if no < len(parts) {
				p.Text = strings.Join(parts[no], " ")
			}
			switch {
			case no > 0:
				t.In(g).Put(&p)
			case old.Version.IsZero():
				t.In(g).Insert(&p)
			default:
				t.In(g).Replace(&p, repo.IfVersion(old.Version))
			}
		}
		for no := int64(max(len(parts), 1)); no < old.Parts; no++ {
			t.In(g).Delete(repo.Key{doc, no})
		}
		if err = g.Commit(ctx); !errors.Is(err, repo.ErrConflict) && !errors.Is(err, repo.ErrExists) {
			return err
		}
	}
}

// With returns the texts that have all of some words, in whichever of their parts.
func (t Texts) With(ctx context.Context, words ...string) ([]string, error) {
	has := map[string]int{}
	for n, word := range words {
		for group, err := range t.GroupBy("doc").Find(ctx, repo.Where("words[]", strings.ToLower(word))) {
			if err != nil {
				return nil, err
			}
			if doc := group.Key[0].(string); has[doc] == n {
				has[doc]++
			}
		}
	}
	maps.DeleteFunc(has, func(_ string, n int) bool { return n < len(words) })
	return slices.Sorted(maps.Keys(has)), nil
}
