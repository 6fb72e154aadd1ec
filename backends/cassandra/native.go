package cassandra

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A native index is a storage-attached index (SAI) on the column of each field of its
// Partition, which the server keeps, and an entry in the catalog, because indexes with
// a field in common have one SAI of it. SAI finds what is equal; inside a partition the
// rows that it finds come in the order of _sort, which is that of the records.

// nativeKinds are those whose columns can have an SAI. Lists and maps are one text each,
// in which it does not look.
var nativeKinds = []driver.Kind{driver.Bool, driver.Int, driver.Float, driver.String, driver.Time}

// oldestNative is the oldest server whose SAI finds what it should where replicas differ.
const oldestNative = "5.0.4"

// longestKey is how many bytes a text in an index may have; see package repo.
const longestKey = 1 << 10

// nativeAbility says which native indexes the server can have.
func nativeAbility(p *portrait) driver.Ability {
	longest := p.settings["sai_string_term_size_fail_threshold"]
	switch n := bytesOf(longest); {
	case frame.CompareVersions(p.version, oldestNative) < 0:
		return driver.Ability{Reason: fmt.Sprintf("indexes of the server (SAI) can miss records before Cassandra %s, and one is %.50s", oldestNative, p.version)}
	case p.settings["secondary_indexes_enabled"] == "false":
		return driver.Ability{Reason: "the server forbids indexes of its own (secondary_indexes_enabled)"}
	case n > 0 && n < longestKey:
		return driver.Ability{Reason: "the server leaves texts of more than " + longest + " out of its indexes (sai_string_term_size_fail_threshold), and an index has them up to 1 KiB"}
	}
	return driver.Ability{Has: true, Reason: "found by SAI in one partition, in the order of its records; backwards the server reads the whole partition and filters it"}
}

// A native is a native index as a view reads it.
type native struct {
	table  *driver.Table
	parts  []int // of the home's partition columns: the places in Partition
	wanted []int // the places of the other columns, which are fields
}

func newNative(t *driver.Table) *native {
	n := &native{table: t}
	for _, c := range t.Home.Partition {
		n.parts = append(n.parts, slices.Index(t.Partition, c))
	}
	for i := range t.Partition {
		if !slices.Contains(n.parts, i) {
			n.wanted = append(n.wanted, i)
		}
	}
	return n
}

// fields returns the names of the fields that the index is by.
func (n *native) fields() []string {
	var names []string
	for _, at := range n.wanted {
		names = append(names, n.table.Partition[at].Name)
	}
	return names
}

// possibleNative says what this store cannot have in a native table.
func (s *store) possibleNative(t *driver.Table) error {
	if err := possible(t.Home); err != nil {
		return err
	}
	home, can := t.Home, s.facts.Native
	fits := can.Has && t.Class == driver.Rows && len(t.Sort) <= len(home.Sort) && slices.Equal(t.Sort, home.Sort[:len(t.Sort)])
	for _, c := range home.Partition {
		fits = fits && slices.Contains(t.Partition, c)
	}
	for _, c := range t.Partition {
		fits = fits && (slices.Contains(home.Partition, c) || slices.Contains(home.Fields, c) && slices.Contains(nativeKinds, c.Kind))
	}
	if !fits {
		return who.Unsupported("table %s: a native index of this form: %s", t.Name, can.Reason)
	}
	return nil
}

// Native makes a native index exist, or sees that it does.
func (s *store) Native(ctx context.Context, doing string, t *driver.Table, define bool) (*view, error) {
	doing += " " + t.Name
	if err := s.possibleNative(t); err != nil {
		return nil, err
	}
	v, err := s.nativeView(ctx, doing, t)
	if err != nil {
		return nil, err
	}
	own, err := s.catalog.entry(ctx, doing, t.Name)
	if err != nil {
		return nil, err
	}
	if _, err := own.lacks(t); err != nil {
		return nil, err
	}
	x := index{s, doing, v}
	lacking, err := x.lacking(ctx)
	absent := own.Header == "" || len(lacking) > 0
	switch {
	case err != nil:
	case absent && !define:
		err = who.Schema("%s: there is no such index; define it first", doing)
	case absent:
		err = x.make(ctx, own.Header == "")
	case define: // another program may have made them just now
		err = x.answers(ctx)
	}
	return v, err
}

