// Package data reads and makes the records of collections. A workload comes in; its records go out,
// checked, and tables of the values that operations draw from.
package data

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// A rowFile is a data file that is being read.
type rowFile struct {
	ctx     context.Context // ends the reading
	c       *workload.Collection
	src     *workload.Source
	faults  failure.Faults
	told    map[string]bool // names in the file that were reported
	columns []string        // of a CSV file
	unread  int             // bytes of a CSV file that came since its last row
	stopped bool
	trace   func(r *bufio.Reader) // reads it in another way, nil for records
}

// rows yields the records of the source's file. The faults are complete when the
// loop has ended; faulty rows are not yielded.
func (f *rowFile) rows() iter.Seq[Row] {
	return func(yield func(Row) bool) {
		if !f.isPlain() {
			return
		}
		in, err := os.Open(f.src.File)
		if err != nil {
			f.fault(0, 0, "", "%v", cause(err))
			return
		}
		defer func() { _ = in.Close() }() // it was only read
		r, done, ok := f.open(in)
		defer done()
		switch {
		case !ok:
		case f.trace != nil:
			f.trace(r)
		case f.src.Format == "csv":
			f.csvRows(r, yield)
		default:
			f.jsonRows(r, yield)
		}
	}
}

// isPlain looks at what the file is before it is opened, because to open a pipe
// waits for a writer, and what a device or pipe gives comes only once.
func (f *rowFile) isPlain() bool {
	info, err := os.Stat(f.src.File)
	switch {
	case err != nil:
		f.fault(0, 0, "", "%v", cause(err))
	case info.IsDir():
		f.fault(0, 0, "", "this is a directory; name a file in it")
	case !info.Mode().IsRegular():
		f.fault(0, 0, "", "this is a pipe or a device, and the data are read more than once; put them in a file")
	}
	return len(f.faults) == 0
}

// cause returns what went wrong with a file, without its name.
func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// open looks at the beginning of the file, unpacks it and leaves out a byte order
// mark.
func (f *rowFile) open(in *os.File) (r *bufio.Reader, done func(), ok bool) {
	src, done, err := Unpack(in, f.src.Packed)
	if err != nil {
		f.fault(0, 0, "", "this is not a %s file: %v; take the %s from its name if it is not compressed", f.src.Packed, err, filepath.Ext(f.src.File))
		return nil, done, false
	}
	r = bufio.NewReaderSize(&lineLimit{f: f, r: src}, 64<<10)
	head, _ := r.Peek(4)
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		f.fault(0, 0, "", "this is a gzip file; give it a name that ends in .gz")
		return nil, done, false
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		f.fault(0, 0, "", "this is a zstd file; give it a name that ends in .zst")
		return nil, done, false
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		f.fault(0, 0, "", "this is UTF-16; save it as UTF-8")
		return nil, done, false
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		_, _ = r.Discard(3) // it was peeked
	}
	return r, done, true
}

// Unpack returns what is in a file that is compressed so, and what ends its reading.
func Unpack(in io.Reader, packed string) (r io.Reader, done func(), err error) {
	switch done = func() {}; packed {
	case "gzip":
		r, err = gzip.NewReader(in)
		return r, done, err
	case "zstd":
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(limit.MaxUnpacked))
		if err != nil {
			return nil, done, err
		}
		return z, z.Close, nil
	}
	return in, done, nil
}

var (
	errLongLine = fmt.Errorf("the line is longer than %d bytes, which no record can be; is a line end missing?", limit.MaxLine)
	errLongRow  = fmt.Errorf("the row that begins here is longer than %d bytes, which no record can be; is a quote not closed?", limit.MaxLine)
)

// A lineLimit fails when a line gets too long, or a CSV row of many lines, so that
// a file without ends does not fill the memory; and when the run is interrupted.
type lineLimit struct {
	f    *rowFile
	r    io.Reader
	line int
}

// Read reads, until a line is too long or the run is interrupted.
func (l *lineLimit) Read(p []byte) (int, error) {
	if err := l.f.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := l.r.Read(p)
	if l.f.unread += n; l.f.unread > 2*limit.MaxLine && l.f.src.Format == "csv" {
		return n, errLongRow // more than a row and what is read ahead
	}
	for rest := p[:n]; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			l.line += len(rest)
			break
		}
		if l.line += i; l.line > limit.MaxLine {
			break
		}
		l.line, rest = 0, rest[i+1:]
	}
	if l.line > limit.MaxLine {
		return n, errLongLine
	}
	return n, err
}

// fault notes a mistake; after many of them the reading stops.
func (f *rowFile) fault(line, column int, source, format string, args ...any) {
	name := f.src.File
	if rel, err := filepath.Rel(".", name); err == nil && !strings.HasPrefix(rel, "..") {
		name = rel
	}
	f.faults = append(f.faults, failure.Fault{File: name, Line: line, Column: column, Source: source, Text: fmt.Sprintf(format, args...)})
	f.stopped = f.stopped || len(f.faults) >= limit.MaxFaults
}

// ended notes why reading ended before the end of the file.
func (f *rowFile) ended(line int, err error) {
	f.stopped = true
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		f.fault(line, 0, "", "the file ends in the middle; fetch it again")
	case errors.Is(err, zstd.ErrMagicMismatch):
		f.fault(0, 0, "", "this is not a zstd file; take the .zst from its name if it is not compressed")
	case errors.Is(err, errLongRow):
		f.fault(line, 0, "", "%v", errLongRow)
	case errors.Is(err, errLongLine), errors.Is(err, bufio.ErrTooLong):
		f.fault(line, 0, "", "%v", errLongLine)
	default:
		f.fault(line, 0, "", "%v", cause(err))
	}
}

// badText says what is wrong with the bytes of a line, "" when nothing is.
func badText(line []byte) string {
	switch {
	case bytes.IndexByte(line, 0) >= 0:
		return "the line has a NUL byte; this is not UTF-8 text"
	case !utf8.Valid(line):
		return "the line is not valid UTF-8; save the file as UTF-8"
	}
	return ""
}

// field returns the field that a name in the file stands for, "" when it is left
// out or unknown, which is a fault.
func (f *rowFile) field(line int, source, name string) string {
	if field, ok := f.src.Names[name]; ok {
		return field
	}
	if f.src.IsPart(name) || slices.Contains(f.src.Skip, name) || slices.Contains(f.src.Skip, "*") || f.told[name] {
		return ""
	}
	f.told[name] = true
	f.fault(line, 0, source, "%s is no field of collection %s; declare it under fields, give its field under map, or leave it out: skip: [%s]",
		value.Quote(name), f.c.Schema.Collection, yamlName(name))
	return ""
}

var plainName = regexp.MustCompile(`^[\pL_][\pL\pN_ .-]*$`)

// yamlName returns a name as it is written in a list of YAML.
func yamlName(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return strconv.Quote(name)
}

// complete checks that a row has its key.
func (f *rowFile) complete(line int, source string, record map[string]any) bool {
	for _, k := range f.c.Key() {
		if record[k] == nil {
			f.fault(line, 0, source, "the row has no %s, which is part of the key of collection %s", k, f.c.Schema.Collection)
			return false
		}
	}
	return true
}
