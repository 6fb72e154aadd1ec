package pebble_test

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/conformance"
	"github.com/polystore/polystore/repo"
)

// The writer that is killed. It is the test binary once more, told by its
// environment which store to write to.
const (
	writerStore = "POLYSTORE_TEST_WRITER_STORE" // URL
	writerRound = "POLYSTORE_TEST_WRITER_ROUND"
	writerLife  = 20 * time.Second // it ends by itself if nobody kills it
	writers     = 6
)

func TestMain(m *testing.M) {
	conformance.Child(openForChild)
	if url := os.Getenv(writerStore); url != "" {
		fmt.Println("failed:", writeUntilKilled(url, os.Getenv(writerRound)))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// An account is one of a pair, whose records are of one partition. Its fields are
// made of who wrote it and of the steps that its pair has behind it.
type account struct {
	Team    string       `repo:"team"`
	ID      string       `repo:"id"`
	Kind    string       `repo:"kind"`
	Step    int64        `repo:"step"`
	Mail    string       `repo:"mail"`
	Tags    []string     `repo:"tags"`
	Note    string       `repo:"note"`
	Version repo.Version `repo:",version"`
}

func openAccounts(ctx context.Context, url string) (*pebble.Store, *repo.Repo[account], error) {
	d, err := pebble.OpenURL(url)
	if err != nil {
		return nil, nil, err
	}
	r, err := repo.Open[account](ctx, repo.NewStore(d, nil), repo.Schema{Collection: "accounts", Partition: []string{"team"}, Sort: []string{"id"}, Indexes: []repo.Index{
		{Partition: []string{"kind"}, Sort: []string{"-step"}, Covers: []string{"note"}},
		{Partition: []string{"team"}, Sort: []string{"step"}},
		{Partition: []string{"tags[]"}},
		{Partition: []string{"mail"}, Unique: true},
	}})
	return d, r, err
}

// The steps of a pair: both are inserted together, the first is changed and moves in
// every index, they exchange their addresses, the second is patched, the first is
// deleted.
const steps = 5

// pairAt returns what there is of a pair after some steps, nil for no record.
func pairAt(team, pair string, step int) [2]*account {
	if step == 0 {
		return [2]*account{}
	}
	text := strings.Repeat(pair+" ", 40)
	a := &account{Team: team, ID: pair + "a", Kind: "new", Step: 1, Mail: team + pair + "@a", Tags: []string{"one", team}, Note: text}
	b := &account{Team: team, ID: pair + "b", Kind: "new", Step: 1, Mail: team + pair + "@b", Tags: []string{"two"}, Note: text + text}
	if step >= 2 {
		a.Kind, a.Step, a.Mail, a.Tags, a.Note = "moved", 2, team+pair+"@c", []string{"three", "two", team}, text+"moved"
	}
	if step >= 3 {
		a.Mail, b.Mail, a.Step, b.Step = b.Mail, a.Mail, 3, 3
	}
	if step >= 4 {
		b.Kind, b.Tags = "patched", []string{"one", "four"}
	}
	if step >= 5 {
		a = nil
	}
	return [2]*account{a, b}
}

// do does a step of a pair.
func do(ctx context.Context, r *repo.Repo[account], team, pair string, step int) error {
	now := pairAt(team, pair, step)
	a, b := now[0], now[1]
	switch step {
	case 1, 3:
		g := r.Store().Group()
		in := r.In(g)
		in.Put(a)
		in.Put(b)
		return g.Commit(ctx)
	case 2:
		_, err := r.Update(ctx, repo.Key{team, pair + "a"}, func(old *account) error {
			a.Version = old.Version
			*old = *a
			return nil
		})
		return err
	case 4:
		_, err := r.Patch(ctx, repo.Key{team, b.ID}, repo.Set("kind", b.Kind), repo.Set("tags", b.Tags))
		return err
	}
	return r.Delete(ctx, repo.Key{team, pair + "a"})
}

// writeUntilKilled lets some goroutines write. Each says on standard output what it
// begins, and what was acknowledged, in a write each, which the kernel keeps.
func writeUntilKilled(url, round string) error {
	ctx, cancel := context.WithTimeout(context.Background(), writerLife)
	defer cancel()
	_, r, err := openAccounts(ctx, url)
	if err != nil {
		return err
	}
	var number atomic.Int64
	errs := make(chan error, writers)
	for w := range writers {
		go func() {
			for {
				pair := fmt.Sprintf("r%sn%06d", round, number.Add(1))
				if err := writePair(ctx, r, fmt.Sprint("team", w), pair); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	return <-errs
}

func writePair(ctx context.Context, r *repo.Repo[account], team, pair string) error {
	for step := 1; step <= steps; step++ {
		if _, err := fmt.Printf("begin %s %s %d\n", team, pair, step); err != nil {
			return err
		}
		if err := do(ctx, r, team, pair, step); err != nil {
			return fmt.Errorf("step %d of %s %s: %w", step, team, pair, err)
		}
		if _, err := fmt.Printf("done %s %s %d\n", team, pair, step); err != nil {
			return err
		}
	}
	return nil
}

// A progress is how far a pair has come.
type progress struct {
	team, pair   string
	begun, acked int
}

// step returns the step after which a pair is as it is found; false if it is as after
// none that was begun.
func (p *progress) step(found [2]*account) (int, bool) {
	for step := p.begun; step >= 0; step-- {
		if reflect.DeepEqual(found, pairAt(p.team, p.pair, step)) {
			return step, true
		}
	}
	return 0, false
}
