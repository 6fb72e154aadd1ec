package tree_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// inEach calls check with an empty tree of each strategy, whose nodes have names.
func inEach(t *testing.T, check func(t *testing.T, tr *tree.Tree[category])) {
	for _, k := range kinds() {
		t.Run(k.String(), func(t *testing.T) {
			schema := k.schema()
			schema.Name = "name"
			f := openWith(t, schema)
			tr := f.Tree("fixed")
			check(t, tr)
			if bad, err := tr.Verify(t.Context()); len(bad) > 0 || err != nil {
				t.Error(bad, err)
			}
		})
	}
}

// plant inserts nodes, each "id" or "id<parent", which have their IDs as names.
func plant(t *testing.T, tr *tree.Tree[category], nodes string) {
	t.Helper()
	for _, one := range strings.Fields(nodes) {
		id, parent, _ := strings.Cut(one, "<")
		if err := tr.Insert(t.Context(), tree.Under(parent), &category{Node: tree.Node{ID: id}, Name: id}); err != nil {
			t.Fatal(err)
		}
	}
}

func idsOf(t *testing.T, list []category, err error) (ids []string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range list {
		ids = append(ids, n.ID)
	}
	return ids
}

func beneath(t *testing.T, tr *tree.Tree[category], id string) (ids []string) {
	t.Helper()
	for item, err := range tr.Descendants(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, item.Node.ID)
	}
	return ids
}

// An interval is a row of a table of nested sets.
type interval struct {
	id         string
	start, end int
}

// The table of nested sets, and the one after a value was added below D: a node lies below another one as the
// intervals lie within each other, and comes in the order of the table.
func TestNestedSetTable(t *testing.T) {
	before := []interval{{"A", 1, 24}, {"B", 1, 10}, {"C", 11, 24}, {"D", 1, 6}, {"E", 7, 10}, {"F", 11, 14}, {"G", 15, 24}, {"H", 15, 18}, {"I", 19, 24}}
	after := []interval{{"A", 1, 25}, {"B", 1, 11}, {"C", 12, 25}, {"D", 1, 7}, {"E", 8, 11}, {"F", 12, 15}, {"G", 16, 25}, {"H", 16, 19}, {"I", 20, 25}, {"new", 6, 6}}
	inEach(t, func(t *testing.T, tr *tree.Tree[category]) {
		plant(t, tr, "A B<A C<A D<B E<B F<C G<C H<G I<G")
		asTable(t, tr, before)
		plant(t, tr, "new<D")
		asTable(t, tr, after)
	})
}

func asTable(t *testing.T, tr *tree.Tree[category], rows []interval) {
	t.Helper()
	for _, a := range rows {
		for _, b := range rows {
			want := a != b && b.start <= a.start && a.end <= b.end
			if got, err := tr.IsBelow(t.Context(), a.id, b.id); got != want || err != nil {
				t.Errorf("%s below %s: %v, %v", a.id, b.id, got, err)
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b interval) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	var want []string
	for _, row := range rows {
		want = append(want, row.id)
	}
	if got := beneath(t, tr, ""); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Of the tree of a post, what begins with content1/comments/ is the comments and the replies.
func TestCommentPaths(t *testing.T) {
	inEach(t, func(t *testing.T, tr *tree.Tree[category]) {
		for _, path := range []string{"content1", "content1/comments", "content1/comments/comment1", "content1/comments/comment2",
			"content1/comments/comment3", "content1/comments/comment1/comment1"} {
			parent, name := "", path
			if i := strings.LastIndex(path, "/"); i >= 0 {
				parent, name = path[:i], path[i+1:]
			}
			if err := tr.Insert(t.Context(), tree.Under(parent), &category{Node: tree.Node{ID: path}, Name: name}); err != nil {
				t.Fatal(err)
			}
		}
		comments, err := tr.Find(t.Context(), "content1", "comments")
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"content1/comments/comment1", "content1/comments/comment1/comment1", "content1/comments/comment2", "content1/comments/comment3"}
		if got := beneath(t, tr, comments.ID); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if n, err := tr.Count(t.Context(), comments.ID); n != 4 || err != nil {
			t.Error(n, err)
		}
	})
}

// The path of category 5 is 1/2/5, and 1 has the children 2, 3 and 4.
func TestCategoryPath(t *testing.T) {
	inEach(t, func(t *testing.T, tr *tree.Tree[category]) {
		plant(t, tr, "1 2<1 3<1 4<1 5<2 6<2")
		above, err := tr.Ancestors(t.Context(), "5")
		if got := strings.Join(append(idsOf(t, above, err), "5"), "/"); got != "1/2/5" {
			t.Errorf("the path of 5 is %s", got)
		}
		children, err := repo.Collect(tr.Children(t.Context(), "1"))
		if got := idsOf(t, children, err); !slices.Equal(got, []string{"2", "3", "4"}) {
			t.Errorf("the children of 1 are %q", got)
		}
	})
}

// The tree of jobs: all of IT, all of IT:data, and one position.
func TestJobs(t *testing.T) {
	inEach(t, func(t *testing.T, tr *tree.Tree[category]) {
		plant(t, tr, "IT data<IT data_engineer<data data_scientist<data mobile<IT web<IT frontend<web server<web marketing")
		for id, want := range map[string]string{
			"IT":   "[data data_engineer data_scientist mobile web frontend server]",
			"data": "[data_engineer data_scientist]",
		} {
			if got := fmt.Sprint(beneath(t, tr, id)); got != want {
				t.Errorf("below %s: %s, want %s", id, got, want)
			}
		}
		if job, err := tr.Find(t.Context(), "IT", "data", "data_engineer"); err != nil || job.ID != "data_engineer" {
			t.Error(job, err)
		}
	})
}
