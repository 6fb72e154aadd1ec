package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/repo"
)

// Every store has every figure at every size, and nothing is left in it.
func TestGrowth(t *testing.T) {
	url, file := "pebble:"+t.TempDir(), filepath.Join(t.TempDir(), "growth.json")
	var out, progress bytes.Buffer
	args := []string{"-records", "200,500", "-calls", "20", "-settle", "0s", "-json", file, "memory:", url}
	if err := growth(t.Context(), args, &out, &progress); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []report
	if err := json.Unmarshal(data, &all); err != nil || len(all) != 2 {
		t.Fatalf("%d reports, %v; want 2", len(all), err)
	}
	for _, r := range all {
		if len(r.Sizes) != 2 || r.Sizes[0].Records != 200 || r.Sizes[1].Records != 500 {
			t.Fatalf("%s: sizes %v", r.Store, r.Sizes)
		}
		for _, s := range r.Sizes {
			for _, f := range s.Figures {
				if f.Value <= 0 && f.Name != "tombstones removed" {
					t.Errorf("%s at %d: %s: %v", r.Store, s.Records, f.Name, f.Value)
				}
			}
		}
		if !strings.Contains(out.String(), "### "+r.Store+"\n\n| | 200 | 500 |\n|---|---|---|\n| posts: insert many, a second |") {
			t.Errorf("no table of %s:\n%s", r.Store, &out)
		}
	}
	checkEmpty(t, url)
}

func checkEmpty(t *testing.T, url string) {
	t.Helper()
	store, err := backends.Open(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if names, err := repo.Collections(t.Context(), store); err != nil || len(names) > 0 {
		t.Errorf("collections %v are left, %v", names, err)
	}
}

// A run that is interrupted leaves nothing either, but what it has measured.
func TestInterrupted(t *testing.T) {
	url, file := "pebble:"+t.TempDir(), filepath.Join(t.TempDir(), "growth.json")
	ctx, cancel := context.WithCancel(t.Context())
	updates := 0
	progress := writerFunc(func(p []byte) (int, error) {
		if strings.Contains(string(p), "update:") {
			if updates++; updates == 2 {
				cancel()
			}
		}
		return len(p), nil
	})
	var out bytes.Buffer
	if err := growth(ctx, []string{"-records", "200,500", "-calls", "20", "-settle", "0s", "-json", file, url}, &out, progress); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was canceled", err)
	}
	text := out.String()
	if !strings.Contains(text, "| | 200 | 500 |\n") || !strings.HasSuffix(text, " |  |\n") {
		t.Errorf("what was measured is not shown:\n%s", text)
	}
	if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), "posts: insert many") {
		t.Errorf("nor written: %v\n%s", err, data)
	}
	checkEmpty(t, url)
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestFlags(t *testing.T) {
	for args, want := range map[string]string{
		"":                               "no store",
		"-records 99 memory:":            "from 100 on",
		"-records 200,200 memory:":       "each greater",
		"-records 2e3 memory:":           "want numbers",
		"-records 200 -calls 0 memory:":  "at least 1",
		"-records 200 -calls 21 memory:": "at most a tenth",
		"nosuch:":                        "the scheme",
	} {
		if err := growth(t.Context(), strings.Fields(args), &bytes.Buffer{}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}

// Figures below ten have a fraction, and the first call of a kind is beside the median.
func TestShow(t *testing.T) {
	for f, want := range map[figure]string{{Value: 0.31}: "0.31", {Value: 0}: "0", {Value: 4.26}: "4.3", {Value: 1234.5}: "1,235", {Value: 12, Peak: 3 << 20}: "12, 3 MiB"} {
		if got := show(&f); got != want {
			t.Errorf("%v is shown as %q, want %q", f.Value, got, want)
		}
	}
	calls, s := 0, &subject{progress: io.Discard}
	err := s.time("call", 5, func(int) error {
		if calls++; calls == 1 {
			time.Sleep(20 * time.Millisecond)
		}
		return nil
	})
	if len(s.figures) != 2 || s.figures[0].Name != "call, the first" || s.figures[0].Value < 20_000 || s.figures[1].Value > 10_000 || err != nil {
		t.Errorf("figures %+v, %v", s.figures, err)
	}
}
