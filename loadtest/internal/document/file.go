// Package document reads YAML whose mistakes are told with their places. The text of a file comes in;
// mappings, lists and values go out, and the faults.
package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/limit"
)

// Read reads a file that should be small; what is over the limit is cut
// just beyond it.
func Read(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read workload: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("read workload: %s is a directory; name the YAML file in it", file)
	}
	src, err := io.ReadAll(io.LimitReader(f, limit.MaxYAML+1))
	if err != nil {
		return nil, fmt.Errorf("read workload: %w", err)
	}
	return src, nil
}

// A File is a YAML file that is being read, and the faults found in it.
type File struct {
	Name   string
	lines  []string
	Faults failure.Faults
}

// Parse returns the root of a file's one document, or nil when it cannot be
// read at all; the document then has the fault.
func Parse(file string, src []byte) (*File, ast.Node) {
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf")) // a byte order mark
	d := &File{Name: file, lines: strings.Split(string(src), "\n")}
	if text, line := unreadable(src); text != "" {
		d.faultAt(line, 0, "%s", text)
		return d, nil
	}
	root, err := parseDocument(src)
	var syntax yaml.Error
	switch {
	case errors.As(err, &syntax) && syntax.GetToken() != nil:
		p := syntax.GetToken().Position
		d.faultAt(p.Line, p.Column, "%s", syntax.GetMessage())
	case err != nil:
		d.faultAt(0, 0, "%v", err)
	}
	return d, root
}

// parseDocument guards against what the parser does with input that no person
// wrote: a panic becomes an error.
func parseDocument(src []byte) (root ast.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, fmt.Errorf("this is not YAML that can be read: %v", r)
		}
	}()
	f, err := parser.ParseBytes(src, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, err
	}
	for _, doc := range f.Docs {
		switch {
		case doc.Body == nil:
		case root != nil:
			return nil, errors.New("the file has several documents; leave out the --- between them")
		default:
			root = doc.Body
		}
	}
	if root == nil {
		return nil, errors.New("the file is empty; docs/reference/workload.md has one to begin with")
	}
	return root, nil
}

// unreadable says why a file is not tried at all, and on which line.
func unreadable(src []byte) (text string, line int) {
	if len(src) > limit.MaxYAML {
		return fmt.Sprintf("the file has more than %d bytes; keep the data in a file of its own (data: {file: …})", limit.MaxYAML), 0
	}
	depth := 0
	for i, text := range strings.Split(string(src), "\n") {
		n := i + 1
		switch {
		case !utf8.ValidString(text):
			return "the line is not valid UTF-8; save the file as UTF-8", n
		case strings.IndexByte(text, 0) >= 0:
			return "the line has a NUL byte; this is not a text file", n
		case strings.Count(text[:len(text)-len(strings.TrimLeft(text, "- "))], "-") > limit.MaxDepth && strings.Contains(text, "- -"):
			return "lists are nested too deeply", n
		}
		depth += strings.Count(text, "[") + strings.Count(text, "{") - strings.Count(text, "]") - strings.Count(text, "}")
		depth = max(depth, 0) // brackets that close nothing, in a comment, say, open no others
		if depth > limit.MaxDepth {
			return fmt.Sprintf("brackets are nested more than %d deep, or not closed", limit.MaxDepth), n
		}
	}
	return "", 0
}

func (d *File) faultAt(line, column int, format string, args ...any) {
	f := failure.Fault{File: d.Name, Line: line, Column: column, Text: fmt.Sprintf(format, args...)}
	if line >= 1 && line <= len(d.lines) {
		f.Source = strings.TrimSuffix(d.lines[line-1], "\r")
	}
	d.Faults = append(d.Faults, f)
}

// Fault notes a mistake at a node.
func (d *File) Fault(n ast.Node, format string, args ...any) {
	d.FaultIn(PlaceOf(n), format, args...)
}

// FaultIn notes a mistake at a place.
func (d *File) FaultIn(p Place, format string, args ...any) {
	d.faultAt(p.Line, p.Column, format, args...)
}

// Wrong reports that a node is not what is wanted.
func (d *File) Wrong(n ast.Node, what, want string) {
	d.Fault(n, "%s is %s; want %s", what, kindOf(n), want)
}
