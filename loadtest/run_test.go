package loadtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/loadtest/internal/candidate"
	"github.com/polystore/polystore/loadtest/internal/data"
	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/progress"
	"github.com/polystore/polystore/loadtest/internal/store"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo/driver"
)

// A watched store notes the tables that are made and dropped.
type watched struct {
	driver.Store
	mu     sync.Mutex
	tables map[string]bool
	closed bool
}

func newWatched() *watched { return &watched{Store: memory.New(nil), tables: map[string]bool{}} }

func (s *watched) Define(ctx context.Context, tables []*driver.Table) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range tables {
		if !strings.HasPrefix(t.Name, "_") {
			s.tables[t.Name] = true
		}
	}
	return s.Store.Define(ctx, tables)
}

func (s *watched) Drop(ctx context.Context, tables []*driver.Table) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range tables {
		delete(s.tables, t.Name)
	}
	return s.Store.Drop(ctx, tables)
}

func (s *watched) Size(ctx context.Context, t *driver.Table) (int64, error) {
	return s.Store.(driver.Sizer).Size(ctx, t)
}

func (s *watched) Close() error {
	s.closed = true
	return s.Store.Close()
}

func (s *watched) check(t *testing.T) {
	t.Helper()
	if len(s.tables) > 0 || !s.closed {
		t.Errorf("left behind: tables %v, closed %v", s.tables, s.closed)
	}
}

func options(s driver.Store) Options {
	return Options{On: []string{"memory:"}, Open: func(context.Context, string) (driver.Store, error) { return s, nil }}
}

func TestRun(t *testing.T) {
	s := newWatched()
	var log bytes.Buffer
	opts := options(s)
	opts.Log, opts.Again = &log, "polystore load small.yaml"
	result, err := Run(t.Context(), mustParse(t, testload.Small), opts)
	if err != nil {
		t.Fatal(err)
	}
	s.check(t)
	checkReport(t, result)
	if len(result.Phases) != 6 || result.Phases[0].Name != "load" || result.Phases[2].Told < 300*time.Millisecond {
		t.Errorf("phases %v", result.Phases)
	}
	if len(result.Candidates) != 3 || result.Compared == 0 || len(result.Verdicts) != 1 {
		t.Fatalf("%d candidates, %d calls compared, %d verdicts", len(result.Candidates), result.Compared, len(result.Verdicts))
	}
	for _, c := range result.Candidates {
		total := int64(0)
		for _, q := range c.Queries {
			total += q.Calls
			h, err := hdrhistogram.Decode([]byte(q.Histograms["response"]))
			if err != nil || h.TotalCount() != q.Calls {
				t.Errorf("%s: histogram of %s: %v", c.Name, q.Name, err)
			}
		}
		if total != 40 || len(c.Rounds) != 1 || c.Rounds[0].Ops != 40 || c.Failures != 0 {
			t.Errorf("%s: %d calls in %d rounds, %d failures (%s), want 40", c.Name, total, len(c.Rounds), c.Failures, c.Failure)
		}
		if c.RecordBytes <= 0 || (c.Model == "scan") != (c.IndexBytes == 0) {
			t.Errorf("%s: %d bytes of records, %d of indexes", c.Name, c.RecordBytes, c.IndexBytes)
		}
	}
	covering, keysOnly, scan := result.Candidates[0].Queries[1], result.Candidates[1].Queries[1], result.Candidates[2].Queries[1]
	if covering.RequestsEach != 1 || keysOnly.RequestsEach != 11 || !scan.Scans || scan.RowsEach < 190 {
		t.Errorf("requests of a covered query %v, by keys %v, rows of a scan %v; want 1, 11, 200",
			covering.RequestsEach, keysOnly.RequestsEach, scan.RowsEach)
	}
	for _, want := range []string{"load posts into covering: 200 records", "compare answers", "about "} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("log has no %q:\n%s", want, log.String())
		}
	}
}