// nativeView returns the view of a native table, whose home must be there.
func (s *store) nativeView(ctx context.Context, doing string, t *driver.Table) (*view, error) {
	if err := s.catalog.look(ctx, doing); err != nil {
		return nil, err
	}
	home, err := s.catalog.entry(ctx, doing, t.Home.Name)
	if err != nil {
		return nil, err
	}
	missing, err := home.lacks(t.Home)
	if err != nil {
		return nil, err
	}
	p, err := s.conn.physical(ctx, doing, physicalName(t.Root().Name))
	if err != nil {
		return nil, err
	}
	if home.Header == "" || len(missing) > 0 || !p.made || len(p.missing(t.Home)) > 0 {
		return nil, who.Schema("%s: its home %s is not there as it is declared; define it first", doing, t.Home.Name)
	}
	v := s.newView(t.Home, home, p)
	v.native = newNative(t)
	return v, nil
}

// An index is a native index that is to be there, as a view reads it.
type index struct {
	store *store
	doing string
	v     *view
}

// make makes what the server lacks of an index: first its entry in the catalog.
// A program that was not the first to write that waits for the one that was.
func (x *index) make(ctx context.Context, absent bool) error {
	first := true
	if absent {
		if err := x.sound(ctx); err != nil {
			return err
		}
		var err error
		if first, err = x.store.catalog.describe(ctx, x.v.native.table); err != nil {
			return err
		}
	}
	var lacking []string
	look := func() (done bool, err error) {
		lacking, err = x.lacking(ctx)
		return err == nil && len(lacking) == 0, err
	}
	done, err := look()
	if err == nil && !done && !first {
		_, err = who.Until(ctx, turn, 50*time.Millisecond, look)
	}
	if err != nil {
		return err
	}
	for _, field := range lacking {
		text := fmt.Sprintf(`CREATE CUSTOM INDEX IF NOT EXISTS %s ON %s (%s) USING 'StorageAttachedIndex'`,
			quoted(indexName(x.v.physical, field)), x.v.table, quoted(field))
		if err := x.store.conn.change(ctx, x.doing, text); err != nil {
			return err
		}
	}
	return x.answers(ctx)
}

// indexName returns the name of the SAI of a field, which no other in the keyspace has.
func indexName(physical, field string) string {
	name := physical + "_X_" + field
	if !isName(field) || len(name) > longest {
		return hashed(name)
	}
	return name
}

const indexesOf = `SELECT index_name, options FROM system_schema.indexes WHERE keyspace_name = ? AND table_name = ?`

// lacking returns the columns of the index that have no SAI. An index of
// another program that might answer in its place, and otherwise, is ErrSchema.
func (x *index) lacking(ctx context.Context) ([]string, error) {
	iter, err := x.store.conn.read(ctx, x.doing, gocql.One, indexesOf, x.store.conn.keyspace, x.v.physical)
	if err != nil {
		return nil, err
	}
	lacking := x.v.native.fields()
	for i, name := range lacking {
		lacking[i] = x.v.column(name)
	}
	var name string
	for options := map[string]string(nil); iter.Scan(&name, &options); options = nil {
		at := slices.IndexFunc(lacking, func(field string) bool { return options["target"] == field || options["target"] == quoted(field) })
		class := options["class_name"]
		delete(options, "target")
		delete(options, "class_name")
		switch {
		case at < 0:
		case class != "sai" && !strings.HasSuffix(class, "StorageAttachedIndex") || len(options) > 0:
			return nil, who.Schema("%s: the table %s has an index %s on %s that another program made, which need not find what is equal; drop it", x.doing, x.v.physical, name, lacking[at])
		default:
			lacking = slices.Delete(lacking, at, at+1)
		}
	}
	return lacking, x.store.conn.failed(ctx, x.doing, iter.Close())
}

// unready is how long an index may not answer while no server has anything to do for an index.
const unready = time.Minute

