package pebble_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"
	"testing"

	pebbledb "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/repo/driver"
)

// The benchmarks do the same work with the store and with Pebble as one would
// write it by hand for this one record: a post of about 300 bytes with two
// covering index rows. Beside the time they report the CPU that the process used,
// background work included. Nothing waits for the disk.

// A post is the record of the benchmarks. Its strings but body are parts of keys.
type post struct {
	author, id, created, category string // as key parts
	title, body                   string
	views                         int64
}

func newPost(i int) post {
	return post{
		author:   fmt.Sprintf("user:%04d#", i%1000),
		id:       fmt.Sprintf("P%08d#", i),
		created:  fmt.Sprintf("7ffffe9d%08x~", 1<<31-i),
		category: fmt.Sprintf("category-%02d#", i%20),
		title:    fmt.Sprintf("A title of usual length, number %d", i),
		body:     strings.Repeat("lorem ipsum ", 20),
		views:    int64(i),
	}
}

func benchTables() []*driver.Table {
	str := func(names ...string) (cols []driver.Column) {
		for _, n := range names {
			cols = append(cols, driver.Column{Name: n, Kind: driver.String})
		}
		return cols
	}
	fields := append(str("title", "body"), driver.Column{Name: "views", Kind: driver.Int})
	created := driver.Column{Name: "created", Kind: driver.Time, Desc: true}
	records := &driver.Table{Name: "posts", Partition: str("author"), Sort: str("id"), Fields: fields}
	return []*driver.Table{
		records,
		{Name: "posts.by_created", Class: driver.Rows, Home: records, Partition: str("author"),
			Sort: append([]driver.Column{created}, str("id")...), Fields: fields},
		{Name: "posts.by_category", Class: driver.Rows, Partition: str("category"), Sort: str("author", "id"), Fields: fields},
	}
}

// A subject does the work of the benchmarks.
type subject interface {
	insert(p *post) error
	get(p *post, out *post) error
	update(p *post) error // by compare-and-set, the title only
	delete(p *post) error
	newest(p *post, n int, each func(*post)) error // of the author
	io.Closer
}

type ourSubject struct {
	*pebble.Store
	tables []*driver.Table
	keys   [1]driver.Key
	rows   [1]driver.Row
	ops    [3]driver.Op
	fields [3]driver.Value
	sort   [2][]byte
}

func newOurs(dir string) (subject, error) {
	s, err := pebble.Open(dir, &pebble.Options{NoSync: true})
	if err != nil {
		return nil, err
	}
	o := &ourSubject{Store: s, tables: benchTables()}
	return o, s.Define(context.Background(), o.tables)
}

var errWrong = errors.New("the benchmark did not do its work")

// fill makes the three ops on p.
func (o *ourSubject) fill(p *post, do driver.Verb) []driver.Op {
	o.fields = [3]driver.Value{driver.StringValue(p.title), driver.StringValue(p.body), driver.IntValue(p.views)}
	keys := [3]driver.Key{
		{Partition: p.author, Sort: p.id},
		{Partition: p.author, Sort: p.created + p.id},
		{Partition: p.category, Sort: p.author + p.id},
	}
	for i := range o.ops {
		o.ops[i] = driver.Op{Do: do, Table: o.tables[i], Row: driver.Row{Key: keys[i], Fields: o.fields[:]}}
	}
	return o.ops[:]
}

func (o *ourSubject) commit(ops []driver.Op) error {
	refusal, err := o.Commit(context.Background(), driver.NewToken(), ops)
	if refusal != nil {
		return errWrong
	}
	return err
}

func (o *ourSubject) insert(p *post) error {
	ops := o.fill(p, driver.Put)
	ops[0].If = driver.Absent
	return o.commit(ops)
}

func (o *ourSubject) get(p *post, out *post) error {
	o.keys[0] = driver.Key{Partition: p.author, Sort: p.id}
	if err := o.Get(context.Background(), o.tables[0], o.keys[:], nil, o.rows[:]); err != nil {
		return err
	}
	r := &o.rows[0]
	if r.Rev.IsZero() {
		return errWrong
	}
	out.title, out.body, out.views = r.Fields[0].Str(), r.Fields[1].Str(), r.Fields[2].Int()
	return nil
}

func (o *ourSubject) update(p *post) error {
	var got post
	if err := o.get(p, &got); err != nil {
		return err
	}
	got.title = p.title
	o.fields = [3]driver.Value{driver.StringValue(got.title), driver.StringValue(got.body), driver.IntValue(got.views)}
	r := &o.rows[0]
	o.ops[0] = driver.Op{Do: driver.Put, Table: o.tables[0], If: driver.AtRev, Rev: r.Rev,
		Row: driver.Row{Key: o.keys[0], Fields: o.fields[:], Hint: r.Hint}}
	return o.commit(o.ops[:1])
}

func (o *ourSubject) delete(p *post) error {
	var got post
	if err := o.get(p, &got); err != nil {
		return err
	}
	ops := o.fill(p, driver.Delete)
	ops[0].If, ops[0].Rev, ops[0].Row.Hint = driver.AtRev, o.rows[0].Rev, o.rows[0].Hint
	return o.commit(ops)
}

func (o *ourSubject) newest(p *post, n int, each func(*post)) error {
	span := driver.Span{Table: o.tables[1], Key: driver.Key{Partition: p.author}, Limit: n}
	var got post
	for r, err := range o.Range(context.Background(), span) {
		if err != nil {
			return err
		}
		got.id = r.Key.Sort
		got.title, got.body, got.views = r.Fields[0].Str(), r.Fields[1].Str(), r.Fields[2].Int()
		each(&got)
	}
	return nil
}

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

func BenchmarkBesideRaw(b *testing.B) {
	const filled = 20000
	work := []struct {
		name   string
		filled int
		do     func(subject, int) error
	}{
		{"insert", 0, func(s subject, i int) error { p := newPost(i); return s.insert(&p) }},
		{"get", filled, func(s subject, i int) error {
			p := benchPosts[i*7919%filled]
			var out post
			return s.get(&p, &out)
		}},
		{"update", filled, func(s subject, i int) error {
			p := benchPosts[i*7919%filled]
			return s.update(&p)
		}},
		{"newest20", filled, func(s subject, i int) error {
			n := 0
			err := s.newest(&benchPosts[i*7919%filled], 20, func(*post) { n++ })
			if n != 20 {
				return errWrong
			}
			return err
		}},
		{"delete", -1, func(s subject, i int) error { p := newPost(i); return s.delete(&p) }},
	}
	benchPosts = make([]post, filled)
	for i := range benchPosts {
		benchPosts[i] = newPost(i)
	}
	for _, w := range work {
		for name, open := range map[string]func(string) (subject, error){"store": newOurs, "raw": newRaw} {
			b.Run(w.name+"/"+name, func(b *testing.B) {
				s, err := open(b.TempDir())
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				n := w.filled
				if n < 0 {
					n = b.N
				}
				for i := range n {
					p := newPost(i)
					if err := s.insert(&p); err != nil {
						b.Fatal(err)
					}
				}
				before := cpu()
				b.ReportAllocs()
				b.ResetTimer()
				for i := range b.N {
					if err := w.do(s, i); err != nil {
						b.Fatal(err)
					}
				}
				b.StopTimer()
				b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

var benchPosts []post

// cpu returns the nanoseconds of processor time that the process has used.
func cpu() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
