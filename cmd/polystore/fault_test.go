package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/loadtest"
)

// The network of a server fails and comes back: calls fail, no acknowledged write is lost, and the store recovers. A store
// in this process has no network.
func TestLoadWithFaults(t *testing.T) {
	text := strings.Replace(small, "rate: 20", "rate: 100", 1) + "  - {name: new post, weight: 50, kind: insert}\n"
	text = strings.Replace(text, "weight: 50, kind: get", "weight: 25, kind: get", 1)
	text = strings.Replace(text, "weight: 50, kind: find", "weight: 25, kind: find", 1)
	code, out, diag := do(t, "load", "--json", "--out", t.TempDir(), "--on", "pebble:", "--on", testserver.Shared(t, testserver.Redis).URL,
		"--fault", "cut@300ms:600ms,freeze@2s:300ms", "--for", "4s", write(t, "small.yaml", text))
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

func TestFaultsThatCannotBe(t *testing.T) {
	file := write(t, "small.yaml", small)
	for _, tt := range []struct{ faults, lasts, want string }{
		{"kill@1s:1s", "0s", "want cut@AT:FOR"},
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
