package crash_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/internal/testserver"
)

// Programs that do all acts at once are killed when each has made so many of its changes: one or two of them or, on
// Pebble and with -tree-kills, all there are.
func TestPackages(t *testing.T) {
	server := func(s testserver.Store) string { return testserver.Shared(t, s).URL }
	for name, url := range map[string]func() string{
		"pebble": func() string { return "pebble:" + t.TempDir() },
		"redis":  func() string { return server(testserver.Redis) },
		"mongo":  func() string { return with(server(testserver.Mongo), "database=crashpackages"+patient) },
		"cassandra": func() string {
			return strings.TrimSuffix(server(testserver.Cassandra), "/") + "/crash?replication=1&timeout=60s&connect_timeout=60s"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &wreck{url: url(), ends: map[string][2]string{}}
			w.by(t, w.begin)
			from, to := 1, 2
			if *treeKills > 1 || name == "pebble" {
				from, to = 0, mostCalls
			}
			for left := killedActs(); from <= to && len(left) > 0; from++ {
				left = w.kill(t, left, from)
			}
		})
	}
}

// killedActs returns the acts that do not see each other.
func killedActs() []act {
	return slices.DeleteFunc(acts(), func(a act) bool { return a.name == "history-prune" })
}

// A wreck is a kit with which programs are killed.
type wreck struct {
	url, name string
	ends      map[string][2]string // states from before and after acts
}

// by calls do with the kit's place as a program has it that begins now.
func (w *wreck) by(t *testing.T, do func(t *testing.T, p *place) error) {
	t.Helper()
	s, err := backends.OpenDriver(t.Context(), w.url)
	if err != nil {
		t.Fatal(err)
	}
	err = do(t, &place{Store: s, name: w.name})
	if closed := s.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
}

// begin makes the kit, and finds out what acts do.
func (w *wreck) begin(t *testing.T, p *place) error {
	p, err := newPlace(t.Context(), p.Store, false)
	if err != nil {
		return err
	}
	w.name = p.name
	k, err := p.open(t.Context())
	if err != nil {
		return err
	}
	if !strings.HasPrefix(w.url, "pebble:") { // which goes with its directory
		for _, name := range slices.Backward(k.collections()) {
			dropped(t, w.url, name)
		}
	}
	for _, a := range killedActs() {
		before, after, err := p.ends(t.Context(), &a)
		if err != nil {
			return err
		}
		w.ends[a.name] = [2]string{before, after}
	}
	return nil
}

// kill kills a program after so many changes of each act, lets the next one go on, and returns the acts that did not
// end.
func (w *wreck) kill(t *testing.T, acts []act, changes int) (left []act) {
	t.Helper()
	o := order{URL: w.url, Collection: w.name, Calls: changes}
	for _, a := range acts {
		o.Paths = append(o.Paths, a.name)
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	said, err := process(t.Context(), string(text))
	if err != nil {
		t.Fatal(err)
	}
	w.by(t, func(t *testing.T, p *place) error {
		k, err := p.open(t.Context())
		if err != nil {
			return err
		}
		faults, err := k.upkeep(t.Context(), func() error { return nil })
		for _, a := range acts {
			done := strings.Contains(said, o.home(a.name)+" done\n")
			if !done {
				left = append(left, a)
			}
			if err == nil {
				var more []string
				more, err = a.settled(t.Context(), k, o.home(a.name), w.ends[a.name][0], w.ends[a.name][1], done)
				faults = append(faults, more...)
			}
		}
		for _, fault := range faults {
			t.Errorf("killed after %d changes: %s", changes, fault)
		}
		t.Logf("after %d changes %d of %d acts were under way", changes, len(left), len(acts))
		return err
	})
	return left
}
