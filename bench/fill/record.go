package main

import (
	"fmt"
	"iter"
	"strings"

	"github.com/polystore/polystore/repo"
)

// A post is a record of about 300 bytes in a partition of its own.
type post struct {
	ID      string `repo:"id"`
	Author  string `repo:"author"`
	Title   string `repo:"title"`
	Body    string `repo:"body"`
	Views   int64  `repo:"views"`
	Created int64  `repo:"created"`
}

const (
	byAuthor      = "by_author"
	postsOfAuthor = 40
	bodyBytes     = 220
)

// schemaOf returns the schema of posts, with the index by author, of a kind, or without.
func schemaOf(collection string, indexed bool, kind string) repo.Schema {
	s := repo.Schema{Collection: collection, Partition: []string{"id"}}
	if indexed {
		s.Indexes = []repo.Index{{Name: byAuthor, Partition: []string{"author"}, Sort: []string{"-created"}, Kind: kind}}
	}
	return s
}

// newPost returns post number i. Ids have no order in common with the numbers.
func newPost(i int) post {
	id := postID(i)
	return post{
		ID: id, Author: authorOf(i), Title: fmt.Sprintf("post number %d", i),
		Body: strings.Repeat(id+" ", bodyBytes/len(id))[:bodyBytes], Views: int64(i), Created: 1_700_000_000 + int64(i),
	}
}

// postID spreads the numbers over the ids; the factor is odd, so none comes twice.
func postID(i int) string { return fmt.Sprintf("p%08x", uint32(i)*2654435761) }

func authorOf(i int) string { return fmt.Sprintf("user:%07d", i/postsOfAuthor) }

// posts yields those of the numbers below n.
func posts(n int) iter.Seq2[post, error] {
	return func(yield func(post, error) bool) {
		for i := range n {
			if !yield(newPost(i), nil) {
				return
			}
		}
	}
}
