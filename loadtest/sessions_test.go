package loadtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo/driver"
)

// sessions is the shipped workload, made short, or another one that is made of it.
func sessions(t *testing.T, changes ...string) (*Workload, error) {
	t.Helper()
	text, err := os.ReadFile("../examples/sessions/sessions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	changes = append([]string{"rate: 500", "rate: 200", "rounds: 6", "rounds: 1", "round: 1s", "round: 200ms", "count: 20000", "count: 400"}, changes...)
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(string(text), changes[i]) {
			t.Fatalf("the workload has no %q", changes[i])
		}
		text = []byte(strings.Replace(string(text), changes[i], changes[i+1], 1))
	}
	w, err := workload.Parse("sessions.yaml", text)
	if err != nil {
		return nil, err
	}
	return opened(w), nil
}

// Records that expire are put, changed and renewed by all models alike.
func TestSessions(t *testing.T) {
	w, err := sessions(t)
	if err != nil {
		t.Fatal(err)
	}
	s := newWatched()
	result, err := Run(t.Context(), w, options(s))
	if err != nil || len(result.Candidates) != 3 || result.Compared < 200 {
		t.Fatalf("%+v, %v", result, err)
	}
	s.check(t)
	for _, c := range result.Candidates {
		if c.Failures > 0 {
			t.Errorf("%s: %d failures, the first: %s", c.Name, c.Failures, c.Failure)
		}
	}
}

// An immortal store forgets that the records of one collection expire, or what a put has of a text.
type immortal struct {
	*watched
	change func(*driver.Row)
}

func (s immortal) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	for i := range ops {
		if ops[i].Table.Class == driver.Records && ops[i].Do == driver.Put && strings.HasSuffix(ops[i].Table.Name, "sessions") {
			s.change(&ops[i].Row)
		}
	}
	return s.watched.Commit(ctx, token, ops)
}

func TestStoreThatForgetsExpiry(t *testing.T) {
	var n atomic.Int64
	for name, change := range map[string]func(*driver.Row){
		"expiry": func(r *driver.Row) { r.Expires = 0 },
		"a field now and then": func(r *driver.Row) {
			if n := n.Add(1); n%5 == 0 && n > 400 && len(r.Fields) > 0 { // of what is written after the load
				r.Fields[0] = driver.Value{}
			}
		},
	} {
		w, err := sessions(t)
		if err != nil {
			t.Fatal(err)
		}
		_, err = runWith(t, w, newWatched(), immortal{newWatched(), change}, func([]byte) {})
		if wrong, ok := errors.AsType[*failure.WrongAnswers](err); !ok {
			t.Errorf("a store that forgets %s: %v, %v", name, err, wrong)
		}
	}
}

func TestSessionFaults(t *testing.T) {
	for _, tt := range []struct{ old, new, want string }{
		{"    ttl: 24h\n", "", "query renew renews records, and those of collection sessions do not expire; give it ttl: 24h"},
		{"ttl: 24h", "ttl: 5m", "want 1h0m0s to"},
		{"ttl: 24h", "ttl: soon", `ttl is "soon"; want a time with its unit`},
		{"kind: modify, add: {hits: 1}", "kind: modify", "query count a hit changes nothing"},
		{"set: {data: {words: {min: 20, max: 60}}, seen", "set: {id: x, seen", "field id is part of the key, which never changes"},
	} {
		if _, err := sessions(t, tt.old, tt.new); !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%q for %q: %v, want %q", tt.new, tt.old, err, tt.want)
		}
	}
}
