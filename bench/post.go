package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/polystore/polystore/repo"
)

// A post is the record of the work: about 300 bytes, found by its id, by author
// and by category, newest first.
type post struct {
	ID       string       `repo:"id"`
	Author   string       `repo:"author"`
	Category string       `repo:"category"`
	Title    string       `repo:"title"`
	Body     string       `repo:"body"`
	Views    int64        `repo:"views"`
	Created  time.Time    `repo:"created"`
	Version  repo.Version `repo:",version"`
}

// A key finds a post. Only where the posts of an author lie together is the author part
// of it.
type key struct{ id, author string }

func (p *post) key() key { return key{p.ID, p.Author} }

// A posts is what a candidate does. Its errors are or wrap those of package repo.
type posts interface {
	// insert adds a post that is not there yet, else repo.ErrExists, and fills
	// its version.
	insert(ctx context.Context, p *post) error

	// get returns a post, or repo.ErrNotFound.
	get(ctx context.Context, k key) (post, error)

	// update reads a post, lets change change it, and writes it with its index
	// rows if nobody else wrote it meanwhile. Unless version is zero the post
	// must have it, else it is repo.ErrConflict.
	update(ctx context.Context, k key, version repo.Version, change func(*post) error) (post, error)

	// byAuthor and byCategory return the newest n posts; byCategory those of one author
	// where the posts of an author lie together, else of all.
	byAuthor(ctx context.Context, author string, n int) ([]post, error)
	byCategory(ctx context.Context, author, category string, n int) ([]post, error)

	// delete removes a post; one that is not there is no error.
	delete(ctx context.Context, k key) error

	close() error
}

const (
	postsPerAuthor = 40
	categories     = 12
)

var words = strings.Fields(`about after again against also always another answer around because
	before between both call change come could country different does down each early eat end enough
	even every example eye face family far father feet few find first follow food form found four`)

// newPost returns post number i of a collection that began with records posts.
// Later numbers are newer, and ids have no order in common with them.
func newPost(i, records int) post {
	r := drawn(i)
	return post{
		ID:       postID(i),
		Author:   authorName(r.IntN(authors(records))),
		Category: categoryName(r.IntN(categories)),
		Title:    sentence(r, 38),
		Body:     sentence(r, 200),
		Views:    int64(r.IntN(100_000)),
		Created:  time.UnixMilli(1_700_000_000_000 + int64(i)*1000).UTC(),
	}
}

// drawn returns what decides post number i; its author comes first.
func drawn(i int) *rand.Rand { return rand.New(rand.NewPCG(uint64(i), 0x706f7374)) }

// keyOf returns the key of post number i.
func keyOf(i, records int) key {
	return key{postID(i), authorName(drawn(i).IntN(authors(records)))}
}

func authors(records int) int { return max(records/postsPerAuthor, 1) }

// postID spreads the numbers over the ids; the factor is odd, so none comes twice.
func postID(i int) string { return fmt.Sprintf("p%08x", uint32(i)*2654435761) }

func authorName(i int) string { return fmt.Sprintf("user:%05d", i) }

func categoryName(i int) string { return fmt.Sprintf("category-%02d", i) }

// sentence returns words of size bytes together.
func sentence(r *rand.Rand, size int) string {
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(words[r.IntN(len(words))])
		b.WriteByte(' ')
	}
	return b.String()[:size]
}

// fold makes a number of a post, so that answers can be compared at hardly any
// cost. Posts that differ may have the same one; the digest looks at everything.
func (p *post) fold() uint64 {
	n := uint64(p.Created.UnixMilli()) ^ uint64(len(p.Title)+len(p.Body))<<48
	return n + uint64(p.Views)*0x9e3779b97f4a7c15 + uint64(p.Title[0])<<32 + uint64(p.Category[len(p.Category)-1])
}
