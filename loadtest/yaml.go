package loadtest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/polystore/polystore/loadtest/internal/limit"
)

// A document is a YAML file that is being read, and the faults found in it.
type document struct {
	file   string
	lines  []string
	faults Faults
}

// parseYAML returns the root of a file's one document, or nil when it cannot be
// read at all; the document then has the fault.
func parseYAML(file string, src []byte) (*document, ast.Node) {
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf")) // a byte order mark
	d := &document{file: file, lines: strings.Split(string(src), "\n")}
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
		return nil, errors.New("the file is empty; docs/workload.md has one to begin with")
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

func (d *document) faultAt(line, column int, format string, args ...any) {
	f := Fault{File: d.file, Line: line, Column: column, Text: fmt.Sprintf(format, args...)}
	if line >= 1 && line <= len(d.lines) {
		f.Source = strings.TrimSuffix(d.lines[line-1], "\r")
	}
	d.faults = append(d.faults, f)
}

// A place is where in the file something stands.
type place struct{ line, column int }

func placeOf(n ast.Node) place {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 && !m.IsFlowStyle {
		return placeOf(m.Values[0].Key)
	}
	if v, ok := n.(*ast.MappingValueNode); ok {
		return placeOf(v.Key)
	}
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return place{}
	}
	p := n.GetToken().Position
	return place{p.Line, p.Column}
}

func (d *document) fault(n ast.Node, format string, args ...any) {
	d.faultIn(placeOf(n), format, args...)
}

func (d *document) faultIn(p place, format string, args ...any) {
	d.faultAt(p.line, p.column, format, args...)
}

// kindOf returns what a node is, in words.
func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.IntegerNode, *ast.FloatNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	case *ast.StringNode, *ast.LiteralNode:
		return "text"
	case *ast.NullNode:
		return "nothing"
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return "an anchor or alias, which is not understood here; write the value out"
	case *ast.TagNode:
		return "a tagged value, which is not understood here; leave the tag out"
	}
	return "something else"
}

// wrong reports that a node is not what is wanted.
func (d *document) wrong(n ast.Node, what, want string) {
	d.fault(n, "%s is %s; want %s", what, kindOf(n), want)
}
