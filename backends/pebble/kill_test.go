package pebble_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// TestKill loses nothing that was acknowledged when the writer is killed, time and
// again, and leaves nothing in part. What the loss of power does, of which the kernel
// dies too, is for TestLossOfPower.
func TestKill(t *testing.T) {
	url := "pebble:" + t.TempDir()
	var all []*progress
	for round := range 5 {
		all = append(all, killed(t, url, round, 150+40*round)...)
		if lost := afterKill(t, url, all); len(lost) > 0 {
			t.Errorf("round %d: acknowledged and lost: %q", round, lost)
		}
	}
	underWay := 0
	for _, p := range all {
		underWay += p.begun - p.acked
	}
	if underWay < 5 {
		t.Errorf("%d writes were under way at five kills, want one at each", underWay)
	}
	t.Logf("%d pairs of records; %d writes were under way", len(all), underWay)
}

// TestKillWithoutSync is the control: what the process had not yet handed to the
// kernel is lost with it. Pebble keeps a block of its log, of 32 KiB, until it is full
// or a sync asks for it, and none does. Even so nothing is in part.
func TestKillWithoutSync(t *testing.T) {
	for round := range 10 {
		url := "pebble:" + t.TempDir() + "?sync=false"
		all := killed(t, url, round, 150+40*round)
		if lost := afterKill(t, url, all); len(lost) > 0 {
			t.Logf("round %d: of %d pairs %d had lost a step", round, len(all), len(lost))
			return
		}
	}
	t.Error("nothing was lost in ten rounds: the test does not test what it should")
}

// killed lets a process write to a store, kills it when so many writes were
// acknowledged, and returns what it said.
func killed(t *testing.T, url string, round, writes int) (list []*progress) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), writerStore+"="+url, fmt.Sprint(writerRound, "=", round))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	pairs := map[string]*progress{}
	for n := 0; lines.Scan(); {
		if !heard(t, pairs, lines.Text()) {
			continue
		}
		switch n++; n {
		case writes / 2:
			locked(t, url)
		case writes:
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.Exited() {
		t.Fatalf("the writer ended by itself: %v", err)
	}
	for _, p := range pairs {
		list = append(list, p)
	}
	return list
}

// heard notes a line of the writer, and reports whether it is an acknowledgement.
func heard(t *testing.T, pairs map[string]*progress, line string) bool {
	t.Helper()
	var what, team, pair string
	var step int
	if _, err := fmt.Sscan(line, &what, &team, &pair, &step); err != nil || what != "begin" && what != "done" {
		t.Fatalf("the writer says %q", line)
	}
	p := pairs[team+pair]
	if p == nil {
		p = &progress{team: team, pair: pair}
		pairs[team+pair] = p
	}
	if what == "begin" {
		p.begun = step
		return false
	}
	p.acked = step
	return true
}

// locked sees that the writer has the store for itself.
func locked(t *testing.T, url string) {
	t.Helper()
	s, err := pebble.OpenURL(url)
	if err == nil {
		s.Close()
	}
	if !errors.Is(err, driver.ErrLocked) {
		t.Errorf("open beside the writer = %v, want ErrLocked", err)
	}
}

// afterKill opens the store, which the lock of the dead process does not prevent,
// compares what is there with what the writer said, and returns the pairs that lack
// an acknowledged step. All must be as after some step, whole, with their index
// rows.
func afterKill(t *testing.T, url string, pairs []*progress) (lost []string) {
	t.Helper()
	d, r, err := openAccounts(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	inStep(t, r)
	slices.SortFunc(pairs, func(p, q *progress) int { return strings.Compare(p.pair, q.pair) })
	cut := map[string]string{} // by round and team: its first pair that is not complete
	records := 0
	for _, p := range pairs {
		found := pairIn(t, r, p)
		for _, rec := range found {
			if rec != nil {
				records++
			}
		}
		step, ok := p.step(found)
		if !ok {
			t.Errorf("%s %s is as after no step up to %d: %s", p.team, p.pair, p.begun, pairText(found))
		}
		if step < p.acked {
			lost = append(lost, fmt.Sprintf("%s %s: step %d of %d", p.team, p.pair, step, p.acked))
		}
		writer, _, _ := strings.Cut(p.pair, "n")
		writer += p.team
		if first := cut[writer]; first != "" && step > 0 {
			t.Errorf("%s %s is there, and %s, which its goroutine wrote before it, is not complete", p.team, p.pair, first)
		}
		if step < steps && cut[writer] == "" {
			cut[writer] = p.pair
		}
	}
	if n := countAll(t, r); n != records {
		t.Errorf("there are %d records, of which %d were written", n, records)
	}
	return lost
}

// inStep sees that every index agrees with the records.
func inStep(t *testing.T, r *repo.Repo[account]) {
	t.Helper()
	reports, err := r.Verify(t.Context())
	if err != nil || len(reports) != 4 {
		t.Fatalf("Verify = %d reports, %v", len(reports), err)
	}
	for _, rep := range reports {
		if !rep.Clean() {
			t.Errorf("index %s: %d rows missing, %d stale: %q", rep.Index, rep.Missing, rep.Stale, rep.Samples)
		}
	}
}

// pairIn reads a pair.
func pairIn(t *testing.T, r *repo.Repo[account], p *progress) [2]*account {
	t.Helper()
	list, there, err := r.GetMany(t.Context(), []repo.Key{{p.team, p.pair + "a"}, {p.team, p.pair + "b"}})
	if err != nil {
		t.Fatal(err)
	}
	var found [2]*account
	for i := range list {
		if there[i] {
			list[i].Version = repo.Version{}
			found[i] = &list[i]
		}
	}
	return found
}

func pairText(found [2]*account) string {
	text := ""
	for _, rec := range found {
		if rec == nil {
			text += "none; "
			continue
		}
		text += fmt.Sprintf("%+v; ", *rec)
	}
	return text
}

// countAll walks over all records.
func countAll(t *testing.T, r *repo.Repo[account]) int {
	t.Helper()
	n := 0
	for chunk, err := range r.Walk(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		n += len(chunk.Items)
	}
	return n
}

// The comparison with what the writer said sees a write that is lost, one that is
// half done, and one that nobody asked for.
func TestAfterKillSees(t *testing.T) {
	p := &progress{team: "team", pair: "pair", begun: 4, acked: 3}
	for step := range steps + 1 {
		got, ok := p.step(pairAt("team", "pair", step))
		if want := step <= 4; ok != want || ok && got != step {
			t.Errorf("as after step %d: taken for step %d, %v", step, got, ok)
		}
	}
	half := [2]*account{pairAt("team", "pair", 3)[0], pairAt("team", "pair", 2)[1]}
	if step, ok := p.step(half); ok {
		t.Errorf("half of an exchange is taken for step %d", step)
	}
	other := pairAt("team", "pair", 2)
	other[0].Note = other[0].Note[:40]
	if step, ok := p.step(other); ok {
		t.Errorf("a note that was cut is taken for step %d", step)
	}
}
