package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/polystore/polystore/internal/process"
	"github.com/polystore/polystore/loadtest"
	"github.com/polystore/polystore/repo/driver"
)

const newPebble = "pebble:" // the URL of a store that is made for the run

// makeFolder makes a folder for a new store. Its name says of which process it is: see deadFolders.
func (f *loadFlags) makeFolder(stderr io.Writer) (dir string, err error) {
	if left, _ := deadFolders(f.out); len(left) > 0 { // what cannot be listed is no reason not to measure
		fmt.Fprintf(stderr, "note: %s has stores of runs that were killed (%s); polystore load --clean --out %s pebble: removes them\n", f.out, strings.Join(left, ", "), quoted(f.out))
	}
	dir, err = os.MkdirTemp(f.out, fmt.Sprintf(".store-%s-%d-%s-*", machine(), os.Getpid(), process.Mark(os.Getpid())))
	if err != nil {
		return "", exit{loadtest.Usage, fmt.Errorf("load: make a folder for the store: %w", err)}
	}
	if inMemory(dir) {
		fmt.Fprintf(stderr, "note: %s lies in memory, so what is said of power losses is not true of it, and to sync costs nothing; say --out DIR with one on a disk\n", f.out)
	}
	return dir, nil
}

// makePebble makes a folder for a new Pebble store, and returns its URL and what
// removes it.
func (f *loadFlags) makePebble(stderr io.Writer) (url string, clean func() error, err error) {
	dir, err := f.makeFolder(stderr)
	if err != nil {
		return "", nil, err
	}
	clean = func() error {
		if !f.keep {
			return os.RemoveAll(dir)
		}
		kept := filepath.Join(f.out, strings.TrimPrefix(filepath.Base(dir), ".")) // a name that --clean does not take
		if err := os.Rename(dir, kept); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "kept the store: %s\n", pebbleURL(kept))
		return nil
	}
	return pebbleURL(dir), clean, nil
}

func pebbleURL(dir string) string {
	return newPebble + strings.NewReplacer("%", "%25", "?", "%3F").Replace(filepath.ToSlash(dir))
}

// storeFolder matches the names of folders that makeFolder makes: with the machine, the number of
// the process, and its mark.
var storeFolder = regexp.MustCompile(`^\.store-([0-9a-f]{6})-([0-9]+)-([0-9a-f]*)-[0-9]+$`)

// machine returns what stands for the name of this machine.
func machine() string {
	name, _ := os.Hostname() // without a name all such machines are one
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:3])
}

// deadFolders returns the folders of stores below dir whose processes are gone. Of other machines
// that is known a day after something was written there.
func deadFolders(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	var dead []string
	for _, e := range entries {
		m := storeFolder.FindStringSubmatch(e.Name())
		if m == nil || !e.IsDir() {
			continue
		}
		pid, err := strconv.Atoi(m[2])
		if m[1] == machine() && err == nil && !process.Same(pid, m[3]) || m[1] != machine() && isOld(e) {
			dead = append(dead, e.Name())
		}
	}
	return dead, err
}

func isOld(e os.DirEntry) bool {
	info, err := e.Info()
	return err == nil && time.Since(info.ModTime()) > 24*time.Hour
}

// cleanStore removes what killed runs left in a store, or their new Pebble stores.
func (f *loadFlags) cleanStore(ctx context.Context, url string, stdout io.Writer) error {
	var failed error
	tell := func(text string) {
		_, err := fmt.Fprintln(stdout, text)
		failed = errors.Join(failed, err)
	}
	switch {
	case url == newPebble:
		return errors.Join(f.cleanFolders(tell), failed)
	case !strings.Contains(url, ":"):
		return usageError("load: --clean takes the URL of a store, as in redis://localhost:6379")
	}
	open := func(ctx context.Context, url string) (driver.Store, error) {
		if strings.HasPrefix(url, newPebble) {
			url = withOption(url, "create=false") // what is not there has nothing to be removed
		}
		return f.open(ctx, url)
	}
	err := loadtest.Clean(ctx, loadtest.Options{Open: open, On: []string{url}, Kept: f.kept}, tell)
	return errors.Join(err, failed)
}

func (f *loadFlags) cleanFolders(tell func(string)) error {
	dead, err := deadFolders(f.out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if len(dead) == 0 {
		tell(f.out + " has no store of a killed run")
	}
	for _, name := range dead {
		if err := os.RemoveAll(filepath.Join(f.out, name)); err != nil {
			return err
		}
		tell("removed: " + filepath.Join(f.out, name))
	}
	return nil
}

// withOption sets an option of a URL, in place of what it says of it.
func withOption(url, option string) string {
	base, given, _ := strings.Cut(url, "?")
	name, _, _ := strings.Cut(option, "=")
	options := []string{option}
	for o := range strings.SplitSeq(given, "&") {
		if o != "" && !strings.HasPrefix(o, name+"=") {
			options = append(options, o)
		}
	}
	return base + "?" + strings.Join(options, "&")
}
