// Command tutorial is the program of docs/tutorial.md: a library of books and their loans.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/repo"
)

func main() {
	url := "memory:"
	if len(os.Args) > 1 {
		url = os.Args[1]
	}
	if err := run(context.Background(), url, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// A Book is one record.
type Book struct {
	Shelf   string       `repo:"shelf"`
	ID      string       `repo:"id"`
	Title   string       `repo:"title"`
	Author  string       `repo:"author"`
	ISBN    string       `repo:"isbn,omitempty"`
	Bought  time.Time    `repo:"bought"`
	Loans   int64        `repo:"loans"`
	Version repo.Version `repo:",version"`
}

var schema = repo.Schema{
	Collection: "books",
	Partition:  []string{"shelf"}, // books of one shelf lie together
	Sort:       []string{"id"},
	Indexes: []repo.Index{
		{Partition: []string{"author"}, Sort: []string{"-bought"}},
		{Partition: []string{"isbn"}, Unique: true},
	},
}

func run(ctx context.Context, url string, out io.Writer) error {
	store, err := backends.Open(ctx, url, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	books, err := repo.Open[Book](ctx, store, schema)
	if err != nil {
		return err
	}

	for _, step := range []func(context.Context, *repo.Repo[Book], io.Writer) error{write, find, refuse, change, together, page} {
		if err := step(ctx, books, out); err != nil {
			return err
		}
	}
	return nil
}

func write(ctx context.Context, books *repo.Repo[Book], out io.Writer) error {
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, title := range []string{"Emma", "Persuasion", "Sanditon"} {
		b := Book{Shelf: "A", ID: fmt.Sprintf("a%d", i+1), Title: title, Author: "Austen", Bought: day.AddDate(0, i, 0)}
		if title == "Emma" {
			b.ISBN = "9780141439587"
		}
		if err := books.Insert(ctx, &b); err != nil {
			return err
		}
	}
	again := Book{Shelf: "B", ID: "b1", Title: "Emma, once more", Author: "Austen", ISBN: "9780141439587"}
	err := books.Insert(ctx, &again)
	fmt.Fprintln(out, errors.Is(err, repo.ErrExists), err)
	return nil
}

func find(ctx context.Context, books *repo.Repo[Book], out io.Writer) error {
	newest := repo.Where("author", "Austen").Order("-bought").Limit(2)
	for b, err := range books.Find(ctx, newest) {
		if err != nil {
			return err
		}
		fmt.Fprintln(out, b.Bought.Format(time.DateOnly), b.Title)
	}
	return nil
}

func refuse(ctx context.Context, books *repo.Repo[Book], out io.Writer) error {
	_, err := repo.Collect(books.Find(ctx, repo.Where("title", "Emma")))
	fmt.Fprintln(out, err)
	return nil
}

func change(ctx context.Context, books *repo.Repo[Book], out io.Writer) error {
	key := repo.Key{"A", "a1"}
	seen, err := books.Get(ctx, key)
	if err != nil {
		return err
	}
	if _, err := books.Patch(ctx, key, repo.Add("loans", 1)); err != nil {
		return err
	}
	seen.Title = "Emma (1815)"
	err = books.Replace(ctx, &seen) // it has the version from before the loan
	fmt.Fprintln(out, errors.Is(err, repo.ErrConflict))

	now, err := books.Update(ctx, key, func(b *Book) error {
		b.Title = "Emma (1815)"
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, now.Title, now.Loans)
	return nil
}

func together(ctx context.Context, books *repo.Repo[Book], _ io.Writer) error {
	g := books.Store().Group()
	books.In(g).Delete(repo.Key{"A", "a3"})
	books.In(g).Patch(repo.Key{"A", "a2"}, repo.Set("title", "Persuasion, with Sanditon"))
	return g.Commit(ctx)
}

func page(ctx context.Context, books *repo.Repo[Book], out io.Writer) error {
	all := repo.Where("shelf", "A").Limit(1)
	for cursor := ""; ; {
		p, err := books.Page(ctx, all, cursor)
		if err != nil {
			return err
		}
		for _, b := range p.Items {
			fmt.Fprintln(out, b.ID, b.Title)
		}
		if cursor = p.Next; cursor == "" {
			return nil
		}
	}
}
