package pebble_test

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/repo/driver"
)

// A crashed disk is a copy as a loss of power would leave it.
type crashed struct {
	disk  vfs.FS
	acked map[int]bool // what was acknowledged before
}

// crashes writes notes from several goroutines and takes copies of the disk
// meanwhile, with so many percent of the data that was not synced.
func crashes(t *testing.T, opts pebble.Options, kept int) (all *ledger, copies []crashed) {
	t.Helper()
	disk := vfs.NewCrashableMem()
	opts.FS = disk
	tables := noteTables()
	s := mustOpen(t, "/data", &opts, tables)
	all = &ledger{}
	var mu sync.Mutex
	crash := func(i int) {
		mu.Lock()
		defer mu.Unlock()
		acked := map[int]bool{}
		all.mu.Lock()
		for id := range all.outcome {
			acked[id] = true
		}
		all.mu.Unlock()
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		copies = append(copies, crashed{disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: kept, RNG: rng}), acked})
	}
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := range 40 {
				if err := all.insert(s, tables, 1000*w+i, 300); err != nil {
					t.Errorf("insert = %v", err)
				}
				if i%13 == 4*w {
					crash(i)
				}
				if i == 20 && w == 0 {
					if _, err := s.Size(t.Context(), tables[0]); err != nil { // flushes
						t.Error(err)
					}
				}
			}
		})
	}
	writers.Wait()
	return all, copies
}

// recover opens a copy and says what contradicts the answers.
func (c *crashed) recover(t *testing.T, opts pebble.Options, all *ledger) error {
	t.Helper()
	opts.FS = c.disk
	tables := noteTables()
	s := mustOpen(t, "/data", &opts, tables)
	expected := ledger{outcome: map[int]error{}}
	for id := range all.outcome {
		if expected.outcome[id] = driver.ErrUnknownOutcome; c.acked[id] {
			expected.outcome[id] = nil
		}
	}
	return expected.check(s, tables)
}

// TestLossOfPower loses nothing that was acknowledged, and tears nothing.
func TestLossOfPower(t *testing.T) {
	for _, kept := range []int{0, 50} {
		all, copies := crashes(t, pebble.Options{}, kept)
		if len(copies) < 10 || len(copies[len(copies)-1].acked) < 100 {
			t.Errorf("%d copies, the last with %d notes: too little is tested", len(copies), len(copies[len(copies)-1].acked))
		}
		for _, c := range copies {
			if err := c.recover(t, pebble.Options{}, all); err != nil {
				t.Errorf("with %d %% of the data that was not synced: %v", kept, err)
			}
		}
	}
}

// TestLossOfPowerWithoutSync is the control: the weaker class does lose, but even
// then it tears nothing.
func TestLossOfPowerWithoutSync(t *testing.T) {
	opts := pebble.Options{NoSync: true}
	lost := false
	for round := 0; round < 10 && !lost; round++ {
		all, copies := crashes(t, opts, 50)
		for _, c := range copies {
			err := c.recover(t, opts, all)
			if err == nil {
				continue
			}
			lost = true
			if strings.Contains(err.Error(), "torn") {
				t.Error(err)
			}
		}
	}
	if !lost {
		t.Error("nothing was lost in ten rounds: the test does not test what it should")
	}
}
