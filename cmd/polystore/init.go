package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/polystore/polystore/loadtest"
)

const initAbout = `Writes a workload file for the records of FILE, CSV or JSON Lines, each also with .gz
or .zst, beside it: kinds, a key, indexes, queries and models to compare. They are
guessed from the first 100,000 rows, and marked as guesses: look at them before you
load. A workload file that is there already is left alone.`

func initialize(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := newFlags("init", "FILE", initAbout, "polystore init cities.csv\npolystore load cities.yaml --records 10000", stderr)
	show := flags.Bool("print", false, "print the workload and write no file")
	rest, err := parse(flags, args, "FILE", stdout)
	if err != nil {
		return err
	}
	text, err := loadtest.Draft(ctx, rest[0])
	if err != nil {
		return exit{loadtest.Usage, fmt.Errorf("init: %w", err)}
	}
	if *show {
		_, err := io.WriteString(stdout, text)
		return err
	}
	name := workloadBeside(rest[0])
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return exit{loadtest.Usage, fmt.Errorf("init: %s is there already; remove it, or say --print", name)}
	}
	if err == nil {
		_, err = io.WriteString(out, text)
		err = errors.Join(err, out.Close())
	}
	if err != nil {
		return exit{loadtest.Usage, fmt.Errorf("init: %w", err)}
	}
	_, err = fmt.Fprintf(stdout, "%s\nlook at what it guesses, then: polystore load %s --records 10000\n", name, quoted(name))
	return err
}

// workloadBeside returns the name of the workload file for a file of records.
func workloadBeside(file string) string {
	bare := strings.TrimSuffix(strings.TrimSuffix(file, ".gz"), ".zst")
	return strings.TrimSuffix(bare, filepath.Ext(bare)) + ".yaml"
}
