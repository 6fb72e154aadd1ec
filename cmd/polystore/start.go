package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/internal/ownserver"
	"github.com/polystore/polystore/loadtest"
)

// stores returns the URLs to measure on, and what removes the stores that were made for this run.
func (f *loadFlags) stores(ctx context.Context, stderr io.Writer) (on []string, clean func() error, err error) {
	if err := writable(f.out); err != nil {
		return nil, nil, exit{loadtest.Usage, fmt.Errorf("load: %w", err)}
	}
	switch at := slices.Index(f.on, newPebble); {
	case at >= 0 && slices.Contains(f.on[at+1:], newPebble):
		return nil, nil, usageError("load: --on pebble: makes one new store; write it once, or name directories, as in pebble:DIR")
	case f.keep && len(f.starts) > 0:
		return nil, nil, usageError("load: a server of --start ends with the run, and nothing of it is kept; say --keep or --start")
	case f.reuse && len(f.starts) > 0:
		return nil, nil, usageError("load: a server of --start is new, and has nothing to --reuse; say --reuse or --start")
	case f.reuse && (len(f.on) == 0 || at >= 0):
		return nil, nil, usageError("load: a new Pebble store has nothing to --reuse; name the one that was kept, as in --on pebble:runs/store-…")
	}
	on, clean = slices.Clone(f.on), func() error { return nil }
	if len(f.on)+len(f.starts) == 0 {
		on = []string{newPebble}
	}
	if at := slices.Index(on, newPebble); at >= 0 {
		if on[at], clean, err = f.makePebble(stderr); err != nil {
			return nil, nil, err
		}
	}
	for _, words := range f.starts {
		url, end, err := f.startServer(ctx, words, stderr)
		before := clean
		clean = func() error { return errors.Join(end(), before()) }
		if err != nil {
			return nil, nil, errors.Join(err, clean())
		}
		on = append(on, url)
	}
	return on, clean, nil
}

// startServer starts a server in a folder of its own, and returns its URL and what ends it and removes the folder.
func (f *loadFlags) startServer(ctx context.Context, words string, stderr io.Writer) (url string, end func() error, err error) {
	dir, err := f.makeFolder(stderr)
	if err != nil {
		return "", func() error { return nil }, err
	}
	end = func() error { return os.RemoveAll(dir) }
	list := strings.Fields(words)
	if len(list) == 0 {
		return "", end, usageError("load: --start names a server, as in --start redis")
	}
	began := time.Now()
	s, err := ownserver.Start(ctx, list[0], list[1:], f.scripts, dir)
	switch {
	case ctx.Err() != nil:
		return "", end, ctx.Err()
	case err != nil:
		return "", end, exit{loadtest.Usage, fmt.Errorf("load: --start %s: %w", words, err)}
	}
	fmt.Fprintf(stderr, "%s is started at %s, after %v\n", list[0], s.URL, time.Since(began).Round(time.Second/10))
	if f.servers == nil {
		f.servers = map[string]loadtest.Server{}
	}
	f.servers[s.URL] = s
	return s.URL, func() error { return errors.Join(s.Kill(), os.RemoveAll(dir)) }, nil
}
