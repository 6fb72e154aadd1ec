package loadtest

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/loadtest/internal/store"
	"github.com/polystore/polystore/loadtest/internal/testload"
)

// A killed run is not taken for a process that has its number now: in a container all programs may
// have the same.
func TestLeftoversOfAProcessWithTheNumberOfAnother(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{os.Getpid(), os.Getppid()} {
		s := lasting{newWatched()}
		run := left(t, s, store.Leftover{Host: host, Process: pid, Mark: "0123456789ab", Began: time.Now()})
		var log bytes.Buffer
		opts := options(s)
		opts.Log = &log
		if _, err := Run(t.Context(), mustParse(t, testload.Small), opts); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(log.String(), run) || !strings.Contains(log.String(), "which was killed") {
			t.Errorf("process %d: the next run does not name %s:\n%s", pid, run, &log)
		}
		if said := clean(t, s); !strings.Contains(said, "removed: run "+run) || len(s.tables) > 0 {
			t.Errorf("process %d: %q, tables %v are left", pid, said, s.tables)
		}
	}
}
