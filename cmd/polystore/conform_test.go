package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/conformance"
	"github.com/polystore/polystore/loadtest"
	"github.com/polystore/polystore/repo/driver"
)

// TestMain is the program itself where it was started as one: by conform, or to be killed.
func TestMain(m *testing.M) {
	if os.Getenv("POLYSTORE_CONFORM_CHILD") != "" || os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

func TestConform(t *testing.T) {
	for _, tt := range []struct {
		url, store string
		missing    int
		killed     string
	}{
		{"memory:", "memory, in the memory of this process", 18, `durability was not checked: what memory acknowledges need not outlive its process.*`},
		{"pebble:" + filepath.Join(t.TempDir(), "a b"), "pebble v2", 30, `[2-9]\d\d commits are there whose process was killed; a loss of power was not checked`},
		{"pebble::memory:", "pebble v2", 31, `durability was not checked: what pebble acknowledges need not outlive its process.*`},
	} {
		out := t.TempDir()
		code, stdout, stderr := do(t, "conform", tt.url, "--seed", "7", "--ops", "1600", "--histories", "6", "--out", out)
		if code != loadtest.Met {
			t.Fatalf("%s: exit %d\n%s%s", tt.url, code, stdout, stderr)
		}
		if lines := strings.Split(stdout, "\n"); !strings.HasPrefix(lines[0], tt.store) || len(lines) != 23 {
			t.Errorf("%s: %d lines, want the store, 20 groups and the verdict:\n%s", tt.url, len(lines), stdout)
		}
		for _, want := range []string{
			`(?m)^  keys and order          \d\d passed$`,
			`(?m)^  conditions              \d\d passed   1 not supported: the commit scope of \w+ is the whole store, so nothing lies beyond it$`,
			`(?m)^  random operations      1,600 against the reference, seed 7$`,
			`(?m)^  concurrent histories   6, linearizable$`,
			`(?m)^  killed writers         ` + tt.killed + `$`,
			fmt.Sprintf(`(?m)^[2-9]\d\d passed, 0 failed, %d not supported        report: \S*conform-\w+\.json, \.md\n$`, tt.missing),
		} {
			if !regexp.MustCompile(want).MatchString(stdout) {
				t.Errorf("%s: no line like %s in\n%s", tt.url, want, stdout)
			}
		}
		if !regexp.MustCompile(`(?m)^rules: [2-9]\d\d of [2-9]\d\d$`).MatchString(stderr) || !strings.Contains(stderr, "random operations: 1600 of 1600\n") {
			t.Errorf("%s: no progress in %q", tt.url, stderr)
		}
	}
}

// The report in JSON is the same on standard output and in the file, and says what
// the text says.
func TestConformJSON(t *testing.T) {
	out := t.TempDir()
	code, stdout, stderr := do(t, "conform", "memory:", "--only", "unique", "--seed", "3", "--json", "--out", out)
	body, err := os.ReadFile(filepath.Join(out, "conform-memory.json"))
	if code != loadtest.Met || err != nil || string(body) != stdout {
		t.Fatalf("exit %d, %v; the file and standard output differ:\n%s\n%s", code, err, body, stdout)
	}
	var r conformance.Report
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Groups) != 1 || r.Groups[0].Name != "unique" || r.Passed != len(r.Groups[0].Verified) || r.Passed < 10 || r.Failed != 0 || r.Seed != 3 || r.Store != "memory" {
		t.Errorf("report %+v; want the group unique alone, and the seed", r)
	}
	page, err := os.ReadFile(filepath.Join(out, "conform-memory.md"))
	if err != nil || !strings.Contains(string(page), "- "+r.Groups[0].Verified[0]) || !strings.Contains(string(page), "**"+r.Summary()+"**") {
		t.Errorf("the page lacks the verdict or a rule: %v\n%s", err, page)
	}
	if !strings.Contains(stderr, "report: ") {
		t.Errorf("stderr %q does not say where the report is", stderr)
	}
}

func TestConformOnly(t *testing.T) {
	tests := []struct {
		only, want, not string
	}{
		{"unique/taken", "  unique                   1 passed\n1 passed, 0 failed", "random operations"},
		{"unique/taken,walk and scan/bad", "  walk and scan            1 passed\n2 passed, 0 failed", "conditions"},
		{"c", "concurrent histories", "unique"},
		{"random operations", "  random operations      480 against the reference, seed 7\n0 passed, 0 failed", "unique"},
	}
	for _, tt := range tests {
		code, stdout, _ := do(t, "conform", "memory:", "--only", tt.only, "--seed", "7", "--ops", "480", "--histories", "3", "--out", t.TempDir())
		if code != loadtest.Met || !strings.Contains(stdout, tt.want) || strings.Contains(stdout, tt.not) {
			t.Errorf("--only %q: exit %d, want %q and not %q in\n%s", tt.only, code, tt.want, tt.not, stdout)
		}
	}
}

