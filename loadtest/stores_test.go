package loadtest

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/repo/driver"
)

// A server is a store of its own class of durability, outside this process, that
// takes a millisecond of processor time for each Get.
type server struct {
	*watched
	class driver.Durability
	gets  atomic.Int64
	mute  bool
}

func (s *server) Facts() driver.Facts {
	f := s.watched.Facts()
	f.Name, f.Version, f.OneProcess, f.Durability, f.Setting = "server", "1.2", false, s.class, "sync some"
	return f
}

func (s *server) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	s.gets.Add(1)
	return s.watched.Get(ctx, t, keys, mask, rows)
}

func (s *server) CPU(context.Context) (time.Duration, error) {
	if s.mute {
		return 0, driver.ErrUnsupported
	}
	return time.Duration(s.gets.Load()) * time.Millisecond, nil
}

// Two stores of two classes in one run: each candidate is in the text and in the
// result with its class, and each class has a verdict.
func TestTwoClassesInOneRun(t *testing.T) {
	one, other := newWatched(), &server{watched: newWatched(), class: driver.Process}
	result, err := runWith(t, mustParse(t, testload.Small), one, other, func([]byte) {})
	if err != nil {
		t.Fatal(err)
	}
	one.check(t)
	other.check(t)
	checkReport(t, result)
	if len(result.Candidates) != 6 || len(result.Verdicts) != 2 || result.Compared == 0 {
		t.Fatalf("%d candidates, %d verdicts, %d calls compared", len(result.Candidates), len(result.Verdicts), result.Compared)
	}
	for i, want := range []struct{ class, store string }{{"process", "other:: sync some"}, {"memory", "one:: none"}} {
		v := result.Verdicts[i]
		if v.Class != want.class || len(v.Stores) != 1 || v.Stores[0] != want.store || len(v.Ranked) != 3 {
			t.Errorf("verdict %d: %+v, want %v", i, v, want)
		}
		for _, name := range v.Ranked {
			if on := map[string]string{"process": " on server", "memory": " on memory"}[want.class]; !strings.HasSuffix(name, on) {
				t.Errorf("class %s ranks %s", v.Class, name)
			}
		}
	}
	for _, c := range result.Candidates {
		if want := map[string]string{"one:": "memory", "other:": "process"}[c.Store]; c.Durability != want {
			t.Errorf("%s is of class %s, want %s", c.Name, c.Durability, want)
		}
	}
	for _, want := range []string{"on server 1.2, class process (sync some)", "6 candidates agree on", "Class process (server, sync some): ", "Class memory (memory, none): "} {
		if !strings.Contains(result.Text, want) {
			t.Errorf("the text has no %q:\n%s", want, result.Text)
		}
	}
}

// The processor time of a server that tells it counts, and whose it is is said.
func TestServerTimeCounts(t *testing.T) {
	text := testload.Small[:strings.Index(testload.Small, "models:")]
	for _, mute := range []bool{false, true} {
		other := &server{watched: newWatched(), class: driver.Memory, mute: mute}
		result, err := runWith(t, mustParse(t, text), newWatched(), other, func([]byte) {})
		if err != nil {
			t.Fatal(err)
		}
		near, far := result.Candidates[0].Queries[0], result.Candidates[1].Queries[0] // a Get each
		wantServer, whose := time.Millisecond, "this process and the server, whose other clients and upkeep are in it"
		if mute {
			wantServer, whose = 0, "this process alone, as the server does not tell its own"
		}
		if near.SampledOfIt != 0 || far.SampledOfIt != wantServer || far.SampledCPU <= wantServer {
			t.Errorf("mute %t: server times %v and %v, together with the client's %v; want 0 and %v", mute, near.SampledOfIt, far.SampledOfIt, far.SampledCPU, wantServer)
		}
		if c := result.Candidates[1]; (c.ServerCPU > 0) == mute || (c.Rounds[0].ServerCPU > 0) == mute || c.CPUPerOp < c.ServerCPU {
			t.Errorf("mute %t: %v an operation, of it %v the server's, %v in the round", mute, c.CPUPerOp, c.ServerCPU, c.Rounds[0].ServerCPU)
		}
		text := strings.Join(strings.Fields(result.Text), " ")
		if !strings.Contains(text, whose) || !strings.Contains(text, "on memory that of this process (store, callers and clock)") {
			t.Errorf("mute %t: it is not said whose time it is:\n%s", mute, result.Text)
		}
		if result.Stores[1].CPUOf != whose {
			t.Errorf("mute %t: the result says %q", mute, result.Stores[1].CPUOf)
		}
	}
}

// A store that answers otherwise than the other one is found out.
func TestWrongAnswersOfOneStoreAreFound(t *testing.T) {
	one, other := newWatched(), &lossy{watched: newWatched()}
	text := testload.Small[:strings.Index(testload.Small, "models:")] // one model, so that only stores differ
	_, err := runWith(t, mustParse(t, text), one, other, func([]byte) {})
	var wrong *failure.WrongAnswers
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "as declared on one: and as declared on other:") {
		t.Errorf("got %v, want WrongAnswers that names the stores", err)
	}
	one.check(t)
	other.check(t)
}
