package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/internal/process"
	"github.com/polystore/polystore/repo"
)

// Each run has a collection of its own in each store, made before all others and removed after
// them. Its one record says whose the others are, so that what a killed run left can be found,
// and told from what anybody else put into the store. The names of all begin alike.

// Namespace returns the beginning of collection names that nobody has.
func Namespace() string { return "load_" + strings.ToLower(rand.Text()[:10]) }

// CandidateSpace returns the beginning of the collection names of the n-th candidate of a run.
func CandidateSpace(run string, n int) string { return fmt.Sprintf("%s%02d_", run, n) }

// TagSuffix ends the name of the collection that says whose the others are.
const TagSuffix = "_run"

var (
	tagName   = regexp.MustCompile(`^load_[a-z2-7]{10}` + TagSuffix + `$`)
	spaceTail = regexp.MustCompile(`^[0-9]{2,}_`)
)

// TagSchema returns the schema of the collection that says whose the others are.
func TagSchema(name string) repo.Schema {
	return repo.Schema{Collection: name, Partition: []string{"run"},
		Fields: map[string]string{"run": "string", "host": "string", "process": "int", "mark": "string", "began": "time"}}
}

// Tag says in the store whose the collections of this run are.
func (s *Store) Tag(ctx context.Context, run string, began time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // close knows what was made, so that is made to the end
	s.Tagged = run + TagSuffix
	r, err := repo.Open[map[string]any](ctx, s.Repo, TagSchema(s.Tagged))
	if err != nil {
		return err
	}
	tag := tagRecord(run, began)
	return r.Insert(ctx, &tag)
}

func tagRecord(run string, began time.Time) map[string]any {
	host, _ := os.Hostname() // without a name it is that of nobody
	return map[string]any{"run": run, "host": host, "process": int64(os.Getpid()), "mark": process.Mark(os.Getpid()), "began": began}
}

// Untag removes what says whose the collections of this run are, after those that were not made
// to the end unless all are kept.
func (s *Store) Untag(ctx context.Context, keep bool) error {
	names := []string{s.Tagged}
	if !keep {
		all, err := repo.Collections(ctx, s.Repo)
		if err != nil {
			return err
		}
		names = collectionsOf(strings.TrimSuffix(s.Tagged, TagSuffix), all)
	}
	return s.dropRun(ctx, names)
}

// dropRun removes the collections of a run, and its tag when the others are gone.
func (s *Store) dropRun(ctx context.Context, names []string) error {
	tag := len(names) - 1
	if _, err := s.Drop(ctx, names[:tag]); err != nil {
		return err
	}
	_, err := s.Drop(ctx, names[tag:])
	return err
}

// collectionsOf returns those of the collections that a run made: what says which it kept, what its shares do, and its tag, last.
func collectionsOf(run string, all []string) []string {
	var names []string
	for _, name := range all {
		if tail, ok := strings.CutPrefix(name, run); ok && spaceTail.MatchString(tail) {
			names = append(names, name)
		}
	}
	if slices.Contains(all, run+KeptSuffix) {
		names = append(names, run+KeptSuffix)
	}
	if slices.Contains(all, run+ShareSuffix) {
		names = append(names, run+ShareSuffix)
	}
	return append(names, run+TagSuffix)
}
