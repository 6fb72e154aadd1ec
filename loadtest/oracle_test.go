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

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/repo/driver"
)

// A liar gives wrong answers once the rounds have begun.
type liar struct {
	*watched
	lies atomic.Bool
	mu   sync.Mutex
	n    int
	old  map[string][]driver.Value // by key and mask: the fields when it was read first
	last []driver.Value            // of the record that was read before
	id   string                    // of what is read

	other *driver.Row // that was read before

	get func(s *liar, row *driver.Row)
	row func(s *liar, row *driver.Row) bool // whether it is told
}

func (s *liar) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	err := s.watched.Get(ctx, t, keys, mask, rows)
	if err != nil || t.Class != driver.Records || s.get == nil || !s.lies.Load() || len(rows[0].Fields) == 0 {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id = fmt.Sprint(keys[0], mask)
	s.get(s, &rows[0])
	return nil
}

func (s *liar) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	all := s.watched.Range(ctx, span)
	if span.Table.Class != driver.Rows || s.row == nil || !s.lies.Load() {
		return all
	}
	return func(yield func(*driver.Row, error) bool) {
		for row, err := range all {
			if err == nil {
				own := *row
				row = &own
				s.mu.Lock()
				told := s.row(s, row)
				s.mu.Unlock()
				if !told {
					continue
				}
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// stale gives a record as it was when it was read first.
func stale(s *liar, row *driver.Row) {
	if s.old[s.id] == nil {
		s.old[s.id] = slices.Clone(row.Fields)
	}
	row.Fields = slices.Clone(s.old[s.id]) // the next read writes into it
}

// mixed gives each tenth record a field of another one.
func mixed(s *liar, row *driver.Row) {
	own := row.Fields
	if s.n++; s.n%10 == 0 && s.last != nil {
		row.Fields = slices.Clone(own)
		for i := range min(len(own), len(s.last)) {
			row.Fields[i] = s.last[i]
		}
		row.Fields[len(own)-1] = own[len(own)-1]
	}
	s.last = slices.Clone(own)
}

// leavesOut drops a row of a query by an index.
func leavesOut(s *liar, _ *driver.Row) bool {
	s.n++
	return s.n%7 != 0
}

// another gives in the place of a row one of another partition.
func another(s *liar, row *driver.Row) bool {
	own := *row
	own.Fields, own.Extra, own.Ring = slices.Clone(row.Fields), slices.Clone(row.Extra), slices.Clone(row.Ring) // the store uses its own again
	if s.n++; s.other != nil && s.other.Key.Partition != own.Key.Partition {
		*row = *s.other
	}
	s.other = &own
	return true
}

// What a store answers wrongly during the rounds alone is found, and told with the call, the candidate and the difference.
func TestWrongAnswersDuringTheRounds(t *testing.T) {
	text := strings.NewReplacer("rate: 200", "rate: 4000", "round: 200ms", "round: 500ms").Replace(testload.Small[:strings.Index(testload.Small, "models:")])
	for _, tt := range []struct {
		name string
		s    *liar
		want []string
	}{
		{"stale", &liar{get: stale}, []string{"one post (get ", "views of ", "what was written last is "}},
		{"left out", &liar{row: leavesOut}, []string{"of a category (find ", " is missing; it was there during the call", "at least"}},
		{"no match", &liar{row: another}, []string{" is found, and its category is "}},
		{"mixed", &liar{get: mixed}, []string{"one post (get ", " as declared: "}},
		{"stale list", &liar{get: stale}, []string{"; its element ", " elements, where ", "what was written last is "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.s
			s.watched, s.old = newWatched(), map[string][]driver.Value{}
			opts := options(s)
			opts.Terminal, opts.Log = true, writerFunc(func(p []byte) (int, error) {
				if strings.Contains(string(p), "round 1 of 1") {
					s.lies.Store(true)
				}
				return len(p), nil
			})
			text := text
			if tt.name == "stale list" {
				text = strings.NewReplacer("add: {views: 1}", "draw: zipf, push: {tags: {of: {sequence: 1, pattern: \"t%d\"}, cap: 3}}").Replace(text)
			}
			result, err := Run(t.Context(), mustParse(t, text), opts)
			if _, ok := errors.AsType[*failure.WrongAnswers](err); !ok || result == nil || result.Exit != Wrong || len(result.Verdicts) > 0 {
				t.Fatalf("%v, want wrong answers, and a result without a verdict", err)
			}
			found := false
			for _, want := range tt.want {
				found = found || strings.Contains(err.Error(), want)
			}
			if !found || !strings.Contains(err.Error(), "as declared: ") {
				t.Errorf("%v, want one of %q", err, tt.want)
			}
			s.check(t)
		})
	}
}

// What was checked is told.
func TestCheckedAnswersAreTold(t *testing.T) {
	result, err := Run(t.Context(), mustParse(t, testload.Small), options(newWatched()))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range result.Candidates[0].Queries[:4] {
		if q.Checked < min(200, int(q.Calls)/2) || q.Checked == 0 || q.Checked != q.CheckedWhole { // a busy machine makes fewer calls
			t.Errorf("%s: %d answers of %d calls checked, %d of them for missing records", q.Name, q.Checked, q.Calls, q.CheckedWhole)
		}
	}
	if !strings.Contains(result.Text, "against what was written") {
		t.Errorf("the text does not tell what was checked:\n%s", result.Text)
	}
}

// Lists that grow are checked like all else: pushes by each kind of change, to loaded and to inserted records.
func TestListsThatGrow(t *testing.T) {
	text := strings.NewReplacer("rate: 200", "rate: 4000", "rounds: 1", "rounds: 2", "tags: list,", "tags: list, seen: list, likes: list,", "one post, weight: 40, kind: get, draw: zipf", "one post, weight: 40, kind: get, draw: latest",
		"kind: update, add: {views: 1}", "kind: update, draw: latest, push: {tags: {of: {int: {max: 99}, pattern: \"t%d\"}, cap: 4}, seen: {of: $category, cap: 3, front: true}}",
		"kind: move, set: {category: $}", "kind: modify, draw: zipf, push: {likes: {of: {map: {by: {words: {}}}}}}",
		"{name: ids, weight: 10, kind: find, where: {author: $}, prefix: {field: id, chars: 3}}",
		"{name: ids, weight: 10, kind: group, draw: zipf, records: 3, push: {tags: {of: x, cap: 4}}}").Replace(testload.Small[:strings.Index(testload.Small, "  - {name: scan")])
	result, err := Run(t.Context(), mustParse(t, text), options(newWatched()))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range result.Candidates {
		if q := c.Queries[0]; c.Failures > 0 || q.Checked < 100 {
			t.Errorf("%s: %s; %d answers of %s were checked", c.Name, c.Failure, q.Checked, q.Name)
		}
	}
}
