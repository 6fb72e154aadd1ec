package gate_test

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

var checks = []check{
	{"conditions", conditions},
	{"conditions of claims", claimConditions},
	{"replay", replay},
	{"expiry", expiry},
	{"dead", deadRows},
	{"patches", patches},
	{"values", valuesKept},
	{"large", large},
	{"order", order},
	{"authors", authors},
	{"several", several},
	{"deaths", deaths},
	{"walk", walk},
	{"racing", racing},
}

var remoteCheck = check{"remote", remote}

// Most of the time is spent in waiting for servers.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err) // the flag is the testing package's own
	}
	os.Exit(m.Run())
}

func runChecks(t *testing.T, dial func(statements) store, checks []check, controls []control) {
	design := readDesign(t)
	byName, controlled := map[string]check{}, map[string]bool{}
	for _, c := range checks {
		byName[c.name] = c
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if err := runCheck(t, c, dial(design)); err != nil {
				t.Error(err)
			}
		})
	}
	for _, c := range controls {
		controlled[c.check] = true
		t.Run("control "+c.check, func(t *testing.T) {
			t.Parallel()
			runControl(t, dial, design, byName[c.check], c)
		})
	}
	for _, c := range checks {
		if !controlled[c.name] {
			t.Errorf("check %s has no control", c.name)
		}
	}
}

func runControl(t *testing.T, dial func(statements) store, design statements, check check, c control) {
	if c.label != "" {
		design = design.spoil(t, c.label, c.old, c.new)
	}
	s := dial(design)
	if c.wrap != nil {
		s = c.wrap(s)
	}
	err := runCheck(t, check, s)
	switch {
	case c.error == "" && !errors.Is(err, errDiffers):
		t.Errorf("%s with %q for %q: the check says %v, want that it notices", c.label, c.new, c.old, err)
	case c.error != "" && (err == nil || !strings.Contains(err.Error(), c.error)):
		t.Errorf("%s with %q for %q: the server says %v, want %q", c.label, c.new, c.old, err, c.error)
	}
}

func runCheck(t *testing.T, c check, s store) error {
	p, err := newPlay(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return c.run(t.Context(), p)
}

func TestRedis(t *testing.T) {
	t.Parallel()
	dial := newRedis(t, dialRedis(t, testserver.Shared(t, testserver.Redis).URL))
	runChecks(t, dial, append(checks, remoteCheck), redisControls())
}

func TestMongo(t *testing.T) {
	t.Parallel()
	dial := newMongo(t, "gate"+driver.NewToken().String())
	runChecks(t, dial, append(checks, remoteCheck), mongoControls())
}

func TestCassandra(t *testing.T) {
	t.Parallel()
	dial := newCassandra(t, "gate"+driver.NewToken().String())
	runChecks(t, dial, checks, cassandraControls())
}
