package main

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
)

// A run has every figure, and leaves nothing.
func TestRun(t *testing.T) {
	var out, progress bytes.Buffer
	url, profiles := "pebble:"+t.TempDir()+"?sync=false", t.TempDir()
	args := []string{"-records", "1000", "-writes", "300", "-for", "200ms", "-profile", profiles, url}
	if err := run(t.Context(), args, &out, &progress); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`\| records, loaded a second \| 1000, [1-9]`, `\| filled at full speed, a second \| [1-9]`, `\| memory beyond that of before \| heap [0-9.]+ MiB, resident`,
		`\| filled beside writes, a second \| [1-9]\d* \(the default rate`, `\| writes before \| p50 [1-9.]`, `\| writes meanwhile \| p50 `, `\| writes when it is ready \| p50 [1-9.].* \(60; `,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("nothing like %q in\n%s", want, &out)
		}
	}
	if m := regexp.MustCompile(`found by the index \| (\d+), (\d+) \|`).FindStringSubmatch(out.String()); m == nil || m[1] != m[2] {
		t.Errorf("records, and those found: %q", m)
	}
	store, err := backends.Open(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if names, err := repo.Collections(t.Context(), store); err != nil || len(names) > 0 {
		t.Errorf("collections %v are left, %v", names, err)
	}
}

// An index that lacks a record is no figure.
func TestIncomplete(t *testing.T) {
	d := memory.New(nil)
	s := &subject{options: &options{records: 100}, name: "fill", writers: &writers{}, store: repo.NewStore(d, nil)}
	defer s.store.Close()
	all, err := repo.Open[post](t.Context(), s.store, schemaOf(s.name, true, ""))
	if err != nil {
		t.Fatal(err)
	}
	s.indexed = all
	if _, err := all.InsertAll(t.Context(), posts(100)); err != nil {
		t.Fatal(err)
	}
	if err := s.count(t.Context()); err != nil {
		t.Error(err)
	}
	s.records, s.report = 40, report{} // authors beyond these are not asked for
	if err := s.count(t.Context()); err == nil || !strings.Contains(err.Error(), "finds 80 of 100 records") {
		t.Errorf("%v, want that the index finds fewer", err)
	}
}

// A write that waits for those before it counts from when it should have begun, and a failed one ends the spell.
func TestWriters(t *testing.T) {
	store := repo.NewStore(memory.New(nil), nil)
	defer store.Close()
	all, err := repo.Open[post](t.Context(), store, schemaOf("fill", false, ""))
	if err != nil {
		t.Fatal(err)
	}
	w := &writers{posts: all, loaded: 100, rate: 100}
	if _, err := w.write(t.Context(), time.Second, never); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("updates of nothing: %v", err)
	}
	if _, err := all.InsertAll(t.Context(), posts(100)); err != nil {
		t.Fatal(err)
	}
	w = &writers{posts: all, loaded: 100, rate: 1000}
	w.inserted.Store(100) // those of before
	slow := true
	got, err := w.write(t.Context(), 100*time.Millisecond, func() bool {
		if slow {
			slow = false
			time.Sleep(60 * time.Millisecond) // the writes of this time begin late
		}
		return false
	})
	if err != nil || got.writes != 100 || got.p99 < 50*time.Millisecond || got.longest < 55*time.Millisecond {
		t.Errorf("%+v, %v; want 100 writes, of which some wait", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, _ := w.write(ctx, time.Hour, never); got.writes > 0 {
		t.Errorf("%d writes after the end", got.writes)
	}
}

func TestFlags(t *testing.T) {
	for args, want := range map[string]string{
		"":                             "no store",
		"-records 99 memory:":          "at least 100",
		"-writes 0 memory:":            "at least 1",
		"-kind other memory:":          "want table or native",
		"-records 100 -for 1s nosuch:": "the scheme",
	} {
		if err := run(t.Context(), strings.Fields(args), &bytes.Buffer{}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}
