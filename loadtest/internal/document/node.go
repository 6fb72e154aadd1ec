package document

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/goccy/go-yaml/ast"
)

// PairsOf returns the keys and values of a mapping, nil if it is none.
func PairsOf(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		if n.Values == nil {
			return []*ast.MappingValueNode{}
		}
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

// KeyOf returns the text of a key, and whether it is one.
func KeyOf(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// Text returns the text of a node, "" after a fault.
func (d *File) Text(n ast.Node, what string) string {
	switch n := n.(type) {
	case nil:
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		d.Fault(n, "%s is %s; want text, so put it in quotes", what, kindOf(n))
	default:
		d.Wrong(n, what, "text")
	}
	return ""
}

// Label returns a text that is shown in tables and sentences, and so has one line.
func (d *File) Label(n ast.Node, what string) string {
	s := d.Text(n, what)
	if strings.ContainsFunc(s, unicode.IsControl) {
		d.Fault(n, "%s %q has a line end or another control character; leave it out", what, s)
		return ""
	}
	return s
}

// Integer returns the whole number of a node between bounds, the lower one after a fault.
func (d *File) Integer(n ast.Node, what string, low, high int64) int64 {
	x, ok := Scalar(n).(int64)
	switch {
	case !ok:
		d.Wrong(n, what, "a whole number")
		return low
	case x < low || x > high:
		d.Fault(n, "%s is %d; want %d to %d", what, x, low, high)
		return low
	}
	return x
}

// Number returns the number of a node between bounds, the lower one after a fault.
func (d *File) Number(n ast.Node, what string, low, high float64) float64 {
	var f float64
	switch x := Scalar(n).(type) {
	case int64:
		f = float64(x)
	case float64:
		f = x
	default:
		d.Wrong(n, what, "a number")
		return low
	}
	if !(f >= low && f <= high) {
		d.Fault(n, "%s is %v; want %v to %v", what, f, low, high)
		return low
	}
	return f
}

// Duration returns the duration of a node between bounds, the lower one after a fault.
func (d *File) Duration(n ast.Node, what string, low, high time.Duration) time.Duration {
	s, ok := n.(*ast.StringNode)
	if !ok {
		d.Wrong(n, what, "a time with its unit, as in 10ms or 2s")
		return low
	}
	t, err := time.ParseDuration(s.Value)
	switch {
	case err != nil:
		d.Fault(n, "%s is %q; want a time with its unit, as in 10ms or 2s", what, s.Value)
		return low
	case t < low || t > high:
		d.Fault(n, "%s is %v; want %v to %v", what, t, low, high)
		return low
	}
	return t
}

// List returns the items of a list.
func (d *File) List(n ast.Node, what string) []ast.Node {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		d.Wrong(n, what, "a list")
		return nil
	}
	return seq.Values
}

// Scalar returns a single value as string, int64, float64 or bool, else nil.
func Scalar(n ast.Node) any {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	case *ast.BoolNode:
		return n.Value
	case *ast.FloatNode:
		return n.Value
	case *ast.IntegerNode:
		switch x := n.Value.(type) {
		case int64:
			return x
		case uint64:
			if i := int64(x); i >= 0 {
				return i
			}
		}
		if f, err := strconv.ParseFloat(n.GetToken().Value, 64); err == nil {
			return f
		}
	}
	return nil
}

// A Place is where in the file something stands.
type Place struct{ Line, Column int }

// PlaceOf returns where a node stands.
func PlaceOf(n ast.Node) Place {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 && !m.IsFlowStyle {
		return PlaceOf(m.Values[0].Key)
	}
	if v, ok := n.(*ast.MappingValueNode); ok {
		return PlaceOf(v.Key)
	}
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return Place{}
	}
	p := n.GetToken().Position
	return Place{p.Line, p.Column}
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
