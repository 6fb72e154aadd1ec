package conformance

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/repo/driver"
)

const (
	childVariable = "POLYSTORE_CONFORM_CHILD" // the table into which a child writes
	childWriters  = 4
	childLife     = 5 * time.Minute // a child that nobody kills ends by itself
	killAfter     = 200             // acknowledged commits
)

// hasChild says that the program calls Child, so that Run can start it as a child.
var hasChild atomic.Bool

// Child makes a program one that Run, or Check by Options.Child, can kill in order to see what
// acknowledged commits survive. Call it before anything else, in TestMain for instance, with
// what opens the store that the test opens, in a process of its own. It returns at once unless
// the process is such a child; then it writes until it is killed.
func Child(open Open) {
	table := os.Getenv(childVariable)
	if table == "" {
		hasChild.Store(true)
		return
	}
	fmt.Println("failed:", writeUntilKilled(open, table))
	os.Exit(1)
}

// ownChild returns the command that starts this program as a child, nil if it is none.
func ownChild() func() *exec.Cmd {
	if !hasChild.Load() {
		return nil
	}
	return func() *exec.Cmd { return exec.Command(os.Args[0]) }
}

// childTable returns the table into which a child writes.
func childTable(name string) *driver.Table {
	t := *newTables("").sorted
	t.Name = name
	return &t
}

// childEnv returns an env by which parent and child have the same keys.
func childEnv(s *suite) *env { return &env{suite: s, tag: "killed"} }

// writeUntilKilled says on standard output which writer had a commit acknowledged.
func writeUntilKilled(open Open, table string) error {
	ctx, cancel := context.WithTimeout(context.Background(), childLife)
	defer cancel()
	store, err := open.sound()(ctx)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	t, e := childTable(table), childEnv(&suite{})
	if err := store.Define(ctx, []*driver.Table{t}); err != nil {
		return fmt.Errorf("define: %w", err)
	}
	errs := make([]error, childWriters)
	var wg sync.WaitGroup
	for w := range childWriters {
		wg.Go(func() {
			for n := 0; errs[w] == nil; n++ {
				if errs[w] = commitTo(ctx, store, t, e.at(t, fmt.Sprint(w), fmt.Sprintf("%06d", n)), "x"); errs[w] == nil {
					fmt.Println("acknowledged", w)
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// killed kills a child that writes and sees that what was acknowledged to it is there. The
// note says what was checked, or why nothing was.
func (s *suite) killed(ctx context.Context, child func() *exec.Cmd) (note string, err error) {
	switch {
	case child == nil:
		return "durability was not checked: there is no process to kill; see conformance.Child", nil
	case !leavesTables(s.facts):
		return "durability was not checked: " + survivesProcess(s.facts), nil
	}
	limited, cancel := context.WithTimeout(ctx, s.stall)
	defer cancel()
	t := childTable(fmt.Sprintf("%s.t%d", s.id, s.number()))
	acked, err := killAmidWrites(limited, child(), t.Name)
	if err != nil {
		return "", err
	}
	lost, sum := "", 0
	for _, n := range acked {
		sum += n
	}
	err = finding.Caught(func() error {
		e := childEnv(s)
		e.reopened(limited, t, func(store driver.Store) { lost = lostRows(limited, e, store, t, acked) })
		return nil
	})
	switch {
	case err != nil:
		return "", err
	case lost != "":
		return "", finding.Wanted(fmt.Sprintf("%d acknowledged rows to be there after their writer was killed", sum), "missing, by "+lost)
	case !s.facts.OneProcess:
		return fmt.Sprintf("%s commits are there whose client was killed; the end of the server was not checked", thousandsOf(sum)), nil
	}
	return fmt.Sprintf("%s commits are there whose process was killed; a loss of power was not checked", thousandsOf(sum)), nil
}

// killAmidWrites starts a child, kills it when it has written enough, and returns how many
// commits were acknowledged to each of its writers.
func killAmidWrites(ctx context.Context, cmd *exec.Cmd, table string) ([]int, error) {
	cmd.Env = append(cmd.Environ(), childVariable+"="+table)
	var diag bytes.Buffer
	cmd.Stderr = &diag
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the child: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	acked, said := hearChild(out, func() { _ = cmd.Process.Kill() })
	err = cmd.Wait()
	if said == "" && ctx.Err() == nil && err != nil && acked[0]+acked[1]+acked[2]+acked[3] >= killAfter {
		return acked[:], nil
	}
	return nil, finding.Wanted(fmt.Sprintf("a child that writes until it is killed, after %d commits", killAfter),
		fmt.Sprintf("%v of its writers, %v; %s%s", acked, err, said, lastOf(diag.String())))
}

// hearChild counts what a child says, and calls enough when that is enough.
func hearChild(out io.Reader, enough func()) (acked [childWriters]int, said string) {
	sum := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var w int
		if _, err := fmt.Sscanf(lines.Text(), "acknowledged %d", &w); err != nil || w < 0 || w >= childWriters {
			said += strings.TrimSpace(lines.Text()) + "\n"
			continue
		}
		acked[w]++
		if sum++; sum == killAfter {
			enough()
		}
	}
	return acked, said
}

// lastOf returns the end of a text.
func lastOf(text string) string { return text[max(0, len(text)-2000):] }
