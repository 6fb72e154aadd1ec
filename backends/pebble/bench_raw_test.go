package pebble_test

import (
	"encoding/binary"
	"fmt"
	"sync"

	pebbledb "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"

	"github.com/polystore/polystore/repo/driver"
)

// rawSubject is the floor.
type rawSubject struct {
	db    *pebbledb.DB
	locks [1024]sync.Mutex
	key   []byte
	high  []byte
	value []byte
}

func newRaw(dir string) (subject, error) {
	opts := &pebbledb.Options{
		FormatMajorVersion:          pebbledb.FormatTableFormatV6,
		CacheSize:                   64 << 20,
		MemTableSize:                32 << 20,
		MemTableStopWritesThreshold: 4,
		L0StopWritesThreshold:       40,
		Logger:                      silent{},
	}
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	opts.ApplyCompressionSettings(func() pebbledb.DBCompressionSettings { return pebbledb.DBCompressionFastest })
	db, err := pebbledb.Open(dir, opts)
	return &rawSubject{db: db}, err
}

type silent struct{}

func (silent) Infof(string, ...any)           {}
func (silent) Errorf(string, ...any)          {}
func (silent) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }

func (r *rawSubject) Close() error { return r.db.Close() }

func (r *rawSubject) setKey(table byte, parts ...string) []byte {
	r.key = append(r.key[:0], table)
	for _, p := range parts {
		r.key = append(r.key, p...)
	}
	return r.key
}

func (r *rawSubject) lock(p *post) *sync.Mutex {
	h := uint32(2166136261)
	for i := range len(p.id) {
		h = (h ^ uint32(p.id[i])) * 16777619
	}
	return &r.locks[h%1024]
}

func (r *rawSubject) encode(p *post) []byte {
	token := driver.NewToken()
	v := append(r.value[:0], token[:]...)
	v = binary.AppendUvarint(v, uint64(len(p.title)))
	v = append(v, p.title...)
	v = binary.AppendUvarint(v, uint64(len(p.body)))
	v = append(v, p.body...)
	r.value = binary.AppendVarint(v, p.views)
	return r.value
}

// decode sets out from a value; its strings are parts of one copy.
func decodePost(value []byte, out *post) {
	s := string(value[16:])
	n, w := binary.Uvarint(value[16:])
	out.title = s[w : w+int(n)]
	at := w + int(n)
	n, w = binary.Uvarint(value[16+at:])
	out.body = s[at+w : at+w+int(n)]
	at += w + int(n)
	out.views, _ = binary.Varint(value[16+at:])
}

func (r *rawSubject) apply(b *pebbledb.Batch) error {
	if err := r.db.Apply(b, pebbledb.NoSync); err != nil {
		return err
	}
	return b.Close()
}

func (r *rawSubject) insert(p *post) error {
	l := r.lock(p)
	l.Lock()
	defer l.Unlock()
	_, closer, err := r.db.Get(r.setKey(1, p.author, p.id))
	if err == nil {
		closer.Close()
		return errWrong
	}
	value := r.encode(p)
	b := r.db.NewBatch()
	b.Set(r.key, value, nil)
	b.Set(r.setKey(2, p.author, p.created, p.id), value, nil)
	b.Set(r.setKey(3, p.category, p.author, p.id), value, nil)
	return r.apply(b)
}

func (r *rawSubject) get(p *post, out *post) error {
	value, closer, err := r.db.Get(r.setKey(1, p.author, p.id))
	if err != nil {
		return err
	}
	decodePost(value, out)
	return closer.Close()
}

func (r *rawSubject) update(p *post) error {
	l := r.lock(p)
	l.Lock()
	defer l.Unlock()
	var got post
	if err := r.get(p, &got); err != nil {
		return err
	}
	got.title = p.title
	b := r.db.NewBatch()
	b.Set(r.key, r.encode(&got), nil)
	return r.apply(b)
}

func (r *rawSubject) delete(p *post) error {
	l := r.lock(p)
	l.Lock()
	defer l.Unlock()
	var got post
	if err := r.get(p, &got); err != nil {
		return err
	}
	b := r.db.NewBatch()
	b.Delete(r.key, nil)
	b.Delete(r.setKey(2, p.author, p.created, p.id), nil)
	b.Delete(r.setKey(3, p.category, p.author, p.id), nil)
	return r.apply(b)
}

func (r *rawSubject) newest(p *post, n int, each func(*post)) error {
	low := r.setKey(2, p.author)
	r.high = append(r.high[:0], low...)
	r.high[len(r.high)-1]++
	it, err := r.db.NewIter(&pebbledb.IterOptions{LowerBound: low, UpperBound: r.high})
	if err != nil {
		return err
	}
	var got post
	for it.First(); it.Valid() && n > 0; it.Next() {
		got.id = string(it.Key()[len(low):])
		decodePost(it.Value(), &got)
		each(&got)
		n--
	}
	return it.Close()
}
