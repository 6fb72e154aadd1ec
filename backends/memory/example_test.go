package memory_test

import (
	"fmt"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// The memory backend can be less than it is, to try what a service does on a store
// that changes one partition at a time and may lose an answer.
func ExampleNew() {
	partition := driver.ScopePartition
	store := repo.NewStore(memory.New(&memory.Options{Scope: &partition, Uncertain: true}), nil)
	defer store.Close()
	facts := store.Facts()
	fmt.Println(facts.Name, facts.Scope, facts.Uncertain)
	// Output: memory partition true
}
