package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/loadtest"
)

// The network of a server fails and comes back: calls fail, no acknowledged write is lost, and the store recovers. A store
// in this process has no network.
func TestLoadWithFaults(t *testing.T) {
	code, out, diag := do(t, "load", "--json", "--out", t.TempDir(), "--on", "pebble:", "--on", testserver.Shared(t, testserver.Redis).URL,
		"--fault", "cut@300ms:600ms,freeze@2s:300ms", "--for", "4s", write(t, "small.yaml", withWrites()))
	var r loadtest.Result
	if err := json.Unmarshal([]byte(out), &r); err != nil || code == loadtest.Wrong || code == loadtest.Usage {
		t.Fatalf("exit %d, %v\n%s\n%s", code, err, out, diag)
	}
	none, e := r.Candidates[0].Endured, r.Candidates[1].Endured
	if none == nil || !strings.Contains(none.None, "no network") || e == nil || e.None != "" || len(e.Faults) != 2 {
		t.Fatalf("endured %+v and %+v\n%s", none, e, r.Text)
	}
	if e.Lost != 0 || e.OutOfStep != 0 || e.Acknowledged == 0 || e.Failed+e.Unknown == 0 {
		t.Errorf("%+v", e)
	}
	for _, f := range e.Faults {
		if f.Calls == 0 || f.FirstSuccess == nil || *f.FirstSuccess <= 0 {
			t.Errorf("%+v", f)
		}
	}
	if again := "--fault cut@300ms:600ms,freeze@2s:300ms --for 4s"; !strings.Contains(r.Again, again) || !strings.Contains(r.Text, "cut@300ms:600ms") {
		t.Errorf("again %q has no %q, or the text no fault:\n%s", r.Again, again, r.Text)
	}
	t.Log(r.Text)
}

// withWrites is the small workload with writes.
func withWrites() string {
	text := strings.Replace(small, "rate: 20", "rate: 100", 1) + "  - {name: new post, weight: 50, kind: insert}\n"
	text = strings.Replace(text, "weight: 50, kind: get", "weight: 25, kind: get", 1)
	return strings.Replace(text, "weight: 50, kind: find", "weight: 25, kind: find", 1)
}

// A mortal is a server of a test that a run may kill.
type mortal struct {
	*testserver.Server
	t *testing.T
}

func (m mortal) Kill() error   { m.Kill9(m.t); return nil }
func (m mortal) Start() error  { m.Restart(m.t); return nil }
func (m mortal) Pause() error  { m.Server.Pause(m.t); return nil }
func (m mortal) Resume() error { m.Server.Resume(m.t); return nil }

// A server is killed and comes back with what it acknowledged, as far as its class of durability says; one that keeps
// nothing is found out.
func TestServerIsKilledAndComesBack(t *testing.T) {
	for _, tt := range []struct {
		args, faults string
		lost         bool
	}{
		{"--appendfsync always", "kill@500ms,pause@1500ms:300ms,cut@2500ms:200ms", false},
		{"--appendonly no", "kill@500ms:100ms", true},
	} {
		s := testserver.Start(t, testserver.Redis, strings.Fields(tt.args)...)
		w, err := loadtest.Load(write(t, "small.yaml", withWrites()))
		if err != nil {
			t.Fatal(err)
		}
		r, err := loadtest.Run(t.Context(), w, loadtest.Options{Open: backends.OpenDriver, On: []string{s.URL},
			Servers: map[string]loadtest.Server{s.URL: mortal{s, t}}, Faults: tt.faults, For: 4 * time.Second})
		if r == nil || len(r.Candidates) != 1 || (r.Exit == loadtest.Wrong) != tt.lost || (err != nil) != tt.lost {
			t.Fatalf("%s: %v, %+v", tt.args, err, r)
		}
		e := r.Candidates[0].Endured
		if e.None != "" || e.Acknowledged == 0 || (e.Lost > 0) != tt.lost || e.Excused > 0 || tt.lost != (e.FirstLost != "") || e.OutOfStep > 0 {
			t.Errorf("%s: %+v", tt.args, e)
		}
		for _, f := range e.Faults {
			if f.Calls+f.Failed == 0 || !tt.lost && f.FirstSuccess == nil { // Redis may be back before the next call is due
				t.Errorf("%s: %+v", tt.args, f)
			}
		}
	}
}

// A server that cannot be started is told before anything is done, with the remedy.
func TestServersThatCannotBeStarted(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	file, dir := write(t, "small.yaml", small), t.TempDir()
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--start", "redis"}, "load: --start redis: redis-server is not in the PATH: install Redis 7"},
		{[]string{"--start", "pebble"}, "want redis, mongo or cassandra"},
		{[]string{"--start", " "}, "as in --start redis"},
		{[]string{"--start", "redis", "--keep"}, "say --keep or --start"},
	} {
		code, out, diag := do(t, append([]string{"load", "--out", dir, file}, tt.args...)...)
		if entries, err := os.ReadDir(dir); code != loadtest.Usage || out != "" || !strings.Contains(diag, tt.want) || err != nil || len(entries) > 0 {
			t.Errorf("%q: exit %d, %q, %q, %v; want %q, and nothing left", tt.args, code, out, diag, entries, tt.want)
		}
	}
}

func TestFaultsThatCannotBe(t *testing.T) {
	file := write(t, "small.yaml", small)
	for _, tt := range []struct{ faults, lasts, want string }{
		{"burn@1s:1s", "0s", "want cut@AT:FOR"},
		{"kill@1s", "0s", "let the tool start a server, as by --start redis"},
		{"cut@1s:3s,freeze@2s:1s", "0s", "let it begin then or later"},
		{"cut@5s:1s", "3s", "as by --for 16s"},
		{"cut@1s:1s", "0s", "add a store on a server, as by --on redis://localhost:6379"},
	} {
		code, out, diag := do(t, "load", "--out", t.TempDir(), "--on", "pebble:", "--fault", tt.faults, "--for", tt.lasts, file)
		if code != loadtest.Usage || out != "" || !strings.Contains(diag, tt.want) {
			t.Errorf("%s: exit %d, %q, %q; want %q", tt.faults, code, out, diag, tt.want)
		}
	}
}
