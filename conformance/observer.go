package conformance

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
)

// An observer is a process of this same program that is told which rules run, and names them
// when this process has died: a panic in a goroutine of the backend, os.Exit and a lack of
// memory leave no time for it. A nil observer hears nothing.
type observer struct {
	mu sync.Mutex
	in io.WriteCloser
}

// observerVariable makes a process an observer.
const observerVariable = "POLYSTORE_CONFORM_OBSERVER"

// A process becomes an observer before anything of the program runs, its TestMain for instance,
// which may start servers.
func init() {
	if os.Getenv(observerVariable) != "" {
		signal.Ignore(os.Interrupt) // which ends the other process, too
		fmt.Fprint(os.Stderr, testimony(os.Stdin))
		os.Exit(0)
	}
}

// newObserver starts an observer, or returns nil where a program cannot start itself.
func newObserver() *observer {
	program, err := os.Executable()
	if err != nil {
		return nil
	}
	cmd := exec.Command(program)
	cmd.Env, cmd.Stderr = append(os.Environ(), observerVariable+"=1"), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return nil
	}
	go func() { _ = cmd.Wait() }()
	return &observer{in: in}
}

func (o *observer) tell(sign, id string) {
	if o != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		fmt.Fprintf(o.in, "%s%s\n", sign, id)
	}
}

func (o *observer) names(id string)  { o.tell("=", id) }
func (o *observer) begins(id string) { o.tell("+", id) }
func (o *observer) ends(id string)   { o.tell("-", id) }

// close says that the run has come to its end.
func (o *observer) close() {
	if o != nil {
		o.tell(".", "")
		o.in.Close()
	}
}

// testimony reads what began and ended, and names what was running if the end is missing.
func testimony(in io.Reader) string {
	var running []string
	run := ""
	for lines := bufio.NewScanner(in); lines.Scan(); {
		sign, id := lines.Text()[:1], lines.Text()[1:]
		switch sign {
		case "=":
			run = id
		case "+":
			running = append(running, id)
		case "-":
			running = slices.DeleteFunc(running, func(r string) bool { return r == id })
		case ".":
			return ""
		}
	}
	left := fmt.Sprintf("conformance: what it left in the store has names that begin with %s; Clean, or polystore conform --clean, removes that\n", run)
	if len(running) == 0 {
		return "conformance: the process died between two rules\n" + left
	}
	text := fmt.Sprintf("conformance: the process died while these ran: %s\n", strings.Join(running, ", "))
	if only := slices.DeleteFunc(running, isNoRule); len(only) > 0 {
		text += fmt.Sprintf("conformance: one of them is the cause, most likely; run them alone, with --only %q\n", strings.Join(only, ","))
	}
	return text + left
}

// isNoRule reports whether what runs is none that can be run alone, such as Drop.
func isNoRule(id string) bool {
	_, idle := Options{Only: id, Ops: 1, Histories: 1}.idle()
	return idle
}
