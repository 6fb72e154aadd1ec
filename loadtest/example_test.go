package loadtest_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/loadtest"
)

const notes = `
workload: notes
rate: 500
rounds: 1 # too short to tell anything
round: 200ms
collections:
  - collection: notes
    partition: [owner]
    sort: [id]
    fields: {owner: string, id: int, topic: string}
    indexes: [{partition: [topic], sort: [id], covers: ["*"]}]
    data:
      count: 300
      fields:
        owner: {int: {min: 1, max: 9}, pattern: "owner-%d"}
        id: {sequence: 1}
        topic: {choice: [go, sea, sky]}
queries:
  - {name: a note, weight: 60, kind: get, objectives: {p99: 10ms}}
  - {name: of a topic, weight: 40, kind: find, where: {topic: $}, order: [id], limit: 10, objectives: {p99: 10ms}}
models:
  - {name: covering}
  - {name: keys only, covers: []}
`

func ExampleRun() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "notes.yaml")
	if err := os.WriteFile(file, []byte(notes), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	w, err := loadtest.Load(file)
	if err != nil {
		fmt.Println(err) // each fault with its line and column
		return
	}
	result, err := loadtest.Run(context.Background(), w, loadtest.Options{Open: backends.OpenDriver, On: []string{"memory:"}, Log: io.Discard})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range result.Candidates { // the verdict is in result.Text
		fmt.Println(c.Model, c.Failures, "failures")
	}
	// Output:
	// covering 0 failures
	// keys only 0 failures
}
