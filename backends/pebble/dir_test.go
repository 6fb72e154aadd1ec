package pebble_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	pebbledb "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/repo/driver"
)

// listing returns the files of dir with their contents.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			files[e.Name()] = "directory"
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if errors.Is(err, os.ErrNotExist) {
			continue // Pebble removes what it no longer needs after it was opened
		}
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(content)
	}
	return files
}

// directories are what Open may find.
var directories = []struct {
	name string
	make func(dir string) error
	want error
}{
	{"a Pebble of another program", func(dir string) error {
		db, err := pebbledb.Open(dir, &pebbledb.Options{Logger: silent{}})
		if err != nil {
			return err
		}
		return errors.Join(db.Set([]byte("k"), nil, nil), db.Close())
	}, driver.ErrSchema},
	{"some file", func(dir string) error {
		return os.WriteFile(filepath.Join(dir, "letter.txt"), []byte("dear"), 0o600)
	}, driver.ErrSchema},
	{"a directory", func(dir string) error { return os.Mkdir(filepath.Join(dir, "home"), 0o700) }, driver.ErrSchema},
	{"a later layout", func(dir string) error {
		return os.WriteFile(filepath.Join(dir, "POLYSTORE"), []byte("polystore pebble layout 2\n"), 0o600)
	}, driver.ErrSchema},
	{"a damaged marker", func(dir string) error {
		return os.WriteFile(filepath.Join(dir, "POLYSTORE"), []byte("poly"), 0o600)
	}, driver.ErrCorrupt},
	{"a later format of Pebble", func(dir string) error {
		db, err := pebbledb.Open(dir, &pebbledb.Options{Logger: silent{}, FormatMajorVersion: pebbledb.FormatNewest})
		if err != nil {
			return err
		}
		marker := os.WriteFile(filepath.Join(dir, "POLYSTORE"), []byte("polystore pebble layout 1\n"), 0o600)
		return errors.Join(db.Close(), marker)
	}, driver.ErrSchema},
	{"nothing", func(string) error { return nil }, nil},
	{"what a fresh file system has", func(dir string) error { return os.Mkdir(filepath.Join(dir, "lost+found"), 0o700) }, nil},
	{"what a crash leaves of our first steps", func(dir string) error {
		return errors.Join(os.WriteFile(filepath.Join(dir, "LOCK"), nil, 0o600),
			os.WriteFile(filepath.Join(dir, "POLYSTORE.tmp"), []byte("pol"), 0o600))
	}, nil},
}

func TestOtherDirectoriesAreLeftAlone(t *testing.T) {
	for _, tt := range directories {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := tt.make(dir); err != nil {
				t.Fatal(err)
			}
			before := listing(t, dir)
			s, err := pebble.Open(dir, nil)
			if !errors.Is(err, tt.want) {
				t.Fatalf("Open = %v, want %v", err, tt.want)
			}
			if err == nil {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				return
			}
			if !strings.Contains(err.Error(), dir) {
				t.Errorf("%q does not name the directory", err)
			}
			if diff := cmp.Diff(before, listing(t, dir)); diff != "" {
				t.Errorf("the directory was changed: %s", diff)
			}
		})
	}
}

func TestBadPlaces(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		dir  string
		opts *pebble.Options
		want error
	}{
		{"no directory", "", nil, driver.ErrInvalid},
		{"a file", file, nil, driver.ErrInvalid},
		{"below a file", filepath.Join(file, "data"), nil, driver.ErrInvalid},
		{"in memory with a directory", dir, &pebble.Options{InMemory: true}, driver.ErrInvalid},
		{"in memory with files", "", &pebble.Options{InMemory: true, FS: vfs.NewMem()}, driver.ErrInvalid},
		{"below nothing", filepath.Join(dir, "a", "b", "c"), nil, nil},
		{"in memory", "", &pebble.Options{InMemory: true}, nil},
	}
	for _, tt := range tests {
		s, err := pebble.Open(tt.dir, tt.opts)
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		if err == nil {
			s.Close()
		}
	}
}

const lockedDir = "POLYSTORE_TEST_LOCKED_DIR"

