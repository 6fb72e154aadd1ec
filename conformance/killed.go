package conformance

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/spi"
	"github.com/polystore/polystore/conformance/internal/tested"
)

const (
	childVariable = "POLYSTORE_CONFORM_CHILD" // the table into which a child writes
	childLife     = 5 * time.Minute           // a child that nobody kills ends by itself
	killAfter     = 200                       // acknowledged commits
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

// writeUntilKilled says on standard output which writer had a commit acknowledged.
func writeUntilKilled(open Open, table string) error {
	ctx, cancel := context.WithTimeout(context.Background(), childLife)
	defer cancel()
	store, err := open.sound()(ctx)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	return spi.WriteUntilKilled(ctx, store, table, func(writer int) { fmt.Println("acknowledged", writer) })
}

// killed kills a child that writes and sees that what was acknowledged to it is there. The
// note says what was checked, or why nothing was.
func (s *suite) killed(ctx context.Context, child func() *exec.Cmd) (note string, err error) {
	switch {
	case child == nil:
		return "durability was not checked: there is no process to kill; see conformance.Child", nil
	case !tested.LeavesTables(s.Facts):
		return "durability was not checked: " + tested.SurvivesProcess(s.Facts), nil
	}
	limited, cancel := context.WithTimeout(ctx, s.stall)
	defer cancel()
	table := fmt.Sprintf("%s.t%d", s.ID, s.Number())
	acked, err := killAmidWrites(limited, child(), table)
	if err != nil {
		return "", err
	}
	sum := 0
	for _, n := range acked {
		sum += n
	}
	lost, err := spi.LostOfKilled(limited, s.Suite, table, acked)
	switch {
	case err != nil:
		return "", err
	case lost != "":
		return "", finding.Wanted(fmt.Sprintf("%d acknowledged rows to be there after their writer was killed", sum), "missing, by "+lost)
	case !s.Facts.OneProcess:
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
func hearChild(out io.Reader, enough func()) (acked [spi.KilledWriters]int, said string) {
	sum := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var w int
		if _, err := fmt.Sscanf(lines.Text(), "acknowledged %d", &w); err != nil || w < 0 || w >= spi.KilledWriters {
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
