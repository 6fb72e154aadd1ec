package loadtest

import (
	"context"
	"errors"
	"iter"
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
	old  map[string][]driver.Value // by key: the fields when it was read first
	last []driver.Value            // of the record that was read before

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
	id := row.Key.Partition + "/" + row.Key.Sort
	if s.old[id] == nil {
		s.old[id] = append([]driver.Value{}, row.Fields...)
	}
	row.Fields = s.old[id]
}

// mixed gives each tenth record a field of another one.
func mixed(s *liar, row *driver.Row) {
	own := row.Fields
	if s.n++; s.n%10 == 0 && s.last != nil {
		row.Fields = append([]driver.Value{}, own...)
		for i := range min(len(own), len(s.last)) {
			row.Fields[i] = s.last[i]
		}
		row.Fields[len(own)-1] = own[len(own)-1]
	}
	s.last = own
}

// leavesOut drops a row of a query by an index.
func leavesOut(s *liar, _ *driver.Row) bool {
	s.n++
	return s.n%7 != 0
}

// another gives in the place of a row one of another partition.
func another(s *liar, row *driver.Row) bool {
	own := *row
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
		if q.Checked < 200 || q.Checked != q.CheckedWhole {
			t.Errorf("%s: %d answers checked, %d of them for missing records", q.Name, q.Checked, q.CheckedWhole)
		}
	}
	if !strings.Contains(result.Text, "against what was written") {
		t.Errorf("the text does not tell what was checked:\n%s", result.Text)
	}
}
