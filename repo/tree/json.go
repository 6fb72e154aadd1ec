package tree

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// How many levels WriteNested writes, and Nested reads. Others, as encoding/json, read 10,000 levels of lists and objects.
const (
	mostNested = 4000
	mostRead   = 5000
)

// WriteLines writes a node and what is below it, "" for the whole tree, as JSON Lines: parents before their children,
// siblings in their order, a line each, as encoding/json has the record, with "id" and "parent".
// [Lines] reads them. A node that has a parent, but is the first, is written as a root.
func (t *Tree[T]) WriteLines(ctx context.Context, w io.Writer, id string) error {
	if err := readable[T]("id", "parent"); err != nil {
		return t.failed("write", id, err)
	}
	out := bufio.NewWriter(w)
	lines := json.NewEncoder(out)
	for item, err := range t.withTop(ctx, id) {
		if err == nil {
			err = lines.Encode(&item.Node)
		}
		if err != nil {
			return t.failed("write", id, err)
		}
	}
	return t.failed("write", id, out.Flush())
}

// WriteNested writes a node and what is below it, "" for the whole tree, as JSON: a list of objects, each as
// encoding/json has the record, with its children in a list "children" if it has any. [Nested] reads it. A tree of more
// than 4,000 levels is ErrTooLarge.
func (t *Tree[T]) WriteNested(ctx context.Context, w io.Writer, id string) error {
	if err := readable[T]("id", "parent", "children"); err != nil {
		return t.failed("write", id, err)
	}
	out := bufio.NewWriter(w)
	out.WriteString("[")
	for item, err := range annotated(t.withTop(ctx, id)) {
		if err == nil && item.Depth > mostNested {
			err = fmt.Errorf("the tree has more than %d levels, which JSON readers refuse; take WriteLines: %w", mostNested, repo.ErrTooLarge)
		}
		if err != nil {
			return t.failed("write", id, err)
		}
		nodeOf(&item.Node).Parent = "" // it follows
		text, err := json.Marshal(&item.Node)
		if err != nil {
			return t.failed("write", id, err)
		}
		if !item.First {
			out.WriteString(",")
		}
		out.WriteString("\n")
		if item.HasChildren {
			out.Write(bytes.TrimSuffix(text, []byte("}")))
			out.WriteString(`,"children":[`)
			continue
		}
		out.Write(text)
		for range min(item.Ends, item.Depth-1) { // the outermost list ends below
			out.WriteString("]}")
		}
	}
	out.WriteString("]\n")
	return t.failed("write", id, out.Flush())
}

// withTop is Descendants after the node itself, which is a root then.
func (t *Tree[T]) withTop(ctx context.Context, id string) iter.Seq2[Item[T], error] {
	if id == "" && t.made() == nil {
		return t.Descendants(ctx, "", 0)
	}
	return func(yield func(Item[T], error) bool) {
		if err := t.made(); err != nil {
			yield(Item[T]{}, err)
			return
		}
		top, err := t.Get(ctx, id)
		nodeOf(&top).Parent = ""
		if !yield(Item[T]{Node: top, Depth: 1}, err) || err != nil {
			return
		}
		for item, err := range t.Descendants(ctx, id, 0) {
			item.Depth++
			if !yield(item, err) {
				return
			}
		}
	}
}

// Lines yields the nodes of JSON Lines, as [Tree.WriteLines] writes them and [Tree.Load] takes them. An error names
// the line, and ends it.
func Lines[T any](r io.Reader) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err := readable[T]("id", "parent"); err != nil {
			yield(*new(T), err)
			return
		}
		in := bufio.NewReader(r)
		for n := 1; ; n++ {
			line, err := in.ReadBytes('\n')
			if err != nil && err != io.EOF {
				yield(*new(T), fmt.Errorf("line %d: %w", n, err))
				return
			}
			if line = bytes.TrimSpace(line); len(line) > 0 {
				var rec T
				if failed := json.Unmarshal(line, &rec); failed != nil {
					yield(rec, fmt.Errorf("line %d: %w: %w", n, driver.Hide(failed, "no record"), repo.ErrInvalid))
					return
				}
				if !yield(rec, nil) {
					return
				}
			}
			if err == io.EOF {
				return
			}
		}
	}
}

