package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polystore/polystore/loadtest"
)

// A scraper asks for the metrics, as Prometheus does, as soon as it reads where they are, and until they are gone.
type scraper struct {
	t    *testing.T
	w    sync.WaitGroup
	last string
}

func (s *scraper) Write(p []byte) (int, error) {
	if url, ok := strings.CutPrefix(strings.TrimSpace(string(p)), "metrics: "); ok {
		s.w.Go(func() {
			for {
				text, err := get(url)
				if err != nil {
					return
				}
				s.last = text
				time.Sleep(100 * time.Millisecond)
			}
		})
	}
	return len(p), nil
}

func get(url string) (string, error) {
	reply, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	return string(text), err
}

// Prometheus is told of the operations of a run while it lasts.
func TestMetricsOfARun(t *testing.T) {
	s := &scraper{t: t}
	if err := run(t.Context(), []string{"load", "--metrics", "127.0.0.1:0", "--out", t.TempDir(), write(t, "small.yaml", small)}, io.Discard, s); err != nil && !errors.As(err, new(exit)) {
		t.Fatal(err)
	}
	s.w.Wait()
	for _, want := range []string{
		`polystore_load_operations_total\{model="[^"]+",outcome="done",query="[^"]+",store="pebble:[^"]*"\} [1-9]`,
		`polystore_load_response_seconds_count\{model="[^"]+",query="[^"]+",store="pebble:[^"]*"\} [1-9]`,
		`process_cpu_seconds_total [0-9.]+`,
	} {
		if !regexp.MustCompile(want).MatchString(s.last) {
			t.Errorf("nothing like %s in\n%s", want, s.last)
		}
	}
}

func TestMetricsElsewhere(t *testing.T) {
	for _, address := range []string{"127.0.0.1", "127.0.0.1:99999", "nobody.invalid:80"} {
		if code, _, diag := do(t, "load", "--metrics", address, write(t, "small.yaml", small)); code != loadtest.Usage || !strings.Contains(diag, "--metrics") {
			t.Errorf("%s: exit %d, %s", address, code, diag)
		}
	}
}

// What was observed is counted, and the dashboard asks for nothing else.
func TestDashboardAsksForWhatIsTold(t *testing.T) {
	m := newMetrics()
	o := loadtest.Observation{Store: "redis://localhost", Model: "a", Query: "q", Outcome: "done", Response: 3 * time.Millisecond, Lag: time.Microsecond}
	m.observe(&o)
	o.Outcome = "failed"
	m.observe(&o)
	server := httptest.NewServer(handlerOf(m))
	defer server.Close()
	told, err := get(server.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`polystore_load_operations_total{model="a",outcome="failed",query="q",store="redis://localhost"} 1`,
		`polystore_load_response_seconds_bucket{model="a",query="q",store="redis://localhost",le="0.0032"} 2`,
		`polystore_load_response_seconds_sum{model="a",query="q",store="redis://localhost"} 0.006`,
		`polystore_load_clock_lag_seconds_bucket{model="a",store="redis://localhost",le="5e-05"} 2`,
	} {
		if !strings.Contains(told, want+"\n") {
			t.Errorf("no %s in\n%s", want, told)
		}
	}
	text, err := os.ReadFile("../../examples/grafana/load.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil || len(board.Panels) < 5 {
		t.Fatalf("%d panels, %v", len(board.Panels), err)
	}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			if unknown := untold(target.Expr, told); unknown != "" {
				t.Errorf("%s asks for %s: %s", p.Title, unknown, target.Expr)
			}
		}
		if len(p.Targets) == 0 {
			t.Errorf("%s asks for nothing", p.Title)
		}
	}
	for _, expr := range []string{"rate(polystore_load_errors_total[1m])", "sum by (server) (polystore_load_operations_total)"} {
		if untold(expr, told) == "" {
			t.Errorf("%s is not found out", expr)
		}
	}
}

// untold returns a metric or a label of an expression that is not in what is told.
func untold(expr, told string) string {
	for _, name := range regexp.MustCompile(`(polystore_load|process|go)_\w+`).FindAllString(expr, -1) {
		if !regexp.MustCompile(`(?m)^` + name + `[ {]`).MatchString(told) {
			return name
		}
	}
	for _, list := range regexp.MustCompile(`by \(([^)]*)\)|\{(\w+)[=!]`).FindAllStringSubmatch(expr, -1) {
		for label := range strings.SplitSeq(list[1]+list[2], ",") {
			if label = strings.TrimSpace(label); !strings.Contains(told, label+`="`) {
				return label
			}
		}
	}
	return ""
}
