package nested_test

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/nested"
)

func Example() {
	type Skill struct {
		Skill string `repo:"skill"`
		Level string `repo:"level"`
	}
	type Resume struct {
		nested.Terms
		Name   string  `repo:"name"`
		Skills []Skill `repo:"skills"`
	}
	ctx := context.Background()
	store := repo.NewStore(memory.New(nil), nil)
	resumes, err := nested.Open[Resume](ctx, store, nested.Schema{
		Records: repo.Schema{Collection: "resumes", Partition: []string{"name"}},
		List:    "skills",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range []Resume{
		{Name: "Ann", Skills: []Skill{{"Math", "excellent"}, {"Poetry", "poor"}}},
		{Name: "Bob", Skills: []Skill{{"Cooking", "poor"}, {"Poetry", "excellent"}}},
	} {
		if err := resumes.Insert(ctx, &r); err != nil {
			fmt.Println(err)
			return
		}
	}
	poets := nested.Where("skill", "Poetry").Where("level", "excellent")
	for r, err := range resumes.Find(ctx, poets) {
		fmt.Println(r.Name, err)
	}
	plan, err := resumes.Explain(poets)
	fmt.Println(plan.Ranges, "ranges", err)
	// Output:
	// Bob <nil>
	// 2 ranges <nil>
}
