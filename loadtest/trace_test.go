package loadtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/repo/driver"
)

// A counted store notes the keys of the records that are read during the rounds, one after the other.
type counted struct {
	*watched
	rounds atomic.Bool
	keys   []string
}

func (s *counted) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	if t.Class == driver.Records && s.rounds.Load() {
		s.mu.Lock()
		s.keys = append(s.keys, fmt.Sprint(keys[0].Sort))
		s.mu.Unlock()
	}
	return s.watched.Get(ctx, t, keys, mask, rows)
}

// traced returns the small workload with a trace in place of its rate, and one slot.
func traced(t *testing.T, trace string, lines []string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), trace)
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("rate: 200", "slots: 1\ntrace: "+file, "rounds: 1", "rounds: 2", "round: 200ms", "round: 400ms").Replace(testload.Small)
	return text[:strings.Index(text, "models:")]
}

// reads returns a trace that inserts records, and reads each 5 ms after another one, and the IDs in their order.
func reads(n int) (lines, ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("N%04d", (i*37)%n))
	}
	for _, id := range slices.Sorted(slices.Values(ids)) {
		lines = append(lines, fmt.Sprintf(`{"time": 0, "query": "new post", "author": "n", "id": %q}`, id))
	}
	for i, id := range ids {
		lines = append(lines, fmt.Sprintf(`{"time": %.3f, "query": "one post", "author": "n", "id": %q}`, 0.1+float64(i)*0.005, id))
	}
	return lines, ids
}

// received returns what a store receives of a trace.
func received(t *testing.T, lines []string, speed float64) ([]string, *Result) {
	t.Helper()
	s := &counted{watched: newWatched()}
	opts := options(s)
	opts.Terminal, opts.Log = true, writerFunc(func(p []byte) (int, error) {
		if strings.Contains(string(p), "warm-up: ") {
			s.rounds.Store(true)
		}
		if strings.Contains(string(p), "verify") {
			s.rounds.Store(false)
		}
		return len(p), nil
	})
	w := mustParse(t, traced(t, "ops.jsonl", lines))
	w.Speed = speed
	result, err := Run(t.Context(), w, opts)
	if err != nil {
		t.Fatal(err)
	}
	s.check(t)
	return s.keys, result
}

// misplaced returns the first operation that a store received at another place than it has in the trace, "" if there is
// none.
func misplaced(got, ids []string) string {
	for i, key := range got {
		if i >= len(ids) || !strings.Contains(key, ids[i]) {
			return fmt.Sprintf("operation %d is for %s", i, key)
		}
	}
	if len(got) < len(ids) {
		return fmt.Sprintf("%d of %d operations came", len(got), len(ids))
	}
	return ""
}

// A store receives the operations of a trace in their order, as many as there are in its rounds, at their times or faster.
func TestTrace(t *testing.T) {
	lines, ids := reads(100)
	for _, speed := range []float64{1, 2} {
		got, result := received(t, lines, speed)
		if text := misplaced(got, ids); text != "" {
			t.Errorf("speed %v: %s", speed, text)
		}
		want := time.Duration(float64(595*time.Millisecond) / 2.5 / speed) // two rounds and half a one
		if off := result.Round - want; off > time.Millisecond || off < -time.Millisecond {
			t.Errorf("speed %v: a round lasts %v, want %v", speed, result.Round, want)
		}
		if !strings.HasPrefix(result.Trace, "200 of 200 operations in 595ms") || !strings.Contains(result.Text, "trace") {
			t.Errorf("speed %v: the result says %q", speed, result.Trace)
		}
	}
	swapped := slices.Clone(lines) // two reads change places, and not their times
	a, b := strings.Index(swapped[150], `"query"`), strings.Index(swapped[151], `"query"`)
	swapped[150], swapped[151] = swapped[150][:a]+swapped[151][b:], swapped[151][:b]+swapped[150][a:]
	got, _ := received(t, swapped, 2)
	if text := misplaced(got, ids); !strings.HasPrefix(text, "operation 50 is for ") {
		t.Errorf("a reordering is not seen: %q", text)
	}
}

