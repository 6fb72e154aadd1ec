package loadtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/repo/driver"
)

// A wired store is in memory, behind a network: each call sends a byte to a server and waits for the answer.
type wired struct {
	driver.Store
	addr   string
	does   string      // lies: it acknowledges commits that did not reach the server; skips: it leaves rows out after a failure
	failed atomic.Bool // a call did
}

func (s *wired) Facts() driver.Facts {
	f := s.Store.Facts()
	f.OneProcess, f.Sizes.Has = false, false
	return f
}

func (s *wired) Close() error { return nil } // others have it, too

func (s *wired) ask(ctx context.Context) error {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.addr)
	if err == nil {
		defer c.Close()
		defer context.AfterFunc(ctx, func() { c.Close() })()
		if _, err = c.Write([]byte("a")); err == nil {
			_, err = c.Read(make([]byte, 1))
		}
	}
	if err != nil {
		s.failed.Store(true)
		return fmt.Errorf("%w: %w", driver.ErrUnavailable, err)
	}
	return nil
}

func (s *wired) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	if err := s.ask(ctx); err != nil {
		return err
	}
	return s.Store.Get(ctx, t, keys, mask, rows)
}

func (s *wired) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		if err := s.ask(ctx); err != nil {
			yield(nil, err)
			return
		}
		skips := s.does == "skips" && s.failed.Load() && span.Table.Class == driver.Rows
		for row, err := range s.Store.Range(ctx, span) {
			if skips && err == nil {
				skips = false
				continue
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

func (s *wired) Walk(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
	return func(yield func(driver.Chunk, error) bool) {
		if err := s.ask(ctx); err != nil {
			yield(driver.Chunk{}, err)
			return
		}
		s.Store.Walk(ctx, t, mark)(yield)
	}
}

func (s *wired) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if err := s.ask(ctx); s.does == "lies" && err != nil {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return s.Store.Commit(ctx, token, ops)
}

// newServer returns the address of a server that sends back what it reads.
func newServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

// endure runs the small workload, with more inserts, on a store in memory and on one behind a network that fails.
func endure(t *testing.T, does string) (*Result, error) {
	t.Helper()
	text, _, _ := strings.Cut(testload.Small, "models:")
	text = strings.Replace(text, "name: one post, weight: 40", "name: one post, weight: 20", 1)
	text = strings.Replace(text, "name: new post, weight: 10", "name: new post, weight: 30", 1)
	text = strings.Replace(text, "rate: 200", "rate: 50", 1) // the machine may be busy
	shared, addr := memory.New(nil), newServer(t)
	open := func(_ context.Context, raw string) (driver.Store, error) {
		u, err := url.Parse(raw)
		switch {
		case err != nil:
			return nil, err
		case u.Host == "":
			return memory.New(nil), nil
		case does == "around":
			return &wired{Store: shared, addr: addr}, nil
		}
		return &wired{Store: shared, addr: u.Host, does: does}, nil
	}
	return Run(t.Context(), mustParse(t, text), Options{On: []string{"memory:", "redis://" + addr}, Open: open,
		Faults: "cut@200ms:500ms,freeze@1500ms:300ms", For: 3500 * time.Millisecond})
}

// Calls fail while the network does, the store recovers, and what it acknowledged is there. Of a store without a network
// it is said that it has none.
func TestFaultsOfANetwork(t *testing.T) {
	result, err := endure(t, "")
	if err != nil || result.Exit == Wrong {
		t.Fatalf("%v, %+v", err, result)
	}
	none, e := result.Candidates[0].Endured, result.Candidates[1].Endured
	if none == nil || none.None != "no network, so no such fault" || e == nil || e.None != "" || len(e.Faults) != 2 {
		t.Fatalf("endured %+v and %+v", none, e)
	}
	if e.Lost != 0 || e.FirstLost != "" || e.OutOfStep != 0 || e.Acknowledged == 0 || e.Failed == 0 || e.Failure == "" || e.Ops != 175 {
		t.Errorf("%+v", e)
	}
	for i, f := range e.Faults {
		if f.Calls == 0 || f.FirstSuccess == nil || *f.FirstSuccess <= 0 || i == 0 && f.Failed == 0 {
			t.Errorf("%+v", f)
		}
	}
	var markdown bytes.Buffer
	if err := result.WriteMarkdown(&markdown); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"faults ", "cut@200ms:500ms", "freeze@1.5s:300ms", "none lost", "no fault can be put there"} {
		if !strings.Contains(strings.Join(strings.Fields(result.Text), " "), want) || !strings.Contains(markdown.String(), want) {
			t.Errorf("the text or the Markdown has no %q:\n%s", want, result.Text)
		}
	}
	checkReport(t, result)
}

// A store that acknowledges writes and has lost them is found.
func TestFaultThatLosesWrites(t *testing.T) {
	result, err := endure(t, "lies")
	var wrong *failure.WrongAnswers
	if !errors.As(err, &wrong) || !strings.Contains(wrong.Text, "acknowledged") || result == nil || result.Exit != Wrong {
		t.Fatalf("%v, %+v; want wrong answers", err, result)
	}
	if e := result.Candidates[1].Endured; e.Lost == 0 || !strings.Contains(e.FirstLost, "new post") || !strings.Contains(result.Text, "lost") {
		t.Errorf("%+v\n%s", e, result.Text)
	}
	checkReport(t, result)
}

// Wrong answers while the network fails are found where nothing is lost.
func TestFaultWithWrongAnswers(t *testing.T) {
	result, err := endure(t, "skips")
	var wrong *failure.WrongAnswers
	if !errors.As(err, &wrong) || !strings.Contains(wrong.Text, "while something failed: ") || result == nil || result.Exit != Wrong {
		t.Fatalf("%v, %+v; want wrong answers", err, result)
	}
	if e := result.Candidates[1].Endured; e == nil || e.Lost != 0 || len(e.Faults) != 2 {
		t.Errorf("%+v", e)
	}
}

// A client that does not go through the proxy would meet no fault, and that is said.
func TestFaultThatTheClientGoesAround(t *testing.T) {
	result, err := endure(t, "around")
	if err != nil || !strings.Contains(result.Candidates[1].Endured.None, "goes around") {
		t.Fatalf("%v, %+v", err, result)
	}
}

// What cannot be done is refused before anything is.
func TestFaultsThatCannotBe(t *testing.T) {
	open := func(context.Context, string) (driver.Store, error) {
		t.Error("a store is opened")
		return nil, driver.ErrUnavailable
	}
	for _, tt := range []struct {
		on, faults string
		lasts      time.Duration
		want       string
	}{
		{"redis://localhost", "burn@1s:1s", 0, "want cut@AT:FOR"},
		{"redis://localhost", "kill@1s", 0, "(kill@1s is for a server that this program started); let the tool start a server, as by --start redis"},
		{"redis://localhost", "", time.Second, "--fault cut@5s:2s"},
		{"redis://localhost", "cut@5s:1s", 5 * time.Second, "--for 16s"},
		{"redis://localhost", "cut@239m:55s", 0, "make it shorter"},
		{"pebble:", "cut@1s:1s", 0, "no fault can be put before pebble: (no network, so no such fault); add a store on a server"},
	} {
		_, err := Run(t.Context(), mustParse(t, testload.Small), Options{On: []string{tt.on}, Open: open, Faults: tt.faults, For: tt.lasts})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q for %v: %v, want %q", tt.faults, tt.lasts, err, tt.want)
		}
	}
}