// A command that cannot be done, or would do nothing, is no success.
func TestConformUsage(t *testing.T) {
	file := write(t, "file", "")
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"memory:", "--only", "uniqe"}, `no rule begins with "uniqe"; the groups are keys and order, `},
		{[]string{"memory:", "--only", "unique/taken,uniqe"}, `no rule begins with "uniqe"; the groups are `},
		{[]string{"memory:", "--only", "random operations", "--ops", "-1"}, "no rule begins with"},
		{[]string{"mysql://user:secret@localhost/"}, "none of memory, pebble"},
		{[]string{"memory"}, "has no scheme"},
		{[]string{"pebble:" + file}, "pebble: open"},
		{[]string{"pebble:/tmp/x?sync=maybe"}, "option sync is to be true or false"},
		{[]string{}, "polystore help conform"},
		{[]string{"memory:", "--seed", "x"}, "--seed"},
		{[]string{"memory:", "--out", filepath.Join(file, "below")}, "make the folder for the report"},
	}
	for _, tt := range tests {
		args := append([]string{"conform"}, tt.args...)
		if len(tt.args) < 3 || tt.args[1] != "--out" {
			args = append(args, "--out", t.TempDir())
		}
		code, stdout, stderr := do(t, args...)
		if code != loadtest.Usage || stdout != "" || !strings.Contains(strings.ReplaceAll(stderr, "-seed", "--seed"), tt.want) {
			t.Errorf("%q: exit %d, stdout %q, stderr %q; want %q", tt.args, code, stdout, stderr, tt.want)
		}
		if strings.Contains(stderr, "secret") {
			t.Errorf("%q: a secret in %q", tt.args, stderr)
		}
	}
}

// Without --out there is a report, and no file of it.
func TestConformWithoutFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	code, stdout, stderr := do(t, "conform", "memory:", "--only", "unique/taken")
	left, err := os.ReadDir(".")
	if code != loadtest.Met || !strings.HasSuffix(stdout, "\n1 passed, 0 failed, 0 not supported\n") || err != nil || len(left) != 0 {
		t.Errorf("exit %d, %d files, %v\n%s%s", code, len(left), err, stdout, stderr)
	}
}

// An interrupter calls a function when something is written.
type interrupter func()

func (i interrupter) Write(p []byte) (int, error) {
	i()
	return len(p), nil
}

func TestConformInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := t.TempDir()
	var stdout, stderr bytes.Buffer
	code := report(run(ctx, []string{"conform", "memory:", "--out", out}, &stdout, interrupter(cancel)), &stderr)
	left, err := os.ReadDir(out)
	if code != interrupted || !strings.Contains(stdout.String(), " 0 failed, ") || !strings.Contains(stdout.String(), "; the run was broken off") || err != nil || len(left) != 2 {
		t.Errorf("exit %d, stdout %q, %d files, %v; want 130, and a report of what was done", code, stdout.String(), len(left), err)
	}
}

// A forgetful store leaves the first row of every range out.
type forgetful struct{ *memory.Store }

func (f forgetful) Range(ctx context.Context, s driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		first := true
		for r, err := range f.Store.Range(ctx, s) {
			if first && err == nil {
				first = false
				continue
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// What does not hold is told in full, with the command that shows it again, and is
// the exit code. No URL leads to a store that is broken, so the test begins behind
// it.
func TestConformFails(t *testing.T) {
	for _, tt := range []struct {
		only string
		want []string
	}{
		{"queries and cursors/order", []string{
			"  queries and cursors      0 passed   1 failed\n",
			"\nqueries and cursors/order\n  Order sorts, greater values first where the field has a minus, and Limit takes the first.\n" +
				"  want   the 0 oldest messages to be [\"h 000\" \"h 001\"", "\n  got    [\"h 001\" ",
			"\n  again  polystore conform broken: --seed 7 --only \"queries and cursors/order\"\n", "\n\n0 passed, 1 failed, 0 not supported        report: "}},
		{"random operations", []string{
			"\n  random operations        0 passed   1 failed\n", "seed 7, episode ", "shrunk to ", " operations:\n", ", want ",
			"\n  again  polystore conform broken: --seed 7 --only \"random operations\" --ops 3200\n", "\n0 passed, 1 failed, "}},
	} {
		open := func(context.Context) (driver.Store, error) { return forgetful{memory.New(nil)}, nil }
		r, err := conformance.Check(t.Context(), open, conformance.Options{Seed: 7, Ops: 3200, Only: tt.only, Again: "polystore conform broken:"})
		if err != nil {
			t.Fatal(err)
		}
		f := conformFlags{out: t.TempDir()}
		var stdout, stderr bytes.Buffer
		err = f.write(r, &stdout, &stderr)
		if code := report(err, &stderr); code != loadtest.Missed || stderr.Len() > 0 {
			t.Errorf("--only %q: exit %d, %q, want %d", tt.only, code, stderr.String(), loadtest.Missed)
		}
		for _, want := range tt.want {
			if !strings.Contains(stdout.String(), want) {
				t.Errorf("--only %q: no %q in\n%s", tt.only, want, stdout.String())
			}
		}
		if e, ok := errors.AsType[exit](err); !ok || e.err != nil {
			t.Errorf("the error %v says more than the report", err)
		}
	}
}
