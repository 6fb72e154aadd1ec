package pebble

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"

	pebbledb "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/polystore/polystore/repo/driver"
)

// The file that says that a directory is ours, and how it is laid out.
const (
	markerName   = "POLYSTORE"
	markerTemp   = "POLYSTORE.tmp"
	markerText   = "polystore pebble layout "
	layout       = 1
	lockName     = "LOCK"
	recoveredDir = "lost+found" // a fresh file system has it
)

// claim locks dir and makes it ours if it is empty. It writes nothing to a
// directory that holds something else, nor, with mustExist, to one that is not ours yet. It returns the path by which all names
// of the directory lead to the same lock.
func claim(files vfs.FS, dir string, mustExist bool) (*pebbledb.Lock, string, error) {
	switch marked, err := checkDir(files, dir); {
	case err != nil:
		return nil, dir, err
	case mustExist && !marked:
		return nil, dir, fmt.Errorf("pebble: open: directory %s holds no store; check the path: %w", dir, driver.ErrNotFound)
	}
	if err := makeDir(files, dir); err != nil {
		return nil, dir, openError(dir, "make the directory", err)
	}
	dir, err := realPath(files, dir)
	if err != nil {
		return nil, dir, openError(dir, "find the directory", err)
	}
	lock, err := pebbledb.LockDirectory(dir, files)
	if err != nil {
		return nil, dir, lockError(dir, err)
	}
	marked, err := checkDir(files, dir) // again, since another program may have been here
	if err == nil && !marked {
		err = writeMarker(files, dir)
	}
	if err != nil {
		lock.Close()
		return nil, dir, err
	}
	return lock, dir, nil
}

// realPath returns the one path of dir. Locks of files exclude other processes;
// within this one Pebble compares the names.
func realPath(files vfs.FS, dir string) (string, error) {
	if files != vfs.Default {
		return dir, nil
	}
	path, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return dir, err
	}
	return filepath.Abs(path)
}

// checkDir says whether dir has our marker. It fails if dir is not ours and not
// empty. A directory that does not exist is empty.
func checkDir(files vfs.FS, dir string) (marked bool, err error) {
	names, err := files.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, openError(dir, "list", err)
	}
	stranger := ""
	for _, name := range names {
		switch name {
		case markerName:
			return true, readMarker(files, dir)
		case markerTemp, lockName, recoveredDir:
		default:
			stranger = name
		}
	}
	if stranger != "" {
		return false, who.Schema("open: directory %s holds files of another program, such as %s; "+
			"take an empty directory or one that this backend made", dir, stranger)
	}
	return false, nil
}

func readMarker(files vfs.FS, dir string) error {
	name := files.PathJoin(dir, markerName)
	f, err := files.Open(name)
	if err != nil {
		return openError(dir, "open "+markerName, err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, 1<<10))
	if err != nil {
		return openError(dir, "read "+markerName, err)
	}
	var have int
	if _, err := fmt.Sscanf(string(content), markerText+"%d\n", &have); err != nil {
		return fmt.Errorf("pebble: open: file %s does not say what it should; restore it or the directory from a copy: %w",
			name, driver.ErrCorrupt)
	}
	if have != layout {
		return who.Schema("open: directory %s has layout %d, this program knows layout %d; "+
			"open it with the release that wrote it and copy the records to a new directory", dir, have, layout)
	}
	return nil
}

// writeMarker makes dir ours, durably, before anything else is in it.
func writeMarker(files vfs.FS, dir string) error {
	temp := files.PathJoin(dir, markerTemp)
	err := writeFile(files, temp, fmt.Sprintf("%s%d\n", markerText, layout))
	if err == nil {
		err = files.Rename(temp, files.PathJoin(dir, markerName))
	}
	if err == nil {
		err = syncDir(files, dir)
	}
	if err != nil {
		return openError(dir, "write "+markerName, err)
	}
	return nil
}

func writeFile(files vfs.FS, name, content string) error {
	f, err := files.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, content)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// makeDir makes dir and its missing parents, durably. Nobody but this user may look into them.
func makeDir(files vfs.FS, dir string) error {
	var parents []string // of what is missing
	for missing := dir; ; missing = files.PathDir(missing) {
		if _, err := files.Stat(missing); err == nil || files.PathDir(missing) == missing {
			break
		}
		parents = append(parents, files.PathDir(missing))
	}
	if err := files.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, p := range parents {
		if err := syncDir(files, p); err != nil {
			return err
		}
	}
	return nil
}

func syncDir(files vfs.FS, dir string) error {
	f, err := files.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// lockError says why the lock of dir could not be had.
func lockError(dir string, err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) { // the file itself
		return openError(dir, "make the file "+lockName, err)
	}
	return fmt.Errorf("pebble: open: directory %s is open in another process, or twice in this one; "+
		"close it there or take another directory: %w: %w", dir, driver.ErrLocked, err)
}

// openError says what an error of the file system means for opening dir. It
// returns nil for nil.
func openError(dir, doing string, err error) error {
	kind, remedy := driver.ErrUnavailable, ""
	switch {
	case err == nil:
		return nil
	case noSpace(err):
		kind, remedy = driver.ErrFull, "; free some space"
	case errors.Is(err, syscall.ENOTDIR):
		kind, remedy = driver.ErrInvalid, "; take another path"
	}
	return fmt.Errorf("pebble: open: directory %s: %s%s: %w: %w", dir, doing, remedy, kind, err)
}