// answers waits until all servers have built the index: it reads a row
// that there is not.
func (x *index) answers(ctx context.Context) error {
	args := slices.Repeat([]any{some{}}, len(x.v.Partition))
	args = append(args, x.v.head, x.v.head+"\x00")
	args = append(args, slices.Repeat([]any{some{}}, len(x.v.native.wanted))...)
	text := x.v.spanText(quoted(sortColumn), &driver.Span{})
	idle := time.Now()
	var err error
	_, ended := who.Until(ctx, math.MaxInt64, 50*time.Millisecond, func() (bool, error) {
		if _, err = x.store.conn.read(ctx, x.doing, x.store.conn.level, text, append(args, 1)...); err == nil || ctx.Err() != nil {
			return true, nil
		}
		if x.building(ctx) {
			idle = time.Now()
		}
		return time.Since(idle) > unready, nil
	})
	return cmp.Or(ended, err)
}

// buildersOf reads what the threads of a server that build indexes have to do. A build waits for its turn there, and
// before it for a flush of the table, on the one of them that makes all indexes.
const buildersOf = `SELECT active_tasks, pending_tasks FROM system_views.thread_pools WHERE name IN ('SecondaryIndexManagement', 'SecondaryIndexExecutor')`

// building reports whether a server says that it has to build indexes, be they others.
func (x *index) building(ctx context.Context) bool {
	for _, host := range x.store.conn.session.GetHosts() {
		iter := x.store.conn.query(gocql.One, buildersOf).SetKeyspace("system").SetHostID(host.HostID()).IterContext(ctx)
		for active, pending := 0, 0; iter.Scan(&active, &pending); {
			if active+pending > 0 {
				return true
			}
		}
	}
	return false
}

// sound sees that SAI will find every record by the fields of a native view: that none has
// one where it lay before it was declared, or a text that is too long.
func (x *index) sound(ctx context.Context) error {
	var mask []int
	for _, name := range x.v.native.fields() {
		mask = append(mask, x.v.Ordinals[name])
	}
	text := "SELECT " + x.v.selection(mask) + " FROM " + x.v.table
	q := x.store.conn.query(x.store.conn.level, text).PageSize(frame.ChunkRows)
	for state := []byte(nil); ; {
		answer, err := x.store.conn.ask(ctx, x.doing, q.PageState(state))
		if err != nil {
			return err
		}
		r := x.store.newReader(x.v, mask, answer, "")
		for r.next() {
			if err := r.sound(x.doing); err != nil {
				return err
			}
		}
		if state = answer.PageState(); len(state) == 0 {
			return x.store.conn.failed(ctx, x.doing, answer.Close())
		}
	}
}

// sound says why SAI would not find the row of which next has read the cells.
func (r *reader) sound(doing string) error {
	if !strings.HasPrefix(r.sortText(), r.v.head) {
		return nil // of another table
	}
	for i, name := range r.names {
		ordinal, declared := r.v.Ordinals[name]
		switch {
		case declared && len(r.cells[i].data) > longestKey:
			return who.TooLarge("%s: the record %.200q of the table %s has %d bytes in %s, and an index has at most %d; change it, or take kind table",
				doing, driver.Private(r.sortText()), r.v.physical, len(r.cells[i].data), r.v.Fields[ordinal].Name, longestKey)
		case name == "_extra" && len(r.cells[i].data) > 0:
			if err := r.soundExtra(doing, string(r.cells[i].data)); err != nil {
				return err
			}
		}
	}
	return nil
}

// soundExtra says which field of the native view a record has where SAI does not look. One
// that was written again has its column, and what _extra says of it counts no longer.
func (r *reader) soundExtra(doing, text string) error {
	row := driver.Row{Fields: make([]driver.Value, r.sh.Width)}
	if !r.extra(text, &row) {
		return r.bad("_extra")
	}
	for i, value := range row.Fields {
		name := r.v.Fields[r.sh.Mask[i]].Name
		if at := slices.Index(r.names, name); !value.IsNone() && (at < 0 || r.cells[at].data == nil) {
			return who.Unsupported("%s: the record %.200q of the table %s has %s from before it was declared, in _extra; write such records again, or take kind table",
				doing, driver.Private(r.sortText()), r.v.physical, name)
		}
	}
	return nil
}
