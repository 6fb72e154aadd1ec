package gate_test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

// A cassandraStore sends the statements of the design to Cassandra. Records and the
// rows of local indexes lie in one table there.
type cassandraStore struct {
	statements
	session  *gocql.Session
	keyspace string
	table    string
}

func dialCassandra(t testing.TB, rawURL, keyspace string) *gocql.Session {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(u.Host)
	if err != nil {
		t.Fatal(err)
	}
	cluster := gocql.NewCluster(host)
	if cluster.Port, err = strconv.Atoi(port); err != nil {
		t.Fatal(err)
	}
	cluster.ProtoVersion, cluster.Keyspace = 5, keyspace
	cluster.Consistency, cluster.SerialConsistency = gocql.Quorum, gocql.Serial
	cluster.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(gocql.RoundRobinHostPolicy())
	cluster.Timeout, cluster.ConnectTimeout = 20*time.Second, 20*time.Second
	if password, ok := u.User.Password(); ok {
		cluster.Authenticator = gocql.PasswordAuthenticator{Username: u.User.Username(), Password: password}
	}
	session, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session
}

// keyspace makes a keyspace for the time of a test and returns a session in it.
func keyspace(t testing.TB, name string) *gocql.Session {
	t.Helper()
	url := testserver.Shared(t, testserver.Cassandra).URL
	admin := dialCassandra(t, url, "")
	run := func(ctx context.Context, cql string) {
		if err := admin.Query(cql).ExecContext(ctx); err != nil {
			t.Error(err)
		}
	}
	run(t.Context(), "CREATE KEYSPACE "+name+" WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
	t.Cleanup(func() { run(context.Background(), "DROP KEYSPACE "+name) })
	return dialCassandra(t, url, name)
}

// newCassandra returns stores on one table of a keyspace of their own.
func newCassandra(t testing.TB, name string) func(statements) store {
	s := &cassandraStore{readDesign(t), keyspace(t, name), name, "posts"}
	for range 2 { // the second time it is there
		if err := s.change(t.Context(), "cassandra/define", nil); err != nil {
			t.Fatal(err)
		}
	}
	return func(design statements) store { return &cassandraStore{design, s.session, name, s.table} }
}

// in returns a store on another table.
func (s *cassandraStore) in(table string) *cassandraStore {
	other := *s
	other.table = table
	return &other
}

// change sends a statement that changes the schema.
func (s *cassandraStore) change(ctx context.Context, label string, names map[string]string) error {
	cql, err := s.named(label, merged(names, map[string]string{"table": s.table}))
	if err != nil {
		return err
	}
	return s.session.Query(cql).ExecContext(ctx)
}

func merged(a, b map[string]string) map[string]string {
	m := map[string]string{}
	for _, from := range []map[string]string{a, b} {
		for k, v := range from {
			m[k] = v
		}
	}
	return m
}

// The columns of the table, in the order of the design's INSERT and UPDATE.
var cassandraColumns = []string{"title", "views", "rating", "open", "at", "photo", "tags", "meta", "slug", "category", "select", "Select",
	"_key", "_rev", "_ring", "_dead", "_expires", "_note", "_extra", "_later"}

func (s *cassandraStore) query(label string, names map[string]string, args ...any) (*gocql.Query, error) {
	columns := `"_sort"`
	for _, c := range cassandraColumns {
		columns += `, "` + c + `"`
	}
	cql, err := s.named(label, merged(names, map[string]string{"table": s.table, "columns": columns}))
	return s.session.Query(cql, args...), err
}

// querySpan returns a statement that reads a span, of whose records some may be dead.
func (s *cassandraStore) querySpan(label string, t *driver.Table, args ...any) (*gocql.Query, error) {
	alive := "cassandra/live-rows"
	if t.Class == driver.Records {
		alive = "cassandra/live"
	}
	live, err1 := s.text(alive)
	filtering, err2 := s.text("cassandra/filtering")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	return s.query(label, map[string]string{"live": live, "filtering": filtering}, args...)
}

// partitionText returns the text column for a partition of one text: what an empty
// one would be is refused, so it and texts that begin like its stand-in get a '#' more.
func partitionText(t *driver.Table, partition string) string {
	vals, _, err := driver.ParseParts(nil, partition, t.Partition)
	if err != nil {
		panic(err) // the tests make no such key
	}
	s := vals[0].Str()
	if s == "" || s[0] == '#' {
		return "#" + s
	}
	return s
}

func partitionOf(t *driver.Table, column string) string {
	vals := []driver.Value{text(strings.TrimPrefix(column, "#"))}
	if strings.HasPrefix(column, "##") {
		vals[0] = text(column[1:])
	}
	p, err := driver.AppendParts(nil, t.Partition, vals)
	if err != nil {
		panic(err)
	}
	return string(p)
}

// index returns what the clustering text of a table's rows begins with.
func index(t *driver.Table) string {
	_, name, _ := strings.Cut(t.Name, ".")
	return name + ":"
}

// A scanned row has pointers for every column, nil where it is null.
type scannedRow struct {
	author, sort                                       string
	title, tags, meta, slug, category, sel, Sel, owner *string
	views                                              *int64
	rating                                             *float64
	open, dead                                         *bool
	later                                              raw
	at, expires                                        *int64
	photo, rev, ring                                   []byte
	note, extra                                        *string
}

func (r *scannedRow) targets() []any {
	return []any{&r.sort, &r.title, &r.views, &r.rating, &r.open, &r.at, &r.photo, &r.tags, &r.meta, &r.slug, &r.category,
		&r.sel, &r.Sel, &r.owner, &r.rev, &r.ring, &r.dead, &r.expires, &r.note, &r.extra, &r.later}
}

// values returns the values of the row's fields by name.
func (r *scannedRow) values() (map[string]driver.Value, error) {
	m := map[string]driver.Value{"photo": driver.BytesValue(string(r.photo))}
	for name, p := range map[string]*string{"title": r.title, "slug": r.slug, "category": r.category, "select": r.sel, "Select": r.Sel, "_key": r.owner} {
		if p != nil {
			m[name] = text(*p)
		}
	}
	if r.views != nil {
		m["views"] = driver.IntValue(*r.views)
	}
	if r.rating != nil {
		m["rating"] = driver.FloatValue(*r.rating)
	}
	if r.open != nil {
		m["open"] = driver.BoolValue(*r.open)
	}
	if r.at != nil {
		m["at"] = driver.TimeValue(*r.at)
	}
	for name, p := range map[string]*string{"tags": r.tags, "meta": r.meta, "_extra": r.extra} {
		if p != nil {
			v, err := untagged(*p)
			if err != nil {
				return nil, err
			}
			m[name] = v
		}
	}
	return m, nil
}

// Raw is a value as it was sent: not nil, but of no bytes, if it is nothing.
type raw []byte

func (r *raw) UnmarshalCQL(_ gocql.TypeInfo, data []byte) error {
	*r = data
	return nil
}

func (r *scannedRow) row(t *driver.Table, k driver.Key) (driver.Row, error) {
	row := driver.Row{Key: k, Fields: make([]driver.Value, len(t.Fields)), Ring: ringOf(string(r.ring))}
	if t.Class != driver.Records && len(r.rev) == 0 {
		return row, nil // what is left of one
	}
	copy(row.Rev[:], r.rev)
	row.Dead = r.dead != nil && *r.dead
	if r.expires != nil {
		row.Expires = *r.expires
	}
	if r.note != nil {
		row.Meta = *r.note
	}
	if t.Class == driver.Records && r.later != nil && len(r.later) == 0 {
		return row, nil // a husk
	}
	m, err := r.values()
	for i, c := range t.Fields {
		row.Fields[i] = m[c.Name]
	}
	for i, list := 0, m["_extra"].List(); i < len(list); i += 2 {
		row.Extra = append(row.Extra, driver.Pair{Name: list[i].Str(), Value: list[i+1]})
	}
	return row, err
}

func (s *cassandraStore) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	for i, k := range keys {
		row, err := s.row(ctx, t, k, gocql.Quorum)
		if err != nil {
			return err
		}
		rows[i] = masked(row, mask)
	}
	return nil
}

