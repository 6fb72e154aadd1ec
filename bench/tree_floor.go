package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	pebbledb "github.com/cockroachdb/pebble/v2"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// A treeFloor keeps a tree by hand on Pebble, as the one process that has it open may. Each node is a record with its
// place, and a row among the children of its parent; with paths also a row in depth-first order.
//
// It does what package tree does with fewer means: a write locks the tree, for itself if it moves a node, and what it
// inserts below; it reads each record once, and applies one batch, in which a move writes the guard. What is read of
// several nodes is of one state, by the guard before and after, as the library does it. A tuned floor reads a snapshot
// instead, and cuts the texts of a record from one copy.
//
// It leaves out: places between two siblings, since only the last place is measured; deletes; whatever a process that
// ended in the middle leaves, since a move of many nodes is one batch, however large; other programs at the same
// store; IDs with a NUL; and records with fields that it does not know.
type treeFloor struct {
	db       *pebbledb.DB
	paths    bool
	tuned    bool
	sync     bool
	versions atomic.Uint64
	seed     maphash.Seed
	tree     sync.RWMutex // for itself: by a move
	locks    [1 << 12]sync.Mutex
}

func treeFloorOf(paths, tuned bool) func(at place) (trees, error) {
	return func(at place) (trees, error) {
		db, err := pebbledb.Open(at.dir, floorOptions())
		if err != nil {
			return nil, err
		}
		f := &treeFloor{db: db, paths: paths, tuned: tuned, sync: at.sync, seed: maphash.MakeSeed()}
		f.versions.Store(uint64(time.Now().UnixNano()))
		return f, nil
	}
}

func (f *treeFloor) close() error { return f.db.Close() }

// read fills n with the node that has an ID.
func (f *treeFloor) read(from pebbledb.Reader, id string, n *stem) error {
	var space [64]byte
	stored, closer, err := from.Get(append(append(space[:0], nodeKey...), id...))
	if err != nil {
		if errors.Is(err, pebbledb.ErrNotFound) {
			return repo.ErrNotFound
		}
		return err
	}
	err = readStem(n, stored, f.tuned)
	closer.Close()
	return err
}

func (f *treeFloor) load(_ context.Context, list []node) error {
	b, stems, last := f.db.NewBatch(), map[string]*stem{}, map[string]uint64{}
	for i := range list {
		n := &list[i]
		last[n.parent] += placeStep
		s := &stem{id: n.id, parent: n.parent, title: n.title, body: n.body}
		f.put(b, s, stems[n.parent], last[n.parent])
		stems[n.id] = s
	}
	b.Set(guardKey, binary.BigEndian.AppendUint64(nil, f.versions.Add(1)), nil)
	return errors.Join(f.apply(b), b.Close())
}

// put gives a node its version, place and path below a parent, nil of a root, and writes it with its rows.
func (f *treeFloor) put(b *pebbledb.Batch, n, parent *stem, place uint64) {
	n.version, n.place = f.versions.Add(1), place
	if f.paths {
		above := []byte(nil)
		if parent != nil {
			above = parent.path
		}
		n.path = appendStep(make([]byte, 0, len(above)+len(n.id)+9), above, n)
		b.Set(append(slices.Clone(pathKey), n.path...), nil, nil)
	}
	b.Set(append(slices.Clone(nodeKey), n.id...), appendStem(make([]byte, 0, 512), n), nil)
	b.Set(appendChildKey(make([]byte, 0, 64), n), nil, nil)
}

func (f *treeFloor) apply(b *pebbledb.Batch) error {
	if f.sync {
		return f.db.Apply(b, pebbledb.Sync)
	}
	return f.db.Apply(b, pebbledb.NoSync)
}

// lock locks what two IDs stand for, in an order that all have.
func (f *treeFloor) lock(a, b string) (unlock func()) {
	i, j := maphash.String(f.seed, a)%uint64(len(f.locks)), maphash.String(f.seed, b)%uint64(len(f.locks))
	if i > j {
		i, j = j, i
	}
	f.locks[i].Lock()
	if i == j {
		return f.locks[i].Unlock
	}
	f.locks[j].Lock()
	return func() { f.locks[j].Unlock(); f.locks[i].Unlock() }
}

