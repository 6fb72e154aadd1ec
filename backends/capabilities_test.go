package backends_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

var update = flag.Bool("update", false, "write the capability table into docs/reference/capabilities.md")

const (
	begin = "<!-- capabilities -->\n"
	end   = "<!-- end -->"
)

// TestCapabilities holds the table of docs/reference/capabilities.md against what the stores say of
// themselves; with -update it writes the table.
func TestCapabilities(t *testing.T) {
	var facts []driver.Facts
	server := testserver.Start(t, testserver.Redis) // of its own, whose settings are known
	cluster := testserver.StartCluster(t)
	mongo := testserver.Start(t, testserver.Mongo)
	cassandra := "cassandra://" + testserver.Start(t, testserver.Cassandra).Addr + "/capabilities?replication=1&timeout=60s&connect_timeout=60s"
	urls := []string{"memory:", "pebble:" + t.TempDir(), "pebble:" + t.TempDir() + "?sync=false", server.URL, cluster.URL, mongo.URL, cassandra}
	for _, url := range urls {
		s, err := backends.OpenDriver(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		facts = append(facts, s.Facts())
	}
	table := capabilityTable([]string{"`memory:`", "`pebble:DIR`", "`pebble:DIR?sync=false`", "`redis://HOST`", "`redis://HOST?cluster=true`", "`mongodb://HOST`", "`cassandra://HOST/KEYSPACE`"}, facts)
	if err := hold("../docs/reference/capabilities.md", table); err != nil {
		t.Error(err)
	}
}

// hold says how the table of a file differs from what it should be, or with -update
// writes it there.
func hold(file, table string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok1 := strings.Cut(string(text), begin)
	old, after, ok2 := strings.Cut(rest, end)
	switch {
	case !ok1 || !ok2:
		return errors.New("there is no place for the capability table")
	case *update:
		return os.WriteFile(file, []byte(before+begin+table+end+after), 0o644)
	case old != table:
		return fmt.Errorf("the capability table is not what the stores say; run go test ./backends -run TestCapabilities -update\nwant:\n%s", table)
	}
	return nil
}

// capabilityTable returns the table of stores and what they are and can do.
func capabilityTable(names []string, facts []driver.Facts) string {
	rows := []struct {
		what string
		cell func(driver.Facts) string
	}{
		{"an acknowledged write survives", func(f driver.Facts) string {
			if f.Durability == driver.Delayed {
				return fmt.Sprintf("%s by %s (%s)", f.Durability, f.Delay, f.Setting)
			}
			return fmt.Sprintf("%s (%s)", f.Durability, f.Setting)
		}},
		{"changes together in one commit", func(f driver.Facts) string {
			return map[driver.Scope]string{driver.ScopeStore: "any rows", driver.ScopePartition: "rows of one partition", driver.ScopeRecord: "one row"}[f.Scope]
		}},
		{"index tables and unique values", func(f driver.Facts) string { return yes(f.Scope >= driver.ScopePartition, "no") }},
		{"in another partition than the record", func(f driver.Facts) string {
			switch {
			case f.Scope == driver.ScopeStore:
				return "changed with it, in one commit"
			case f.Remote.Has:
				return "put before it, and verified by reading it"
			}
			return "no: " + f.Remote.Reason
		}},
		{"index on a filled collection", func(f driver.Facts) string { return yes(f.Scope >= driver.ScopePartition || f.Native.Has, "no") }},
		{"indexes kept by the store", func(f driver.Facts) string {
			if len(f.NativeLocal) > 0 {
				return "local indexes by equality"
			}
			return ability(func(f driver.Facts) driver.Ability { return f.Native })(f)
		}},
		{"counts without reading rows", ability(func(f driver.Facts) driver.Ability { return f.Counts })},
		{"bytes by collection", ability(func(f driver.Facts) driver.Ability { return f.Sizes })},
		{"several processes at once", func(f driver.Facts) string { return yes(!f.OneProcess, "no: one process at a time") }},
		{"outcomes can be unknown", func(f driver.Facts) string {
			return yes(f.Uncertain, "only when the disk fails or a call is cancelled")
		}},
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("---|", len(names)))
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s |", r.what)
		for _, f := range facts {
			fmt.Fprintf(&b, " %s |", r.cell(f))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func yes(has bool, otherwise string) string {
	if has {
		return "yes"
	}
	return otherwise
}

func ability(of func(driver.Facts) driver.Ability) func(driver.Facts) string {
	return func(f driver.Facts) string {
		a := of(f)
		if !a.Has {
			return "no: " + a.Reason
		}
		return "yes"
	}
}