// checkReport reports whether the text can be made again of the result file.
func checkReport(t *testing.T, result *Result) {
	t.Helper()
	file, err := result.Save(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	again, err := ReadResult(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(result.Text, again.Text); diff != "" {
		t.Errorf("the text of the run -, of its file +\n%s", diff)
	}
}

func TestResultIsKept(t *testing.T) {
	result, err := Run(t.Context(), mustParse(t, testload.Small), options(newWatched()))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "runs")
	for _, want := range []string{"small-3/result.json", "small-3.2/result.json"} {
		file, err := result.Save(dir)
		if err != nil || file != filepath.Join(dir, filepath.FromSlash(want)) {
			t.Fatalf("Save: %s, %v, want %s", file, err, want)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var again Result
		if err := json.Unmarshal(text, &again); err != nil || again.Seed != 3 || len(again.Candidates) != 3 || again.Text != result.Text {
			t.Errorf("read again: %v", err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := result.Save(filepath.Join(dir, "file")); err == nil {
		t.Error("Save into a file that is no folder succeeds")
	}
}

// A lossy store forgets now and then the row of an index.
type lossy struct {
	*watched
	n atomic.Int64
}

func (s *lossy) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	var kept []driver.Op
	for _, op := range ops {
		if op.Table.Class == driver.Rows && op.Do == driver.Put {
			if s.n.Add(1)%50 == 0 {
				continue
			}
		}
		kept = append(kept, op)
	}
	return s.watched.Commit(ctx, token, kept)
}

func TestWrongAnswersAreFound(t *testing.T) {
	s := &lossy{watched: newWatched()}
	_, err := Run(t.Context(), mustParse(t, testload.Small), options(s))
	var wrong *failure.WrongAnswers
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "covering and ") {
		t.Errorf("got %v, want WrongAnswers that names the models", err)
	}
	s.check(t)
}

// With one model there is nothing to compare with; the answers still must be those of the data.
func TestLostRowsAreFoundInOneModel(t *testing.T) {
	text := testload.Small[:strings.Index(testload.Small, "models:")]
	_, err := Run(t.Context(), mustParse(t, text), options(&lossy{watched: newWatched()}))
	if _, ok := errors.AsType[*failure.WrongAnswers](err); !ok || !strings.Contains(err.Error(), "as declared: ") {
		t.Errorf("got %v, want WrongAnswers that names the model", err)
	}
}

// Indexes that no query asks still must agree with the records.
func TestLostRowsThatNobodyAsksForAreFound(t *testing.T) {
	s := &lossy{watched: newWatched()}
	text := testload.Small[:strings.Index(testload.Small, "models:")]
	text = strings.Replace(text, "name: one post, weight: 40", "name: one post, weight: 70", 1)
	for _, name := range []string{"of a category", "with a tag"} {
		before, after, _ := strings.Cut(text, "  - {name: "+name)
		_, after, _ = strings.Cut(after, "\n")
		text = before + after
	}
	result, err := Run(t.Context(), mustParse(t, text), options(s))
	var wrong *failure.WrongAnswers
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "does not agree with its records") {
		t.Errorf("got %v, want WrongAnswers about an index", err)
	}
	if result == nil || !result.Wrong || result.Exit != Wrong || len(result.Verdicts) > 0 || !strings.Contains(result.Text, "No verdict: wrong answers: ") || strings.Contains(result.Text, "agree with their records") {
		t.Errorf("of wrong answers after the rounds there is no result that says so: %+v", result)
	}
}

// Whenever the run is interrupted, nothing is left behind.
func TestInterruptedRunLeavesNothing(t *testing.T) {
	for _, after := range []string{"read posts", "load posts into keys only", "compare answers", "measure"} {
		ctx, cancel := context.WithCancel(t.Context())
		s := newWatched()
		opts := options(s)
		opts.Log = writerFunc(func(p []byte) (int, error) {
			if strings.HasPrefix(string(p), after) {
				cancel()
			}
			return len(p), nil
		})
		if _, err := Run(ctx, mustParse(t, testload.Small), opts); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted after %q: %v, want context.Canceled", after, err)
		}
		if len(s.tables) > 0 {
			t.Errorf("interrupted after %q: tables %v are left", after, s.tables)
		}
		cancel()
	}
}

// A cancelling store interrupts the run while it makes its n-th table.
type cancelling struct {
	*watched
	n      atomic.Int64 // tables still to be made
	cancel func()
}

func (s *cancelling) Define(ctx context.Context, tables []*driver.Table) error {
	err := s.watched.Define(ctx, tables)
	if s.n.Add(-1) == 0 {
		s.cancel()
	}
	return err
}

func (s *cancelling) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.watched.Commit(ctx, token, ops)
}

