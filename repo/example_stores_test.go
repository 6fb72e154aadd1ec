package repo_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repotest"
)

// Records may be maps: then the schema says which kinds the fields have.
func ExampleOpen() {
	ctx := context.Background()
	store := repo.NewStore(memory.New(nil), nil)
	defer store.Close()
	readings, err := repo.Open[map[string]any](ctx, store, repo.Schema{
		Collection: "readings",
		Partition:  []string{"sensor"},
		Sort:       []string{"-at"},
		Fields:     map[string]string{"sensor": "string", "at": "time", "celsius": "float"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	noon := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	for i, c := range []float64{21.5, 22.5} {
		r := map[string]any{"sensor": "roof", "at": noon.Add(time.Duration(i) * time.Hour), "celsius": c}
		if err := readings.Insert(ctx, &r); err != nil {
			fmt.Println(err)
			return
		}
	}
	for r, err := range readings.Find(ctx, repo.Where("sensor", "roof").Range("at", noon, nil)) {
		fmt.Println(r["at"], r["celsius"], err)
	}
	// Output:
	// 2026-06-01 13:00:00 +0000 UTC 22.5 <nil>
	// 2026-06-01 12:00:00 +0000 UTC 21.5 <nil>
}

// A program that knows the name of a collection only can read and check it.
func ExampleSchemaOf() {
	ctx := context.Background()
	store := repo.NewStore(memory.New(nil), nil)
	defer store.Close()
	_, err := repo.Open[Article](ctx, store, repo.Schema{Collection: "articles", Partition: []string{"author"}, Sort: []string{"id"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	schema, err := repo.SchemaOf(ctx, store, "articles")
	fmt.Println(schema.Partition, schema.Sort, schema.Fields["created"], err)
	// Output: [author] [id] time <nil>
}

func ExampleRepo_InsertAll() {
	ctx := context.Background()
	articles := articles(ctx)
	n, err := articles.InsertAll(ctx, func(yield func(Article, error) bool) {
		for _, id := range []string{"a2", "a3", "a4"} { // the first is there already
			if !yield(Article{Author: "ann", ID: id, Topic: "go", Slug: id}, nil) {
				return
			}
		}
	})
	fmt.Println(n, "inserted")
	if failed, ok := errors.AsType[*repo.BatchError](err); ok {
		fmt.Println("record", failed.Failed[0].Index, errors.Is(failed.Failed[0].Err, repo.ErrExists))
	}
	// Output:
	// 2 inserted
	// record 0 true
}

// The answer to a write is lost, and so is the connection for a while: whether it
// was done cannot be known. Later Resolve finds out.
func ExampleRepo_Resolve() {
	ctx := context.Background()
	faulty, err := repotest.New(memory.New(nil), &repotest.Options{Uncertain: true})
	if err != nil {
		panic(err)
	}
	articles, err := repo.Open[Article](ctx, repo.NewStore(faulty, nil), repo.Schema{Collection: "articles", Partition: []string{"author"}, Sort: []string{"id"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	faulty.Set(repotest.Rule{On: repotest.Commit, Fault: repotest.LostAnswer}, repotest.Rule{On: repotest.Get, Fault: repotest.Unavailable})
	err = articles.Insert(ctx, &Article{Author: "ann", ID: "a1"})
	fmt.Println(errors.Is(err, repo.ErrUnknownOutcome))

	faulty.Set() // all is well again
	if failed, ok := errors.AsType[*repo.Error](err); ok {
		fmt.Println(articles.Resolve(ctx, failed.Outcome))
	}
	// Output:
	// true
	// committed <nil>
}

func ExampleRepo_Walk() {
	ctx := context.Background()
	n := 0
	for chunk, err := range articles(ctx).Walk(ctx, "") { // chunk.Mark is from where a later walk goes on
		if err != nil {
			fmt.Println(err)
			return
		}
		n += len(chunk.Items)
	}
	fmt.Println(n, "articles")
	// Output: 3 articles
}

func ExampleRepo_Verify() {
	ctx := context.Background()
	reports, err := articles(ctx).Verify(ctx)
	for _, r := range reports {
		fmt.Println(r.Index, r.Records, "records", r.Rows, "rows", r.Clean())
	}
	fmt.Println(err)
	// Output:
	// by_topic_created_desc 3 records 3 rows true
	// by_slug 3 records 3 rows true
	// <nil>
}
