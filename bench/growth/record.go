package main

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/polystore/polystore/repo"
)

// A post is a record of about 300 bytes in a partition of its own, with two indexes elsewhere.
type post struct {
	ID       string    `repo:"id"`
	Author   string    `repo:"author"`
	Category string    `repo:"category"`
	Title    string    `repo:"title"`
	Body     string    `repo:"body"`
	Views    int64     `repo:"views"`
	Created  time.Time `repo:"created"`
}

func postSchema(collection string) repo.Schema {
	return repo.Schema{
		Collection: collection,
		Partition:  []string{"id"},
		Indexes: []repo.Index{
			{Partition: []string{"author"}, Sort: []string{"-created"}},
			{Partition: []string{"category"}, Sort: []string{"-created"}},
		},
	}
}

const (
	postsOfAuthor = 40
	categories    = 12
	bodyBytes     = 200
)

// newPost returns post number i. Ids have no order in common with the numbers.
func newPost(i int) post {
	return post{
		ID:       postID(i),
		Author:   authorOf(i),
		Category: fmt.Sprintf("category-%02d", i%categories),
		Title:    fmt.Sprintf("post number %d of its author", i/postsOfAuthor),
		Body:     text(uint64(i), bodyBytes),
		Views:    int64(i),
		Created:  time.UnixMilli(1_700_000_000_000 + int64(i)*1000).UTC(),
	}
}

// postID spreads the numbers over the ids; the factor is odd, so none comes twice.
func postID(i int) string { return fmt.Sprintf("p%08x", uint32(i)*2654435761) }

func authorOf(i int) string { return fmt.Sprintf("user:%07d", i/postsOfAuthor) }

// An event is a record of about 150 bytes, in the order in which it came, all in one partition.
type event struct {
	Room string `repo:"room"`
	N    int64  `repo:"n"`
	Who  string `repo:"who"`
	Text string `repo:"text"`
}

const room = "hall"

func eventSchema(collection string) repo.Schema {
	return repo.Schema{Collection: collection, Partition: []string{"room"}, Sort: []string{"n"}}
}

func newEvent(i int) event {
	return event{Room: room, N: int64(i), Who: authorOf(i), Text: text(uint64(i), bodyBytes/2)}
}

// text returns letters that differ for each seed.
func text(seed uint64, size int) string {
	r := rand.New(rand.NewPCG(seed, 0x67726f77))
	b := make([]byte, size)
	for i := range b {
		b[i] = byte('a' + r.IntN(26))
	}
	return string(b)
}

// from yields the records of the numbers from one to another.
func from[T any](first, end int, record func(int) T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for i := first; i < end; i++ {
			if !yield(record(i), nil) {
				return
			}
		}
	}
}