// Models may keep records under other keys, and give the same answers.
func TestModelsWithOtherKeys(t *testing.T) {
	text := strings.Replace(testload.Small, "{name: other category, weight: 5, kind: move, set: {category: $}}",
		"{name: later, weight: 2, kind: move, set: {created: $}}\n  - {name: gone, weight: 2, kind: delete}\n  - {name: there, weight: 1, kind: exists}", 1)
	text += `  - name: by category
    partition: [category]
    sort: [-created, id]
    indexes: [{partition: ["tags[]"], sort: [-created]}, {partition: [author], sort: [id]}]
`
	moved := strings.Replace(text, "kind: move, set: {created: $}", "kind: update, set: {views: 7}", 1)
	result, err := Run(t.Context(), mustParse(t, moved), options(newWatched()))
	if err != nil || len(result.Candidates) != 4 || result.Compared < 100 {
		t.Fatalf("%+v, %v", result, err)
	}
	spread := map[string]int{}
	for _, s := range result.Spreads {
		spread[s.Model+" "+strings.Join(s.Partition, ",")] = s.Partitions
	}
	if len(spread) != 4 || spread["by category category"] != 2 || spread["covering author"] != 9 {
		t.Errorf("spread %v", spread)
	}
	if _, err := workload.Parse("small.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), "query later changes it") {
		t.Errorf("a move of a field of the key: %v", err)
	}
	few := strings.Replace(moved, "sort: [-created, id]", "sort: [views]", 1)
	few = strings.Replace(few, "kind: update, set: {views: 7}", "kind: update, set: {tags: {list: {of: {choice: [go]}}}}", 1)
	few = strings.Replace(few, "kind: update, add: {views: 1}", "kind: update, set: {created: $}", 1)
	if _, err := Run(t.Context(), mustParse(t, few), options(newWatched())); err == nil || !strings.Contains(err.Error(), "the key (category, views) of a model") {
		t.Errorf("records that share the key of a model: %v", err)
	}
}

func TestRunThatIsInterruptedWhileItOpensLeavesNothing(t *testing.T) {
	for n := 1; n <= 6; n++ {
		ctx, cancel := context.WithCancel(t.Context())
		s := &cancelling{watched: newWatched(), cancel: cancel}
		s.n.Store(int64(n))
		if _, err := Run(ctx, mustParse(t, testload.Small), options(s)); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted in definition %d: %v, want context.Canceled", n, err)
		}
		if len(s.tables) > 0 {
			t.Errorf("interrupted in definition %d: tables %v are left", n, s.tables)
		}
		cancel()
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A query that a model cannot answer is a fault of the file, found before any
// data are written.
func TestUnanswerableQueryIsAFault(t *testing.T) {
	s := newWatched()
	text := strings.Replace(testload.Small, ", scan: true", "", 1)
	_, err := Run(t.Context(), mustParse(t, text), options(s))
	var faults failure.Faults
	if !errors.As(err, &faults) || !strings.Contains(err.Error(), "small.yaml:25:") || !strings.Contains(err.Error(), "let the model scan (scan: true)") {
		t.Errorf("got %v, want a fault in line 25 with its remedies", err)
	}
	s.check(t)
}

// A failing store makes failed operations, which miss their objective.
type failing struct {
	*watched
	from time.Time
}

func (s *failing) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	if time.Now().After(s.from) {
		return driver.ErrUnavailable
	}
	return s.watched.Get(ctx, t, keys, mask, rows)
}

