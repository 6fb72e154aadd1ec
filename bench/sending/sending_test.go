package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/internal/testserver"
)

// A run has every figure, and leaves nothing.
func TestRun(t *testing.T) {
	var out, progress bytes.Buffer
	url := testserver.Shared(t, testserver.Redis).URL
	if err := run(t.Context(), []string{"-records", "1000", "-rounds", "1", "-rates", "200", "-for", "50ms", url}, &out, &progress); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`(?s)\| go-redis alone \| [1-9].*\| go-redis alone \| [1-9]\d+ \| [0-9.]+µs \| `, `(?s)\| the library alone \| [1-9].*\| the library alone \| [1-9]`,
		`\| polystore load at 200 \| (1[5-9]\d|20\d) \| [1-9][0-9.]*µs \| [0-9.]+ \| [0-9.]+[mµ]?s \| \d+ % \| [A-Z ]+ \|`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("nothing like %q in\n%s", want, &out)
		}
	}
	opts, err := goredis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := goredis.NewClient(opts)
	defer client.Close()
	if keys, _, err := client.Scan(t.Context(), 0, "*sending_*", 1_000_000).Result(); err != nil || len(keys) > 0 {
		t.Errorf("keys %.200q are left, %v", keys, err)
	}
}

func TestArguments(t *testing.T) {
	for args, want := range map[string]string{
		"":                                    "no store",
		"memory:":                             "want the URL of one Redis",
		"redis://x redis://y":                 "want the URL of one Redis",
		"-rates 10,x redis://x":               "want numbers from 100",
		"-records 1 redis://x":                "-records: at least 1000",
		"-rounds 0 redis://x":                 "-rounds: at least 1",
		"-for 1ms redis://x":                  "-for: at least 10ms",
		"-rates 100 -records 1000 redis://[x": "redis",
	} {
		var out, progress bytes.Buffer
		if err := run(t.Context(), strings.Fields(args), &out, &progress); err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("%q: %v, want %q; printed %q", args, err, want, &out)
		}
	}
}
