package pebble_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

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
		created:  fmt.Sprintf("7ffffe9d%08x~", 1<<31-int64(i)),
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

// A task is what one benchmark does again and again.
type task struct {
	name   string
	filled int // posts that are there before; -1 is as many as there are turns
	do     func(s subject, i int) error
}

const filled = 20000

// scattered returns one of the filled posts. They are made once, so that making
// them is not measured.
func scattered(i int) post { return posts()[i*7919%filled] }

var posts = sync.OnceValue(func() []post {
	all := make([]post, filled)
	for i := range all {
		all[i] = newPost(i)
	}
	return all
})

var tasks = []task{
	{"insert", 0, func(s subject, i int) error { p := newPost(i); return s.insert(&p) }},
	{"get", filled, func(s subject, i int) error { p := scattered(i); return s.get(&p, &p) }},
	{"update", filled, func(s subject, i int) error { p := scattered(i); return s.update(&p) }},
	{"newest20", filled, func(s subject, i int) error {
		p, n := scattered(i), 0
		err := s.newest(&p, 20, func(*post) { n++ })
		if n != 20 {
			return errWrong
		}
		return err
	}},
	{"delete", -1, func(s subject, i int) error { p := newPost(i); return s.delete(&p) }},
}

func BenchmarkBesideRaw(b *testing.B) {
	for _, task := range tasks {
		for name, open := range map[string]func(string) (subject, error){"store": newOurs, "raw": newRaw} {
			b.Run(task.name+"/"+name, func(b *testing.B) {
				s, err := open(b.TempDir())
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				task.run(b, s)
			})
		}
	}
}

func (k *task) run(b *testing.B, s subject) {
	n := k.filled
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
		if err := k.do(s, i); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op")
}