func TestStoreThatFailsIsAnError(t *testing.T) {
	s := &failing{watched: newWatched()}
	s.from = time.Now()
	_, err := Run(t.Context(), mustParse(t, testload.Small), options(s))
	if err == nil || !errors.Is(err, driver.ErrUnavailable) {
		t.Errorf("got %v, want the store's error", err)
	}
	if !s.closed {
		t.Error("the store is not closed")
	}
}

// The memory that the tool needs does not grow from round to round.
func TestMemoryIsFlat(t *testing.T) {
	text := strings.NewReplacer("rounds: 1", "rounds: 8", "rate: 200", "rate: 4000").Replace(testload.Small[:strings.Index(testload.Small, "models:")])
	text = strings.Replace(text, "weight: 40", "weight: 60", 1)
	text = text[:strings.Index(text, "  - {name: new post")]
	w := mustParse(t, text)
	result, err := Run(t.Context(), w, options(newWatched()))
	if err != nil {
		t.Fatal(err)
	}
	rounds := result.Candidates[0].Rounds
	first, last := rounds[0].Heap, rounds[len(rounds)-1].Heap
	if growth := int64(last) - int64(first); growth > 1<<20 {
		t.Errorf("the heap grew by %d bytes in %d rounds of %d operations", growth, len(rounds), rounds[0].Ops)
	}
}

// What lies in a store under a name that a run would take is somebody else's.
func TestFilledCollectionIsRefused(t *testing.T) {
	w := mustParse(t, testload.Small).read
	s, err := store.Open(t.Context(), "memory:", "memory:", options(newWatched()).Open)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := data.Survey(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	first, second := candidate.New(w, s, w.Models[0], ""), candidate.New(w, s, w.Models[0], "")
	if err := first.Open(t.Context(), w, "load_x_"); err != nil {
		t.Fatal(err)
	}
	if err := first.Fill(t.Context(), w, tables, &progress.Log{Out: io.Discard}).Rest(); err != nil {
		t.Fatal(err)
	}
	if err := second.Open(t.Context(), w, "load_x_"); err == nil || !strings.Contains(err.Error(), "has records already") || len(second.Names) > 0 {
		t.Errorf("%v, names to be dropped %v; want a refusal, and none", err, second.Names)
	}
}

func TestTwoStoresOfOneKindAreToldApart(t *testing.T) {
	opts := Options{On: []string{"memory:", "other:"}, Open: func(context.Context, string) (driver.Store, error) { return newWatched(), nil }}
	text := strings.Replace(testload.Small[:strings.Index(testload.Small, "models:")], "rate: 200", "rate: 100", 1)
	result, err := Run(t.Context(), mustParse(t, text), opts)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := result.Candidates[0].Name, result.Candidates[1].Name; a != "as declared on memory:" || b != "as declared on other:" {
		t.Errorf("candidates %q and %q", a, b)
	}
	opts.On = []string{"memory:", "memory:"}
	if result, err = Run(t.Context(), mustParse(t, text), opts); err != nil {
		t.Fatal(err)
	}
	if a, b := result.Candidates[0].Name, result.Candidates[1].Name; a != "as declared on memory: (1)" || b != "as declared on memory: (2)" {
		t.Errorf("candidates %q and %q", a, b)
	}
	if _, err := Run(t.Context(), mustParse(t, text), Options{}); err == nil || !strings.Contains(err.Error(), "Options.Open is nil") {
		t.Errorf("without a store: %v", err)
	}
}

func mustParse(t *testing.T, text string) *Workload {
	t.Helper()
	return opened(testload.Parsed(t, workload.Parse, text))
}