// TestLock opens a directory that is open in this process, in another one, and
// in none.
func TestLock(t *testing.T) {
	if dir := os.Getenv(lockedDir); dir != "" {
		holdLock(t, dir)
		return
	}
	dir := t.TempDir()
	s := mustOpen(t, dir, nil, noteTables())
	checkLocked(t, dir, dir)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	checkLocked(t, dir, link)
	t.Chdir(dir)
	checkLocked(t, dir, ".")
	mustCommit(t, s, insertNote(noteTablesOf(t, s), 1, "x"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	cmd := exec.Command(os.Args[0], "-test.run=^TestLock$")
	cmd.Env = append(os.Environ(), lockedDir+"="+dir)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, len("open\n"))
	if _, err := io.ReadFull(stdout, line); err != nil || string(line) != "open\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	checkLocked(t, dir, dir)
	stdin.Close() // lets it end
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	again := mustOpen(t, dir, nil, noteTables())
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// settled lists a directory when whoever has it open has tidied it up.
func settled(t *testing.T, dir string) map[string]string {
	t.Helper()
	last := listing(t, dir)
	for range 50 {
		time.Sleep(100 * time.Millisecond)
		now := listing(t, dir)
		if cmp.Equal(last, now) {
			return now
		}
		last = now
	}
	t.Fatalf("directory %s does not come to rest", dir)
	return nil
}

// checkLocked opens dir under another name.
func checkLocked(t *testing.T, dir, name string) {
	t.Helper()
	before := settled(t, dir)
	_, err := pebble.Open(name, nil)
	if !errors.Is(err, driver.ErrLocked) {
		t.Fatalf("Open = %v, want ErrLocked", err)
	}
	if text := err.Error(); !strings.Contains(text, dir) || !strings.Contains(text, "close it there") {
		t.Errorf("%q names neither the directory nor the remedy", text)
	}
	if diff := cmp.Diff(before, listing(t, dir)); diff != "" {
		t.Errorf("the directory was changed: %s", diff)
	}
}

func holdLock(t *testing.T, dir string) {
	s, err := pebble.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString("open\n")
	io.Copy(io.Discard, os.Stdin)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// noteTablesOf returns tables that s knows.
func noteTablesOf(t *testing.T, s *pebble.Store) []*driver.Table {
	t.Helper()
	tables := noteTables()
	if err := s.Attach(t.Context(), tables); err != nil {
		t.Fatal(err)
	}
	return tables
}

func TestMarkerSurvivesACrashOfTheFirstOpen(t *testing.T) {
	disk := vfs.NewCrashableMem()
	s, err := pebble.Open("/a/b/data", &pebble.Options{FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	after := disk.CrashClone(vfs.CrashCloneCfg{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := after.Stat("/a/b/data/POLYSTORE"); err != nil {
		t.Errorf("the marker is lost: %v", err)
	}
	again, err := pebble.Open("/a/b/data", &pebble.Options{FS: after})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// With MustExist nothing is made where there is no store, and one that is there
// opens.
func TestMustExist(t *testing.T) {
	root := t.TempDir()
	empty := filepath.Join(root, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	must := &pebble.Options{MustExist: true}
	for _, dir := range []string{filepath.Join(root, "none"), empty} {
		if _, err := pebble.Open(dir, must); !errors.Is(err, driver.ErrNotFound) {
			t.Errorf("Open = %v, want ErrNotFound", err)
		}
	}
	if diff := cmp.Diff(map[string]string{"empty": "directory"}, listing(t, root)); diff != "" || len(listing(t, empty)) > 0 {
		t.Errorf("something was made: %s", diff)
	}
	for _, opts := range []*pebble.Options{nil, must} {
		s, err := pebble.Open(empty, opts)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Only the user who made a directory may look into it. The rights of one that was there stay.
func TestDirectoryIsPrivate(t *testing.T) {
	root := t.TempDir()
	there := filepath.Join(root, "there")
	if err := os.Mkdir(there, 0o750); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]os.FileMode{filepath.Join(root, "parent", "new"): 0o700, there: 0o750} {
		s, err := pebble.Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want && runtime.GOOS != "windows" {
			t.Errorf("%s has %o, want %o", dir, got, want)
		}
	}
}
