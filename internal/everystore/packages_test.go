package everystore

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/graph"
	"github.com/polystore/polystore/repo/nested"
)

type skill struct {
	Skill string `repo:"skill"`
	Level string `repo:"level"`
}

type resume struct {
	nested.Terms
	Name   string  `repo:"name"`
	Skills []skill `repo:"skills"`
}

// One sub-object meets both conditions; two that meet one each do not.
func TestNested(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		for _, how := range []nested.Strategy{nested.Numbered, nested.Proximity} {
			resumes := good(nested.Open[resume](t.Context(), store, nested.Schema{
				Records: repo.Schema{Collection: "resumes_" + strings.ToLower(fmt.Sprint(how)), Partition: []string{"name"}}, List: "skills", Strategy: how,
			}))(t)
			for _, r := range []resume{
				{Name: "Ann", Skills: []skill{{"Math", "excellent"}, {"Poetry", "poor"}}},
				{Name: "Bob", Skills: []skill{{"Cooking", "poor"}, {"Poetry", "excellent"}}},
			} {
				must(t, resumes.Insert(t.Context(), &r))
			}
			found := good(repo.Collect(resumes.Find(t.Context(), nested.Where("skill", "Poetry").Where("level", "excellent"))))(t)
			if len(found) != 1 || found[0].Name != "Bob" {
				t.Errorf("%v: %v are excellent poets", how, found)
			}
		}
	})
}

type edge struct {
	From string `repo:"from"`
	To   string `repo:"to"`
}

func TestGraph(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		ctx := t.Context()
		edges := good(repo.Open[edge](ctx, store, repo.Schema{
			Collection: "edges", Partition: []string{"from"}, Sort: []string{"to"}, Indexes: []repo.Index{{Partition: []string{"to"}}},
		}))(t)
		for _, e := range []edge{{"a", "b"}, {"a", "c"}, {"b", "d"}, {"c", "d"}, {"d", "e"}, {"f", "g"}} {
			must(t, edges.Insert(ctx, &e))
		}
		g := good(graph.OfEdges(edges, graph.Edges[edge]{From: "from", To: "to", Ends: func(e *edge) (from, to string) { return e.From, e.To }}))(t)
		path := good(g.ShortestPath(ctx, "a", "e"))(t)
		parts := good(g.Components(ctx))(t)
		if len(path) != 4 || fmt.Sprint(parts) != "[[a b c d e] [f g]]" {
			t.Errorf("the path is %v, the components are %v", path, parts)
		}
		must(t, edges.Insert(ctx, &edge{"e", "b"}))
		if cycle := good(g.Cycle(ctx))(t); !slices.Contains(cycle, "d") {
			t.Errorf("the cycle is %v", cycle)
		}
	})
}

type oldNote struct {
	ID     string `repo:"id"`
	Text   string `repo:"text"`
	Format int    `repo:"format"`
}

type note struct {
	oldNote
	Words int64 `repo:"words"`
}

func (n *note) Format() (*int, int) { return &n.oldNote.Format, 1 }

func (n *note) Upgrade(int) error {
	n.Words = int64(len(strings.Fields(n.Text)))
	return nil
}

// Records of an older format are upgraded when they are read, and by a walk in the background.
func TestUpgraded(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		ctx, schema := t.Context(), repo.Schema{Collection: "notes", Partition: []string{"id"}}
		notes := good(repo.Open[note](ctx, store, schema))(t)
		old := good(repo.Open[oldNote](ctx, store, schema))(t)
		for n := range 5 {
			must(t, old.Insert(ctx, &oldNote{ID: fmt.Sprint(n), Text: strings.Repeat("word ", n)}))
		}
		if n := good(notes.Get(ctx, repo.Key{"3"}))(t); n.Words != 3 || n.oldNote.Format != 1 {
			t.Errorf("got %+v", n)
		}
		upgraded := 0
		for step, err := range notes.Upgrade(ctx, "") {
			must(t, err)
			upgraded += step.Written
		}
		stored := good(old.Get(ctx, repo.Key{"4"}))(t)
		if upgraded != 5 || stored.Format != 1 {
			t.Errorf("%d records were upgraded; one is stored as %+v", upgraded, stored)
		}
	})
}
