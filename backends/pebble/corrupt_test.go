package pebble_test

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/repo/driver"
)

const corruptNotes = 300

// filledFiles returns the files of a store that has tables and a log that is to be
// replayed.
func filledFiles(t *testing.T) map[string][]byte {
	t.Helper()
	disk := vfs.NewCrashableMem()
	tables := noteTables()
	s := mustOpen(t, "/data", &pebble.Options{FS: disk}, tables)
	for id := range corruptNotes {
		mustCommit(t, s, insertNote(tables, id, noteText(id)))
		if id == corruptNotes/2 {
			if _, err := s.Size(t.Context(), tables[0]); err != nil { // flushes
				t.Fatal(err)
			}
		}
	}
	after := disk.CrashClone(vfs.CrashCloneCfg{})
	names, err := after.List("/data")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, name := range names {
		f, err := after.Open("/data/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if files[name], err = io.ReadAll(f); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	return files
}

func noteText(id int) string { return fmt.Sprint(id, strings.Repeat(" some text", 20)) }

func diskWith(t *testing.T, files map[string][]byte) vfs.FS {
	t.Helper()
	disk := vfs.NewMem()
	if err := disk.MkdirAll("/data", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		f, err := disk.Create("/data/"+name, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(slices.Clone(content)); err != nil { // Write may change what it is given
			t.Fatal(err)
		}
		f.Close()
	}
	return disk
}

// readAll reads everything in every way and returns the first error. It counts
// the notes that are there and fails the test if one is not as it was written.
func readAll(t *testing.T, disk vfs.FS) (found int, err error) {
	t.Helper()
	s, err := pebble.Open("/data", &pebble.Options{FS: disk})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	tables := noteTables()
	if err := s.Attach(t.Context(), tables); err != nil {
		return 0, err
	}
	for id := range corruptNotes {
		rows := make([]driver.Row, 1)
		if err := s.Get(t.Context(), tables[0], []driver.Key{noteKey(id)}, nil, rows); err != nil {
			return found, err
		}
		if rows[0].Rev.IsZero() {
			continue
		}
		found++
		if got := rows[0].Fields[0].Str(); got != noteText(id) {
			t.Errorf("note %d reads %q", id, got)
		}
	}
	for p := range 7 {
		for _, err := range s.Range(t.Context(), driver.Span{Table: tables[2], Key: noteKey(p)}) {
			if err != nil {
				return found, err
			}
		}
	}
	for _, err := range s.Walk(t.Context(), tables[1], "") {
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// TestDamagedFiles changes bytes of every file, cuts it and removes it. The answer
// is ErrCorrupt with the directory, or all is still there. A log that ends too
// early cannot be told from one that was being written in a crash.
func TestDamagedFiles(t *testing.T) {
	files := filledFiles(t)
	if n, err := readAll(t, diskWith(t, files)); n != corruptNotes || err != nil {
		t.Fatalf("without damage: %d notes, %v", n, err)
	}
	noticed := map[string]int{}
	for name, content := range files {
		for what, damaged := range damages(content) {
			changed := maps(files)
			if changed[name] = damaged; damaged == nil {
				delete(changed, name)
			}
			n, err := readAll(t, diskWith(t, changed))
			switch {
			case errors.Is(err, driver.ErrCorrupt):
				noticed[kindOfFile(name)]++
				if !strings.Contains(err.Error(), "/data") {
					t.Errorf("%s %s: %q does not name the place", name, what, err)
				}
			case name == "POLYSTORE" && errors.Is(err, driver.ErrSchema): // another number, or not ours any more
			case err != nil:
				t.Errorf("%s %s: %v, want ErrCorrupt", name, what, err)
			case n < corruptNotes && kindOfFile(name) != ".log":
				t.Errorf("%s %s: %d notes of %d and no error", name, what, n, corruptNotes)
			}
		}
	}
	for _, kind := range []string{".sst", ".log", "MANIFEST", "POLYSTORE", "marker", "OPTIONS"} {
		if noticed[kind] == 0 {
			t.Errorf("no damage of a %s file was noticed", kind)
		}
	}
	t.Log(noticed)
}

func maps(files map[string][]byte) map[string][]byte {
	out := map[string][]byte{}
	for name, content := range files {
		out[name] = content
	}
	return out
}

func kindOfFile(name string) string {
	if ext := path.Ext(name); ext == ".sst" || ext == ".log" {
		return ext
	}
	kind, _, _ := strings.Cut(name, "-")
	kind, _, _ = strings.Cut(kind, ".")
	return kind
}

// damages returns content with some damage each; nil is the file removed.
func damages(content []byte) map[string][]byte {
	out := map[string][]byte{"removed": nil, "emptied": {}}
	if len(content) == 0 {
		return out
	}
	const places = 24
	for i := range places {
		at := i * (len(content) - 1) / (places - 1)
		c := slices.Clone(content)
		c[at] ^= byte(1) << (i % 8)
		out[fmt.Sprintf("bit %d of byte %d of %d", i%8, at, len(c))] = c
		if i%4 == 1 {
			out[fmt.Sprintf("cut to %d of %d bytes", at, len(content))] = content[:at:at]
		}
	}
	return out
}
