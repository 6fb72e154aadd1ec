package sequence_test

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/sequence"
)

// Tickets of projects have numbers in the order of their creation.
func Example() {
	type Ticket struct {
		Project string `repo:"project"`
		N       int64  `repo:"n"`
		Title   string `repo:"title"`
	}
	ctx := context.Background()
	store := repo.NewStore(memory.New(nil), nil)
	tickets, err := repo.Open[Ticket](ctx, store, repo.Schema{Collection: "tickets", Partition: []string{"project"}, Sort: []string{"n"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	numbers, err := sequence.Open(ctx, store, "numbers")
	if err != nil {
		fmt.Println(err)
		return
	}
	seq, err := numbers.Sequence("tickets.web", &sequence.Options{First: 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, title := range []string{"Login fails", "Slow page", "Typo"} {
		n, err := seq.Next(ctx)
		if err == nil {
			err = tickets.Insert(ctx, &Ticket{"web", n, title})
		}
		if err != nil {
			fmt.Println(err)
			return
		}
	}

	web := repo.Where("project", "web")
	after, err := repo.Collect(tickets.Find(ctx, web.Above("n", 100).Order("n").Limit(1)))
	fmt.Println("after 100:", after, err)
	before, err := repo.Collect(tickets.Find(ctx, web.Below("n", 102).Order("-n").Limit(1)))
	fmt.Println("before 102:", before, err)
	after, err = repo.Collect(tickets.Find(ctx, web.Above("n", 102).Order("n").Limit(1)))
	fmt.Println("after 102:", after, err)
	n, err := seq.Peek(ctx)
	fmt.Println("to come:", n, err)
	// Output:
	// after 100: [{web 101 Slow page}] <nil>
	// before 102: [{web 101 Slow page}] <nil>
	// after 102: [] <nil>
	// to come: 103 <nil>
}