// lastPlace returns the place after the last child of a node.
func (f *treeFloor) lastPlace(parent string) (place uint64, err error) {
	var space [64]byte
	low := appendRunOf(space[:0], parent)
	high := append(bytes.Clone(low[:len(low)-1]), 1)
	it, err := f.db.NewIter(&pebbledb.IterOptions{LowerBound: low, UpperBound: high})
	if err != nil {
		return 0, err
	}
	if it.Last() {
		place = binary.BigEndian.Uint64(it.Key()[len(low):])
	}
	return place + placeStep, errors.Join(it.Error(), it.Close())
}

func (f *treeFloor) insert(ctx context.Context, n *node) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.tree.RLock()
	defer f.tree.RUnlock()
	defer f.lock(n.id, n.parent)()
	var parent stem
	if err := f.read(f.db, n.parent, &parent); err != nil {
		return err
	}
	_, closer, err := f.db.Get(append(slices.Clone(nodeKey), n.id...))
	if err == nil {
		closer.Close()
		return repo.ErrExists
	}
	if !errors.Is(err, pebbledb.ErrNotFound) {
		return err
	}
	place, err := f.lastPlace(n.parent)
	if err != nil {
		return err
	}
	b := f.db.NewBatch()
	f.put(b, &stem{id: n.id, parent: n.parent, title: n.title, body: n.body}, &parent, place)
	return errors.Join(f.apply(b), b.Close())
}

func (f *treeFloor) move(ctx context.Context, id, to string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.tree.Lock()
	defer f.tree.Unlock()
	var n, parent stem
	if err := errors.Join(f.read(f.db, id, &n), f.read(f.db, to, &parent)); err != nil {
		return err
	}
	if err := f.outside(&n, parent); err != nil {
		return err
	}
	place, err := f.lastPlace(to)
	if err != nil {
		return err
	}
	b := f.db.NewBatch()
	b.Delete(appendChildKey(nil, &n), nil)
	old := n.path
	if f.paths {
		b.Delete(append(slices.Clone(pathKey), old...), nil)
	}
	n.parent = to
	f.put(b, &n, &parent, place)
	if f.paths {
		err = f.movePaths(b, old, n.path)
	}
	b.Set(guardKey, binary.BigEndian.AppendUint64(nil, f.versions.Add(1)), nil)
	if err == nil {
		err = f.apply(b)
	}
	return errors.Join(err, b.Close())
}

// outside is tree.ErrBelowItself if a node is another one, or lies above it.
func (f *treeFloor) outside(n *stem, at stem) error {
	if f.paths && !bytes.HasPrefix(at.path, n.path) {
		return nil
	}
	for at.id != n.id {
		if at.parent == "" {
			return nil
		}
		if err := f.read(f.db, at.parent, &at); err != nil {
			return err
		}
	}
	return tree.ErrBelowItself
}

// movePaths rewrites what lies below a node, whose own path is written.
func (f *treeFloor) movePaths(b *pebbledb.Batch, from, to []byte) error {
	return f.rows(f.db, from, func(path []byte) error {
		if len(path) == len(from) {
			return nil
		}
		var n stem
		if err := f.read(f.db, idOf(path), &n); err != nil {
			return err
		}
		b.Delete(append(slices.Clone(pathKey), path...), nil)
		n.version, n.path = f.versions.Add(1), append(bytes.Clone(to), path[len(from):]...)
		b.Set(append(slices.Clone(pathKey), n.path...), nil, nil)
		b.Set(append(slices.Clone(nodeKey), n.id...), appendStem(nil, &n), nil)
		return nil
	})
}

// rows calls do with the paths that one begins.
func (f *treeFloor) rows(from pebbledb.Reader, path []byte, do func(path []byte) error) error {
	low := append(slices.Clone(pathKey), path...)
	high := append(bytes.Clone(low), 0xff)
	it, err := from.NewIter(&pebbledb.IterOptions{LowerBound: low, UpperBound: high})
	if err != nil {
		return err
	}
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		err = do(it.Key()[len(pathKey):])
	}
	return errors.Join(err, it.Error(), it.Close())
}
