package main

import (
	"context"
	"io"
	"testing"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/internal/pagetest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repotest"
)

// The blocks of the chapter are parts of this program, and its output is what they print.
func TestChapter(t *testing.T) {
	page := pagetest.Page{File: "../../docs/trees.md", Program: "main.go", Run: run, Blocks: 8, Texts: 7}
	page.Check(t)
	page.On(t, "memory:")
	page.On(t, "pebble:"+t.TempDir())
	for _, server := range []testserver.Store{testserver.Redis, testserver.Mongo, testserver.Cassandra} {
		page.Run = func(ctx context.Context, url string, out io.Writer) error {
			return chapter(ctx, repo.NewStore(repotest.Isolated(t, url, backends.OpenDriver, nil), nil), out)
		}
		page.On(t, testserver.Shared(t, server).URL)
	}
}
