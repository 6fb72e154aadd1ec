package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	pebbledb "github.com/cockroachdb/pebble/v2"

	"github.com/polystore/polystore/repo"
)

// The keys of the floor of trees:
//
//	n id                       a node
//	c parent 0 place id        a row of the children of a node
//	p place id 0 place id 0 …  a row of the paths
//	g                          the guard: its version
//
// A place is a number of 8 bytes. Rows are empty. A node is its version and place, 8 bytes each, its path, and its
// texts with their lengths.
var nodeKey, childKey, pathKey, guardKey = []byte{'n'}, []byte{'c'}, []byte{'p'}, []byte{'g'}

// placeStep is how far apart places are, so that others fit in between.
const placeStep = 1 << 32

// A stem is a node as the floor keeps it.
type stem struct {
	version, place uint64
	path           []byte
	id, parent     string
	title, body    string
}

func (s *stem) node(depth int) node {
	return node{id: s.id, parent: s.parent, title: s.title, body: s.body, depth: depth}
}

func appendRunOf(dst []byte, parent string) []byte {
	return append(append(append(dst, childKey...), parent...), 0)
}

func appendChildKey(dst []byte, n *stem) []byte {
	dst = binary.BigEndian.AppendUint64(appendRunOf(dst, n.parent), n.place)
	return append(dst, n.id...)
}

func appendStep(dst, above []byte, n *stem) []byte {
	dst = binary.BigEndian.AppendUint64(append(dst, above...), n.place)
	return append(append(dst, n.id...), 0)
}

// stepEnd returns where the first step of a path ends.
func stepEnd(path []byte) int { return 9 + bytes.IndexByte(path[8:], 0) }

func idOf(path []byte) (id string) {
	for len(path) > 0 {
		end := stepEnd(path)
		id, path = string(path[8:end-1]), path[end:]
	}
	return id
}

func appendStem(dst []byte, n *stem) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, n.version)
	dst = binary.LittleEndian.AppendUint64(dst, n.place)
	dst = append(binary.AppendUvarint(dst, uint64(len(n.path))), n.path...)
	for _, s := range [...]string{n.id, n.parent, n.title, n.body} {
		dst = append(binary.AppendUvarint(dst, uint64(len(s))), s...)
	}
	return dst
}

// readStem fills n from a stored node. Its texts are cut from one copy, or copied one by one.
func readStem(n *stem, stored []byte, oneCopy bool) error {
	if len(stored) < 17 {
		return errRecord
	}
	n.version, n.place = binary.LittleEndian.Uint64(stored), binary.LittleEndian.Uint64(stored[8:])
	size, at := binary.Uvarint(stored[16:])
	rest := stored[16+max(at, 0):]
	if at <= 0 || size > uint64(len(rest)) {
		return errRecord
	}
	n.path = nil
	if size > 0 {
		n.path = bytes.Clone(rest[:size])
	}
	rest = rest[size:]
	whole := ""
	if oneCopy {
		whole = string(rest)
	}
	from, to := 0, 0
	for _, s := range [...]*string{&n.id, &n.parent, &n.title, &n.body} {
		size, at := binary.Uvarint(rest[to:])
		if at <= 0 || size > uint64(len(rest)-to-at) {
			return errRecord
		}
		from = to + at
		to = from + int(size)
		if oneCopy {
			*s = whole[from:to]
		} else {
			*s = string(rest[from:to])
		}
	}
	return nil
}

func (f *treeFloor) children(ctx context.Context, parent string, limit int, visit func(node)) (more bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	var n stem
	page := make([]node, 0, limit)
	err = f.list(f.db, parent, func(id string) error {
		if len(page) == limit {
			more = true
			return errEnough
		}
		if err := f.read(f.db, id, &n); err != nil || n.parent != parent { // it was moved since the loop began
			return err
		}
		page = append(page, n.node(0))
		return nil
	})
	for i := range page {
		visit(page[i])
	}
	return more, err
}

var errEnough = errors.New("enough")

// list calls do with the IDs of the children of a node.
func (f *treeFloor) list(from pebbledb.Reader, parent string, do func(id string) error) error {
	low := appendRunOf(make([]byte, 0, 64), parent)
	high := append(bytes.Clone(low[:len(low)-1]), 1)
	it, err := from.NewIter(&pebbledb.IterOptions{LowerBound: low, UpperBound: high})
	if err != nil {
		return err
	}
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		err = do(string(it.Key()[len(low)+8:]))
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	return errors.Join(err, it.Error(), it.Close())
}

// guardVersion reads the guard.
func (f *treeFloor) guardVersion() (uint64, error) {
	stored, closer, err := f.db.Get(guardKey)
	if err != nil {
		return 0, err
	}
	version := binary.BigEndian.Uint64(stored)
	return version, closer.Close()
}

// stable visits the nodes that read collects from one state of the tree.
func (f *treeFloor) stable(ctx context.Context, visit func(node), read func(from pebbledb.Reader, visit func(node)) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if f.tuned {
		s := f.db.NewSnapshot()
		return errors.Join(read(s, visit), s.Close())
	}
	for {
		before, err := f.guardVersion()
		if err != nil {
			return err
		}
		var list []node
		failed := read(f.db, func(n node) { list = append(list, n) })
		after, err := f.guardVersion()
		switch {
		case err != nil:
			return err
		case after != before:
		case failed != nil:
			return failed
		default:
			for i := range list {
				visit(list[i])
			}
			return nil
		}
	}
}

func (f *treeFloor) ancestors(ctx context.Context, id string, visit func(node)) error {
	return f.stable(ctx, visit, func(from pebbledb.Reader, visit func(node)) error {
		var n stem
		if err := f.read(from, id, &n); err != nil {
			return err
		}
		if f.paths {
			for path := n.path; len(path) > 0; path = path[stepEnd(path):] {
				if at := string(path[8 : stepEnd(path)-1]); at != id {
					if err := f.read(from, at, &n); err != nil {
						return err
					}
					visit(n.node(0))
				}
			}
			return nil
		}
		var list []node
		for n.parent != "" {
			if err := f.read(from, n.parent, &n); err != nil {
				return err
			}
			list = append(list, n.node(0))
		}
		for _, n := range slices.Backward(list) {
			visit(n)
		}
		return nil
	})
}

func (f *treeFloor) subtree(ctx context.Context, id string, visit func(node)) error {
	return f.stable(ctx, visit, func(from pebbledb.Reader, visit func(node)) error {
		var top stem
		if err := f.read(from, id, &top); err != nil {
			return err
		}
		if !f.paths {
			return f.below(from, id, 1, visit)
		}
		var n stem
		return f.rows(from, top.path, func(path []byte) error {
			if len(path) == len(top.path) {
				return nil
			}
			depth, last := 0, ""
			for rest := path[len(top.path):]; len(rest) > 0; rest = rest[stepEnd(rest):] {
				if depth++; stepEnd(rest) == len(rest) {
					last = string(rest[8 : len(rest)-1])
				}
			}
			if err := f.read(from, last, &n); err != nil {
				return fmt.Errorf("node %s: %w", last, errors.Join(err, repo.ErrCorrupt))
			}
			visit(n.node(depth))
			return nil
		})
	})
}

// below reads list after list.
func (f *treeFloor) below(from pebbledb.Reader, id string, depth int, visit func(node)) error {
	var n stem
	return f.list(from, id, func(child string) error {
		if err := f.read(from, child, &n); err != nil {
			return err
		}
		visit(n.node(depth))
		return f.below(from, child, depth+1, visit)
	})
}