// Nested yields the nodes of a list of objects that have their children in a list "children", as [Tree.WriteNested]
// writes it and [Tree.Load] takes it. It reads one object of the outermost list at a time.
func Nested[T any](r io.Reader) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		in := json.NewDecoder(r)
		if err := cmp.Or(readable[T]("id", "parent", "children"), bracket(in)); err != nil {
			yield(*new(T), err)
			return
		}
		for n := 1; in.More(); n++ {
			top, err := readObject(in, 1)
			if err != nil {
				yield(*new(T), fmt.Errorf("after %d bytes: %w: %w", in.InputOffset(), err, repo.ErrInvalid))
				return
			}
			if !yieldNested(fmt.Sprint("root ", n), "", top, yield) {
				return
			}
		}
		_, err := in.Token()
		if err == nil {
			if _, err = in.Token(); errors.Is(err, io.EOF) {
				return
			}
			err = cmp.Or(err, errors.New("more follows the list of nodes"))
		}
		yield(*new(T), fmt.Errorf("after %d bytes: %w: %w", in.InputOffset(), err, repo.ErrInvalid))
	}
}

// readable is ErrInvalid if a field of the record, outside its Node, has a name in JSON that the tree needs.
func readable[T any](names ...string) error {
	record, node := reflect.TypeFor[T](), reflect.TypeFor[Node]()
	for _, f := range reflect.VisibleFields(record) {
		if last := len(f.Index) - 1; last > 0 {
			if in := record.FieldByIndex(f.Index[:last]).Type; in == node || in == reflect.PointerTo(node) {
				continue
			}
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		taken := func(one string) bool { return strings.EqualFold(cmp.Or(name, f.Name), one) }
		if !f.Anonymous && slices.ContainsFunc(names, taken) {
			return fmt.Errorf("the field %s has the name %q in JSON, which the tree needs; give it another one by a json tag: %w", f.Name, cmp.Or(name, f.Name), repo.ErrInvalid)
		}
	}
	return nil
}

func bracket(in *json.Decoder) error {
	if err := delim(in, '[', "a list of nodes"); err != nil {
		return fmt.Errorf("%w: %w", err, repo.ErrInvalid)
	}
	return nil
}

// An object is a node of nested JSON.
type object struct {
	fields   []byte // without its children
	children []*object
}

// readObject reads a node of a level with all that is below it.
func readObject(in *json.Decoder, level int) (*object, error) {
	if level > mostRead {
		return nil, fmt.Errorf("more than %d levels", mostRead)
	}
	if err := delim(in, '{', "a node"); err != nil {
		return nil, err
	}
	o := &object{fields: []byte("{")}
	for in.More() {
		token, err := in.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string) // the decoder takes no other key
		if strings.EqualFold(name, "children") {
			if o.children, err = readChildren(in, level+1); err != nil {
				return nil, err
			}
			continue
		}
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return nil, err
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		if len(o.fields) > 1 {
			o.fields = append(o.fields, ',')
		}
		o.fields = append(append(append(o.fields, key...), ':'), value...)
	}
	o.fields = append(o.fields, '}')
	_, err := in.Token()
	return o, err
}

// readChildren reads a list of nodes of a level, or null.
func readChildren(in *json.Decoder, level int) (list []*object, err error) {
	switch token, err := in.Token(); {
	case err != nil:
		return nil, err
	case token == nil:
		return nil, nil
	case token != json.Delim('['):
		return nil, errors.New("want a list of nodes as children")
	}
	for in.More() {
		child, err := readObject(in, level)
		if err != nil {
			return nil, err
		}
		list = append(list, child)
	}
	_, err = in.Token()
	return list, err
}

// delim reads what begins a list or an object.
func delim(in *json.Decoder, want json.Delim, what string) error {
	switch token, err := in.Token(); {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("want %s, and there is nothing", what)
	case err != nil:
		return err
	case token != want:
		return fmt.Errorf("want %s", what)
	}
	return nil
}

// yieldNested yields a node and its children, and reports whether more are wanted.
func yieldNested[T any](where, parent string, o *object, yield func(T, error) bool) bool {
	var rec T
	if err := json.Unmarshal(o.fields, &rec); err != nil {
		yield(rec, driver.Errorf("%s: %w: %w", driver.Private(where), driver.Hide(err, "no record"), repo.ErrInvalid))
		return false
	}
	n := nodeOf(&rec)
	if parent != "" { // an object of the outermost list may name a node of the tree
		n.Parent = parent
	}
	if !yield(rec, nil) {
		return false
	}
	for i, child := range o.children {
		if !yieldNested(fmt.Sprintf("child %d of %q", i+1, n.ID), n.ID, child, yield) {
			return false
		}
	}
	return true
}