func (s *cassandraStore) row(ctx context.Context, t *driver.Table, k driver.Key, level gocql.Consistency) (driver.Row, error) {
	q, err := s.query("cassandra/get", nil, partitionText(t, k.Partition), index(t)+k.Sort)
	if err != nil {
		return driver.Row{}, err
	}
	var r scannedRow
	err = q.Consistency(level).ScanContext(ctx, r.targets()...)
	if errors.Is(err, gocql.ErrNotFound) {
		return driver.Row{Key: k, Fields: make([]driver.Value, len(t.Fields))}, nil
	}
	if err != nil {
		return driver.Row{}, err
	}
	return r.row(t, k)
}

// bounds returns the clustering texts between which a span lies.
func bounds(span driver.Span) (from, to string) {
	head := index(span.Table)
	if span.To == "" {
		return head + span.From, driver.After(head)
	}
	return head + span.From, head + span.To
}

func (s *cassandraStore) Range(ctx context.Context, span driver.Span) ([]driver.Row, error) {
	label, limit := "cassandra/range", span.Limit
	if span.Reverse {
		label = "cassandra/range-reverse"
	}
	if limit == 0 {
		limit = 1<<31 - 1
	}
	from, to := bounds(span)
	if from >= to {
		return nil, nil
	}
	q, err := s.querySpan(label, span.Table, partitionText(span.Table, span.Key.Partition), from, to, limit)
	if err != nil {
		return nil, err
	}
	iter := q.PageSize(7).IterContext(ctx)
	var rows []driver.Row
	for r := (scannedRow{}); iter.Scan(r.targets()...); r = (scannedRow{}) {
		row, err := r.row(span.Table, driver.Key{Partition: span.Key.Partition, Sort: strings.TrimPrefix(r.sort, index(span.Table))})
		if err != nil {
			return nil, err
		}
		rows = append(rows, masked(row, span.Mask))
	}
	return rows, iter.Close()
}

