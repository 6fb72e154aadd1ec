package testserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Run has a server of each store named before "--" in args, of all three if none is, for the time
// of the command after it, whose environment names them. It returns the command's exit code, 128
// and the signal's number if a signal ended it. When ctx ends, the command gets SIGTERM. What it has
// started ends with it, and with this process, unless they may read from a terminal.
// Servers that a variable names already are left alone. Script is scripts/servers.
func Run(ctx context.Context, script string, args []string, stderr io.Writer) (int, error) {
	stores, command, err := runArgs(args)
	if err != nil {
		return 2, err
	}
	if err := install(ctx, script, stores, stderr); err != nil {
		return 1, err
	}
	servers, err := openAll(ctx, launcher{script: script, choose: freeAddress}, stores, stderr)
	code := 1
	if err == nil {
		code, err = runCommand(ctx, script, command, servers)
	}
	return code, errors.Join(err, closeAll(servers))
}

// install installs what is missing of the servers that will run natively.
func install(ctx context.Context, script string, stores []Store, stderr io.Writer) error {
	args := []string{script, "install"}
	for _, store := range stores {
		if os.Getenv(store.kind().variable) == "" {
			args = append(args, string(store))
		}
	}
	if len(args) == 2 || engine(ctx) != nil {
		return nil
	}
	cmd := exec.CommandContext(ctx, "bash", args...)
	cmd.Stdout, cmd.Stderr = stderr, stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run: install: %w", err)
	}
	return nil
}

func runArgs(args []string) (stores []Store, command []string, err error) {
	i := slices.Index(args, "--")
	if i < 0 || i == len(args)-1 {
		return nil, nil, errors.New("run: no command; write: scripts/servers run [STORE...] -- COMMAND [ARG...]")
	}
	all := []Store{Redis, Mongo, Cassandra}
	for _, name := range args[:i] {
		if !slices.Contains(all, Store(name)) {
			return nil, nil, fmt.Errorf("run: %s is not redis, mongo or cassandra", name)
		}
		stores = append(stores, Store(name))
	}
	if len(stores) == 0 {
		stores = all
	}
	return stores, args[i+1:], nil
}

// openAll opens the servers side by side and returns those that it could open, also with an error.
func openAll(ctx context.Context, l launcher, stores []Store, stderr io.Writer) ([]*Server, error) {
	servers := make([]*Server, len(stores))
	errs := make([]error, len(stores))
	var wg sync.WaitGroup
	for i, store := range stores {
		wg.Go(func() {
			begun := time.Now()
			servers[i], errs[i] = l.open(ctx, store)
			if errs[i] == nil {
				fmt.Fprintf(stderr, "servers: %s at %s after %.1f s\n", store, servers[i].Addr, time.Since(begun).Seconds())
			}
		})
	}
	wg.Wait()
	return slices.DeleteFunc(servers, func(s *Server) bool { return s == nil }), errors.Join(errs...)
}

func closeAll(servers []*Server) error {
	errs := make([]error, len(servers))
	for i, s := range servers {
		errs[i] = s.close()
	}
	return errors.Join(errs...)
}

func runCommand(ctx context.Context, script string, command []string, servers []*Server) (code int, err error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = os.Environ()
	for _, s := range servers {
		cmd.Env = append(cmd.Env, s.Store.kind().variable+"="+s.URL)
	}
	if !isTerminal(os.Stdin) { // else Ctrl-C tells all, and only this group can read from it
		var g *guard
		if g, err = newGuard(script, "command"); err != nil {
			return 1, fmt.Errorf("run: guard: %w", err)
		}
		defer func() { err = errors.Join(err, g.close()) }()
		cmd.SysProcAttr = inGroup(g.group)
		cmd.Cancel = func() error { return endGroup(g.group) }
	}
	err = cmd.Run()
	var exit *exec.ExitError
	if err == nil || errors.As(err, &exit) {
		return exitCode(cmd.ProcessState), nil
	}
	return 127, fmt.Errorf("run: %w", err)
}

// isTerminal reports whether a file may be a terminal: a device, and not the null device.
func isTerminal(f *os.File) bool {
	is, err := f.Stat()
	null, none := os.Stat(os.DevNull)
	return err == nil && is.Mode()&os.ModeCharDevice != 0 && (none != nil || !os.SameFile(is, null))
}

func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