// What of a trace cannot be sent is told with file and line, before anything is written.
func TestTraceFaults(t *testing.T) {
	read := `{"time": 1, "query": "one post", "author": "user:1", "id": "P"}`
	for _, tt := range []struct{ lines, want string }{
		{read, "ops.jsonl:1: query one post is for"},
		{`{"time": 1, "query": "one post", "author": "user:1"}`, "ops.jsonl:1: query one post is for one record, and the operation has not its whole key (author, id)"},
		{`{"time": 1, "query": "of a category"}`, "ops.jsonl:1: query of a category takes category, which the operation does not have"},
		{`{"time": 1, "query": "with a tag", "tags": []}`, "takes tags, which"},
		{`{"time": 2, "query": "new post"}|{"time": 1, "query": "new post"}`, "ops.jsonl:2: the operation came 1s before the one above it; sort the file by time"},
		{`{"time": 1, "query": "new post"}|{"time": 2, "query": "new`, "ops.jsonl:2:25: the object is not complete"},
		{`{"time": 1, "query": "old post"}`, `query is "old post", which is no query of the workload`},
		{`{"time": "soon", "query": "new post"}`, `time is "soon"; want seconds`},
		{`{"time": 1, "query": "new post"}|{"time": "2026-01-01T00:00:00Z", "query": "new post"}`, "of the first operation has another form"},
		{`{"time": 1, "query": "new post", "views": "many"}`, "views: "},
		{`{"time": 1, "query": "new post", "wievs": 1}`, `"wievs" is no field of collection posts`},
		{``, "there is no operation in it"},
		{`{"time": 1, "query": "new post"}|{"time": 1.1, "query": "new post"}`, "the trace lasts 100ms"},
		{`{"time": 1, "query": "new post"}|{"time": 9, "query": "new post"}`, "nothing happens in the trace"},
	} {
		s := newWatched()
		_, err := Run(t.Context(), mustParse(t, traced(t, "ops.jsonl", strings.Split(tt.lines, "|"))), options(s))
		if err == nil || !strings.Contains(err.Error(), tt.want) || len(s.tables) > 0 {
			t.Errorf("%s: %v, want %q", tt.lines, err, tt.want)
		}
	}
	var lines []string
	for i := range 20 {
		lines = append(lines, fmt.Sprintf(`{"time": %.2f, "query": "read", "author": "user:1", "id": "P0001", "created": "1999-01-01T00:00:00Z"}`, 1+float64(i)*0.04))
	}
	text := strings.Replace(traced(t, "ops.jsonl", lines), `{int: {min: 1, max: 9, zipf: 1}, pattern: "user:%d"}`, `{choice: ["user:1"]}`, 1)
	_, err := Run(t.Context(), mustParse(t, text+"models: [{name: by time, sort: [created, id]}]\n"), options(newWatched()))
	if want := `ops.jsonl:1: "user:1/P0001" has another created in the data, which is in its key in a model`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("another key in a model: %v, want %q", err, want)
	}
	if _, err := Run(t.Context(), mustParse(t, text), options(newWatched())); err != nil {
		t.Errorf("the same, in no model's key: %v", err)
	}
	const gone = `{"time": 1, "query": "gone", "author": "user:1", "id": "P0001"}`
	text = strings.Replace(text, "queries:\n", "queries:\n  - {name: gone, weight: 0, kind: delete, misses: true}\n", 1)
	if err := os.WriteFile(strings.Fields(text[strings.Index(text, "trace: "):])[1], []byte(gone+"\n"+strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	text = strings.Replace(text, "kind: update, add: {views: 1}", "kind: update, misses: true, add: {views: 1}", 1)
	if _, err := Run(t.Context(), mustParse(t, text+"models: [{name: by time, sort: [created, id], scan: true}]\n"), options(newWatched())); err != nil {
		t.Errorf("another record under a key that is free: %v", err)
	}
	w := mustParse(t, testload.Small)
	w.Speed = 2
	if _, err := Run(t.Context(), w, options(newWatched())); err == nil || !strings.Contains(err.Error(), "has no trace") {
		t.Errorf("speed without a trace: %v", err)
	}
	opts := options(newWatched())
	opts.Max = true
	if _, err := Run(t.Context(), mustParse(t, traced(t, "ops.jsonl", []string{read})), opts); err == nil || !strings.Contains(err.Error(), "no other rate to search") {
		t.Errorf("the highest rate of a trace: %v", err)
	}
}
