package crash_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/polystore/polystore/repo"
)

const (
	mostCalls = 40              // of a write, with what it drops at the end
	beAWriter = 2 * time.Minute // at most
)

// A point is a place in a write at which the writer was killed, and what it had said.
type point struct {
	path     *path
	home     string
	calls    int  // of the write that were done
	done     bool // the write was acknowledged
	over     bool // all calls were done
	outcomes []outcome
}

// An outcome is that of a commit which was begun, with the collection and the home of its first record.
type outcome struct {
	*repo.Outcome
	collection, home string
}

// owns reports whether a home is one of the point's.
func (p *point) owns(home string) bool { return home == p.home || home == p.home+"z" }

// first and last are the states from before and from after the write.
func (p *point) first() state { return p.path.states(p.home)[0] }

func (p *point) last() state {
	states := p.path.states(p.home)
	return states[len(states)-1]
}

// killAll kills a writer of all paths, or of those named, after every call that one of
// them makes, until none is left.
func (s *site) killAll(t *testing.T, torn bool, names ...string) []*point {
	t.Helper()
	var all []*point
	left := slices.DeleteFunc(paths(), func(p path) bool { return len(names) > 0 && !slices.Contains(names, p.name) })
	for calls := range mostCalls {
		points, err := s.kill(t.Context(), left, calls, torn)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, points...)
		left = nil
		for _, p := range points {
			if !p.over {
				left = append(left, *p.path)
			}
		}
		if len(left) == 0 {
			return all
		}
	}
	t.Fatalf("%s makes more than %d calls", left[0].name, mostCalls)
	return nil
}

// kill runs a process that makes a write of each path and dies when each has made so many
// calls.
func (s *site) kill(ctx context.Context, paths []path, calls int, torn bool) ([]*point, error) {
	o := order{URL: s.url, Kind: s.kind, Collection: s.collection, Calls: calls, Torn: torn, Made: s.made}
	var points []*point
	for _, p := range paths {
		o.Paths = append(o.Paths, p.name)
		points = append(points, &point{path: &p, home: o.home(p.name), calls: calls})
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	said, err := process(ctx, string(text))
	if err != nil {
		return nil, fmt.Errorf("the writers that die after %d calls: %w", calls, err)
	}
	for line := range strings.Lines(said) {
		if err := hear(points, strings.TrimSpace(line)); err != nil {
			return nil, err
		}
	}
	return points, nil
}

// process runs this test binary as a process that obeys an order, which ends by SIGKILL, and
// returns what it said.
func process(ctx context.Context, order string) (said string, err error) {
	ctx, cancel := context.WithTimeout(ctx, beAWriter)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), orderVariable+"="+order)
	var out, diag bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diag
	err = cmd.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		if status, ok := ended.Sys().(syscall.WaitStatus); ok && status.Signal() == syscall.SIGKILL {
			return out.String(), nil
		}
	}
	return "", fmt.Errorf("%w\n%s", err, &diag)
}

// hear takes what a process said of one of the points.
func hear(points []*point, line string) error {
	home, what, _ := strings.Cut(line, " ")
	i := slices.IndexFunc(points, func(p *point) bool { return p.home == home })
	if i < 0 {
		return fmt.Errorf("a writer says %q", line)
	}
	switch p := points[i]; what {
	case "done":
		p.done = true
	case "over":
		p.over = true
	default:
		o, of := new(repo.Outcome), struct{ Collection, Partition string }{}
		if err := errors.Join(o.UnmarshalText([]byte(what)), json.Unmarshal([]byte(what), &of)); err != nil {
			return fmt.Errorf("a writer says %q: %w", line, err)
		}
		text, _, _ := strings.Cut(of.Partition, "#")
		p.outcomes = append(p.outcomes, outcome{o, of.Collection, text})
	}
	return nil
}
