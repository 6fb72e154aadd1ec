package loadtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/repo/driver"
)

// A deceiver is a store that deceives during the rounds: it acknowledges commits that it does not do, says that there is
// no such record, repeats rows, or gives records as they were some time ago.
type deceiver struct {
	*watched
	on   atomic.Bool
	n    atomic.Int64
	mu   sync.Mutex
	past map[driver.Key]past

	drops  func(s *deceiver, ops []driver.Op) bool // a commit
	hides  func(s *deceiver, key driver.Key) bool  // a record
	times  map[int]int                             // how often a row of a range by an index is told, by its place; others once
	behind time.Duration                           // for so long a record is as it was before a commit
}

// past is a record as it was before a commit.
type past struct {
	row driver.Row
	at  time.Time
}

// isPosts reports whether a table has the records of the workload.
func isPosts(t *driver.Table) bool {
	return t.Class == driver.Records && strings.HasSuffix(t.Name, "posts")
}

func (s *deceiver) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if !s.on.Load() || len(ops) == 0 || !isPosts(ops[0].Table) {
		return s.watched.Commit(ctx, token, ops)
	}
	if s.drops != nil && s.drops(s, ops) {
		return nil, nil
	}
	if s.behind > 0 {
		rows := make([]driver.Row, 1)
		if err := s.watched.Get(ctx, ops[0].Table, []driver.Key{ops[0].Row.Key}, nil, rows); err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.past[ops[0].Row.Key] = past{rows[0], time.Now()}
	}
	return s.watched.Commit(ctx, token, ops)
}

func (s *deceiver) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	err := s.watched.Get(ctx, t, keys, mask, rows)
	if err != nil || !s.on.Load() || !isPosts(t) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.past[keys[0]]; ok && mask == nil && time.Since(old.at) < s.behind {
		rows[0] = old.row
		rows[0].Fields = slices.Clone(old.row.Fields)
	}
	if s.hides != nil && s.hides(s, keys[0]) {
		rows[0].Reset()
	}
	return nil
}

func (s *deceiver) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	all := s.watched.Range(ctx, span)
	if !s.on.Load() || s.times == nil || span.Table.Class != driver.Rows {
		return all
	}
	return func(yield func(*driver.Row, error) bool) {
		i := 0
		for row, err := range all {
			n, known := s.times[i]
			if i++; err != nil || !known {
				n = 1
			}
			for range n {
				if !yield(row, err) {
					return
				}
			}
		}
	}
}

// each returns what is true of one call in n.
func each[T any](n int64) func(*deceiver, T) bool {
	return func(s *deceiver, _ T) bool { return s.n.Add(1)%n == 0 }
}

// ofVerb returns what is true of commits that begin so.
func ofVerb(do driver.Verb, of func(*deceiver, []driver.Op) bool) func(*deceiver, []driver.Op) bool {
	return func(s *deceiver, ops []driver.Op) bool { return ops[0].Do == do && of(s, ops) }
}

// bad is true of a few keys.
func bad(_ *deceiver, key driver.Key) bool { return strings.Contains(fmt.Sprint(key), "77") }

const (
	reading   = "  - {name: one, weight: 80, kind: get}\n"
	listing   = "  - {name: some, weight: 80, kind: find, where: {category: $}, order: [-created], limit: 5}\n"
	inserting = "  - {name: new, weight: 20, kind: insert}\n"
	updating  = "  - {name: views, weight: 20, kind: update, set: {views: {int: {max: 1000000000}}}}\n"
	byCat     = "models:\n  - {name: m, indexes: [{partition: [author], sort: [category, -created]}]}\n"
)

// deceptions are stores that deceive, with the queries of a workload that has one model, and what is said of them.
var deceptions = []struct {
	name    string
	queries string
	s       *deceiver
	want    []string // one of them
}{
	{"lost inserts", reading + inserting, &deceiver{drops: ofVerb(driver.Put, each[[]driver.Op](10))}, []string{"is missing; it was acknowledged"}},
	{"lost updates", reading + updating, &deceiver{drops: each[[]driver.Op](10)}, []string{"what was written last is"}},
	{"lost deletes", listing + "  - {name: gone, weight: 20, kind: delete}\n", &deceiver{drops: each[[]driver.Op](10)}, []string{"is found, and it is not there"}},
	{"lost groups", listing + "  - {name: several, weight: 20, kind: group, writes: [update, put, delete], set: {views: {int: {max: 1000000000}}}}\n",
		&deceiver{drops: each[[]driver.Op](10)}, []string{"is found, and it is not there", "what was written last is"}},
	{"updates refused", listing + strings.Replace(updating, "kind: update", "kind: modify", 1), &deceiver{hides: each[driver.Key](3)}, []string{"it is not found, and nothing has removed it"}},
	{"a few keys", reading + inserting, &deceiver{hides: bad}, []string{"it is not found, and nothing has removed it"}},
	{"behind by 50 ms", reading + updating, &deceiver{behind: 50 * time.Millisecond}, []string{"what was written last is"}},
	{"one too many", "  - {name: many, weight: 80, kind: count, where: {author: $}, order: [category, -created]}\n" + inserting + byCat,
		&deceiver{times: map[int]int{0: 2}}, []string{"there are at most"}},
	{"one too few in a group", "  - {name: many, weight: 80, kind: groups, by: [category], where: {author: $}, sum: [views], order: [category, -created]}\n" + inserting + byCat,
		&deceiver{times: map[int]int{1: 0}}, []string{"; there are at least", "; it had "}},
	{"another first", "  - {name: newest, weight: 80, kind: firsts, by: [category], where: {author: $}, order: [category, -created]}\n" + inserting + byCat,
		&deceiver{times: map[int]int{0: 0}}, []string{"comes before it", " is missing; it had "}},
}

// What a store does wrongly during the rounds alone is found where there is one model, and nothing to compare it with: at
// the latest when the records are verified. The control is the same workload on a store that does not deceive.
func TestDeceptions(t *testing.T) {
	base := strings.NewReplacer("rate: 200", "rate: 2000", "round: 200ms", "round: 300ms", "count: 200", "count: 1000").Replace(testload.Small)
	base = base[:strings.Index(base, "queries:")] + "queries:\n"
	for _, tt := range deceptions {
		for _, honest := range []bool{false, true} {
			s := &deceiver{watched: newWatched(), past: map[driver.Key]past{}}
			if !honest {
				s.drops, s.hides, s.times, s.behind = tt.s.drops, tt.s.hides, tt.s.times, tt.s.behind
			}
			err := deceive(t, base+tt.queries, s)
			_, wrong := errors.AsType[*failure.WrongAnswers](err)
			if honest && err != nil || !honest && !wrong {
				t.Errorf("%s: %v; honest: %v", tt.name, err, honest)
			}
			if wrong && !slices.ContainsFunc(tt.want, func(want string) bool { return strings.Contains(err.Error(), want) }) {
				t.Errorf("%s: %v, want one of %q", tt.name, err, tt.want)
			}
		}
	}
}

// deceive runs a workload on a store that deceives during the rounds.
func deceive(t *testing.T, text string, s *deceiver) error {
	t.Helper()
	opts := options(s)
	opts.Terminal, opts.Log = true, writerFunc(func(p []byte) (int, error) {
		switch text := string(p); {
		case strings.Contains(text, "round 1 of "):
			s.on.Store(true)
		case strings.Contains(text, "verify the records"):
			s.on.Store(false)
		}
		return len(p), nil
	})
	_, err := Run(t.Context(), mustParse(t, text), opts)
	s.check(t)
	return err
}
