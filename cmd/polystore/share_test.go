package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/polystore/polystore/loadtest"
)

// Flags of shares that are wrong are refused with their name and the remedy, before anything is measured.
func TestShareFlags(t *testing.T) {
	file := write(t, "small.yaml", small)
	const server, start = "--on=redis://127.0.0.1:1", "--start-at=2000-01-01T00:00:00Z"
	for want, args := range map[string][]string{
		`for flag -share: it is I/N, the I-th of N processes, as in --share 2/3`: {"--share", "4/3", server},
		`invalid value "0/3"`: {"--share", "0/3", server},
		`invalid value "2"`:   {"--share", "2", server},
		`for flag -start-at: it is a time with its zone, the same for all shares, as in --start-at 2`: {"--share", "1/2", "--start-at", "12:00", server},
		"--start-at is for shares of a load; say which one this is, as in --share 1/3":                {start, server},
		"--share needs the time at which all shares begin, as in --start-at 2":                        {"--share", "1/2", server},
		"the start, 2000-01-01T00:00:00Z, is past; name a time by which the data are loaded":          {"--share", "1/2", start, server},
		"name it, as in --on redis://HOST:6379":                                                       {"--share", "1/2", start},
		"start it before, and name it with --on in all shares":                                        {"--share", "1/2", start, "--start", "redis"},
		"and then say polystore compare x.json RESULT":                                                {"--share", "1/2", start, server, "--baseline", "x.json"},
	} {
		args = append([]string{"load", "--out", t.TempDir(), file}, args...)
		if code, _, diag := do(t, args...); code != loadtest.Usage || !strings.Contains(diag, want) {
			t.Errorf("%q: exit %d, %q; want %q", args, code, diag, want)
		}
	}
}

// What is no share is not merged.
func TestMergeOfOthers(t *testing.T) {
	dir := t.TempDir()
	do(t, "load", write(t, "small.yaml", small), "--out", dir, "--on", "memory:", "--seed", "1")
	result := filepath.Join(dir, "small-1", "result.json")
	for want, args := range map[string][]string{
		"is the result of a whole run; name results of polystore load --share": {"merge", "--out", dir, result, result},
		"merge takes RESULT...; it got []":                                     {"merge", "--out", dir},
		"read result: ":                                                        {"merge", "--out", dir, filepath.Join(dir, "none.json")},
	} {
		if code, out, diag := do(t, args...); code != loadtest.Usage || out != "" || !strings.Contains(diag, want) {
			t.Errorf("%q: exit %d, %q, %q; want %q", args, code, out, diag, want)
		}
	}
}
