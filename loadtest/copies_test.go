package loadtest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/repo/driver"
)

// partitioned is a store that changes one partition at a time.
func partitioned() *watched {
	scope := driver.ScopePartition
	return &watched{Store: memory.New(&memory.Options{Scope: &scope}), tables: map[string]bool{}}
}

// Joins and copies give the same answers, where one commit has records and those of which they have copies, and where
// none has. What they cost follows from what they keep.
func TestCopies(t *testing.T) {
	for name, s := range map[string]*watched{"whole": newWatched(), "partitioned": partitioned()} {
		result, err := Run(t.Context(), mustParse(t, testload.Authors), options(s))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		s.check(t)
		trips, requests := map[string]float64{}, map[string]float64{}
		for _, c := range result.Candidates {
			if c.Failures > 0 {
				t.Errorf("%s: %s: %d failures, the first: %s", name, c.Name, c.Failures, c.Failure)
			}
			for _, q := range c.Queries {
				trips[c.Name+", "+q.Name], requests[c.Name+", "+q.Name] = q.TripsEach, q.RequestsEach
				if q.SampledCalls == 0 || !strings.Contains(q.Name, "gone") && 2*q.SampledNoEffect > q.SampledCalls {
					t.Errorf("%s: %s: %d of %d sampled calls of %s did nothing", name, c.Name, q.SampledNoEffect, q.SampledCalls, q.Name)
				}
			}
		}
		for _, q := range []string{"newest", "post"} {
			if trips["copies, "+q] >= trips["join, "+q] {
				t.Errorf("%s: a call of %s takes %v trips with copies, and %v without", name, q, trips["copies, "+q], trips["join, "+q])
			}
		}
		if requests["copies, rename"] <= requests["join, rename"] || requests["copies, liked"] != requests["join, liked"] || requests["copies, other title"] != requests["join, other title"] {
			t.Errorf("%s: requests: %v", name, requests)
		}
		if trips["copies, post and town"] <= trips["two copies, post and town"] || trips["copies, plain"] != trips["join, plain"] {
			t.Errorf("%s: trips: %v", name, trips)
		}
	}
}

// A laggard acknowledges commits once the rounds have begun, and does nothing of them in posts: copies never follow.
type laggard struct {
	*watched
	on atomic.Bool
}

func (s *laggard) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if s.on.Load() {
		ops = slices.DeleteFunc(slices.Clone(ops), func(op driver.Op) bool { return strings.Contains(op.Table.Name, "_posts") })
	}
	if len(ops) == 0 {
		return nil, nil
	}
	return s.watched.Commit(ctx, token, ops)
}

// Copies that lag for ever are found in the answers, and by a last look at all records where no answer has them. The
// control is the same workload on a store where they follow, and the model that keeps none.
func TestCopiesThatLag(t *testing.T) {
	text := testload.Authors[:strings.Index(testload.Authors, "  - {name: newest")]
	const (
		find    = "  - {name: newest, weight: 60, kind: find, collection: posts, where: {category: $}, order: [-created], limit: 10, join: {author: {from: users, take: [name]}}}\n"
		get     = "  - {name: post, weight: 60, kind: get, collection: posts, join: {author: {from: users, take: [name]}}}\n"
		journey = "  - {name: post, weight: 0, kind: get, collection: posts, join: {author: {from: users, take: [name]}}}\n  - {name: user, weight: 60, kind: get, collection: users}\n"
		rename  = "  - {name: rename, weight: 40, kind: update, collection: users, draw: zipf, set: {name: {text: {size: 9}}}}\n"
		plain   = "models:\n  - name: join\n"
		kept    = "models:\n  - {name: copies, collections: {posts: {copies: {author: [name]}}}}\n"
	)
	for _, tt := range []struct{ name, queries, models, want string }{
		{"found", find + rename, kept, "newest (find "},
		{"by key", get + rename, kept, "post (get "},
		{"not read", journey + rename, kept, "after the rounds: copies: "},
		{"without copies", find + rename, plain, ""},
	} {
		for _, make := range []func() *watched{newWatched, partitioned} {
			for _, lags := range []bool{true, false} {
				s := &laggard{watched: make()}
				opts := options(s)
				opts.Terminal, opts.Log = true, writerFunc(func(p []byte) (int, error) {
					if strings.Contains(string(p), "round 1 of ") {
						s.on.Store(lags)
					}
					return len(p), nil
				})
				_, err := Run(t.Context(), mustParse(t, text+tt.queries+tt.models), opts)
				_, wrong := errors.AsType[*failure.WrongAnswers](err)
				if found := lags && tt.want != ""; wrong != found || !wrong && err != nil {
					t.Errorf("%s: lags %v: %v", tt.name, lags, err)
				} else if found && (!strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "of users, and author.name is ") || !strings.Contains(err.Error(), "; what was written last is ")) {
					t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
				}
			}
		}
	}
}

// Data with copies are kept and taken again: copies are put back with the records that they are in.
func TestKeptCopies(t *testing.T) {
	text := strings.Replace(testload.Authors[:strings.Index(testload.Authors, "queries:")], "round: 200ms", "round: 100ms", 1) + `queries:
  - {name: post, weight: 50, kind: get, collection: posts, join: {author: {from: users, take: [name]}}}
  - {name: rename, weight: 20, kind: update, collection: users, draw: zipf, set: {name: $}}
  - {name: user gone, weight: 5, kind: delete, collection: users, misses: true}
  - {name: new user, weight: 5, kind: insert, collection: users}
  - {name: new post, weight: 10, kind: insert, collection: posts}
  - {name: other author, weight: 10, kind: modify, collection: posts, set: {author: $}}
models:
  - {name: copies, collections: {posts: {copies: {author: [name]}}}}
`
	for name, w := range map[string]*watched{"whole": newWatched(), "partitioned": partitioned()} {
		s := lasting{w}
		holds(t, keeping(t, s, text, keep), []string{"load posts into copies", "kept copies: load_", "_users_due"}, []string{"not for --reuse"})
		holds(t, keeping(t, s, text, reuse), []string{"reuse copies, "}, []string{"load posts", "not for --reuse"})
		other := strings.Replace(text, "{author: [name]}", "{author: [name, likes]}", 1)
		holds(t, keeping(t, s, other, reuse), []string{"load copies anew: ", "the model keeps its collections in another way now"}, nil)
		holds(t, keeping(t, s, text, reuse), []string{"reuse copies, "}, nil)
		cleaned(t, s, true)
		if len(w.tables) != 0 {
			t.Errorf("%s: left: %v", name, w.tables)
		}
	}
}

// Copies that no index finds are refused before anything is written, with the index that would find them.
func TestCopiesWithoutAnIndex(t *testing.T) {
	text := strings.Replace(testload.Authors, "      - {partition: [author], sort: [category, id]}\n", "", 1)
	s := newWatched()
	_, err := Run(t.Context(), mustParse(t, text), options(s))
	if _, ok := errors.AsType[failure.Faults](err); !ok || !strings.Contains(err.Error(), "model copies: nothing finds the records of posts that have copies of one of users: ") || !strings.Contains(err.Error(), `{partition: ["author"]`) {
		t.Errorf("%v", err)
	}
	s.check(t)
}
