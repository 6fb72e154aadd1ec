// Package tool is what the commands that measure one thing have in common.
package tool

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Main runs a command of a name, with its arguments, until it ends or is interrupted. It does not return: the exit code is
// 0, 1 after an error, which it prints, or 2 after help.
func Main(name string, run func(ctx context.Context, args []string, stdout, stderr io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Stores returns the URLs among the arguments of a command, which has written what begins with its name.
func Stores(f *flag.FlagSet) ([]string, error) {
	if f.NArg() == 0 {
		return nil, fmt.Errorf("no store: give one URL or several; what is written there begins with %s_ and is removed", f.Name())
	}
	return f.Args(), nil
}