func (s *cassandraStore) Count(ctx context.Context, span driver.Span) (int, error) {
	from, to := bounds(span)
	q, err := s.querySpan("cassandra/count", span.Table, partitionText(span.Table, span.Key.Partition), from, to)
	if err != nil {
		return 0, err
	}
	var n int
	return n, q.ScanContext(ctx, &n)
}

// Walk goes on after a mark: the author of the last row and, if there may be more of that
// one, its clustering text, which has no U+0000 as an author may have.
func (s *cassandraStore) Walk(ctx context.Context, t *driver.Table, mark string) ([]driver.Row, string, error) {
	const limit = 20
	from, to := bounds(driver.Span{Table: t})
	cut := max(strings.LastIndex(mark, "\x00"), 0)
	author, last := mark[:cut], strings.TrimPrefix(mark[cut:], "\x00")
	if last != "" {
		rows, next, err := s.walked(ctx, t, limit, "cassandra/walk-within", author, last, to, limit)
		if err != nil || next != "" {
			return rows, next, err
		}
		if len(rows) > 0 {
			return rows, author + "\x00", nil
		}
	}
	if mark == "" {
		return s.walked(ctx, t, limit, "cassandra/walk", from, to, limit)
	}
	return s.walked(ctx, t, limit, "cassandra/walk-after", author, from, to, limit)
}

// walked reads the rows of a statement and returns the mark of the last, "" if there are
// fewer than the limit.
func (s *cassandraStore) walked(ctx context.Context, t *driver.Table, limit int, label string, args ...any) (rows []driver.Row, mark string, err error) {
	q, err := s.query(label, nil, args...)
	if err != nil {
		return nil, "", err
	}
	iter, n := q.IterContext(ctx), 0
	for r := (scannedRow{}); iter.Scan(append([]any{&r.author}, r.targets()...)...); r = (scannedRow{}) {
		row, err := r.row(t, driver.Key{Partition: partitionOf(t, r.author), Sort: strings.TrimPrefix(r.sort, index(t))})
		if err != nil {
			return nil, "", err
		}
		if n, mark = n+1, r.author+"\x00"+r.sort; !row.Rev.IsZero() {
			rows = append(rows, row)
		}
	}
	if n < limit {
		mark = ""
	}
	return rows, mark, iter.Close()
}
