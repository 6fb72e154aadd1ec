package repotest_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repotest"
)

type article struct {
	Author  string       `repo:"author"`
	Topic   string       `repo:"topic"`
	Slug    string       `repo:"slug"`
	Version repo.Version `repo:",version"`
}

// meeting returns a store that notes the faults which calls meet.
func meeting(t *testing.T, scope driver.Scope, met *[]string) *repotest.Store {
	t.Helper()
	store, err := repotest.New(memory.New(&memory.Options{Scope: &scope}), &repotest.Options{
		Uncertain: true,
		Observe: func(e repotest.Event) {
			if e.Fault != repotest.None {
				*met = append(*met, fmt.Sprintf("%s %s %s %s by %s", e.Operation, e.Call, e.Tables[0], e.Fault, e.Rule))
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func openArticles(t *testing.T, store *repotest.Store, collection string) *repo.Repo[article] {
	t.Helper()
	r, err := repo.Open[article](t.Context(), repo.NewStore(store, nil), repo.Schema{Collection: collection, Partition: []string{"author"},
		Indexes: []repo.Index{{Name: "topics", Partition: []string{"topic"}}, {Name: "slugs", Partition: []string{"slug"}, Unique: true}}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A rule that names an operation and a collection hits the same write on every store: on one that
// changes any rows together, and on one that puts rows and claims of indexes before the record.
func TestRulesByOperation(t *testing.T) {
	for _, scope := range []driver.Scope{driver.ScopeStore, driver.ScopePartition} {
		t.Run(scope.String(), func(t *testing.T) {
			ctx := t.Context()
			var met []string
			store := meeting(t, scope, &met)
			articles, others := openArticles(t, store, "articles"), openArticles(t, store, "articles_old")
			err := store.Set(
				repotest.Rule{Name: "other", On: repotest.Commit, Operation: "insert", Collection: "articles", Nth: 2, Fault: repotest.Taken},
				repotest.Rule{Name: "slow writer", On: repotest.Commit, Operation: "replace", Fault: repotest.Conflict},
				repotest.Rule{Operation: "find", Collection: "articles", Fault: repotest.Unavailable},
			)
			if err != nil {
				t.Fatal(err)
			}
			var list []article
			for i, r := range []*repo.Repo[article]{articles, others, others, articles, articles} {
				a := article{Author: fmt.Sprint(i), Topic: "go", Slug: fmt.Sprint(i)}
				if err = r.Insert(ctx, &a); (i == 3) != errors.Is(err, repo.ErrExists) || i != 3 && err != nil {
					t.Errorf("insert %d: %v", i, err)
				}
				if i == 3 && !strings.Contains(err.Error(), `rule "other" of repotest`) {
					t.Errorf("the error does not name its rule: %v", err)
				}
				list = append(list, a)
			}
			list[0].Topic = "java"
			err = articles.Replace(ctx, &list[0])
			if !errors.Is(err, repo.ErrConflict) || errors.Is(err, repo.ErrContention) || !strings.Contains(err.Error(), `rule "slow writer" of repotest`) {
				t.Errorf("replace: %v, want ErrConflict with its rule", err)
			}
			list[0].Version = repo.Version{}
			err = articles.Replace(ctx, &list[0])
			if !errors.Is(err, repo.ErrContention) || !strings.Contains(err.Error(), `rule "slow writer" of repotest`) {
				t.Errorf("replace without a version: %v, want ErrContention with its rule", err)
			}
			_, err = repo.Collect(articles.Find(ctx, repo.Where("topic", "go")))
			if !errors.Is(err, repo.ErrUnavailable) || !strings.Contains(err.Error(), "rule 3 of repotest") {
				t.Errorf("find: %v, want ErrUnavailable with its rule", err)
			}
			if all, err := repo.Collect(others.Find(ctx, repo.Where("topic", "go"))); len(all) != 2 || err != nil {
				t.Errorf("find in another collection: %d, %v", len(all), err)
			}
			want := []string{`insert commit articles taken by rule "other" of repotest`, `replace commit articles conflict by rule "slow writer" of repotest`,
				"find range articles.topics unavailable by rule 3 of repotest"}
			if met = slices.Compact(met); !slices.Equal(met, want) {
				t.Errorf("met\n%s\nwant\n%s", strings.Join(met, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// Every name by which package repo begins an operation is one that a rule may give.
func TestRulesKnowAllOperations(t *testing.T) {
	begins, found := regexp.MustCompile(`(?i)(?:begin|\.put)\((?:ctx, )?"([a-z ]+)"`), 0
	err := filepath.WalkDir("../repo", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, name := range begins.FindAllStringSubmatch(string(text), -1) {
			found++
			if _, err := repotest.New(memory.New(nil), &repotest.Options{Rules: []repotest.Rule{{Operation: name[1]}}}); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		return err
	})
	if err != nil || found < 20 {
		t.Errorf("%d names, %v", found, err)
	}
}
