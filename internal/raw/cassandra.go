package raw

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
)

// Cassandra returns what reads a keyspace of the server of a URL. The parts of a partition are values of columns, which
// are texts; the rest of a key is the text of one column.
func Cassandra(rawURL, keyspace string) (*Source, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	cluster := gocql.NewCluster(u.Hostname())
	if _, port, err := net.SplitHostPort(u.Host); err == nil {
		cluster.Port, _ = strconv.Atoi(port)
	}
	if password, ok := u.User.Password(); ok {
		cluster.Authenticator = gocql.PasswordAuthenticator{Username: u.User.Username(), Password: password}
	}
	cluster.ProtoVersion, cluster.Keyspace, cluster.Timeout = 5, keyspace, 20*time.Second
	session, err := cluster.CreateSession()
	if err != nil {
		return nil, err
	}
	read := func(ctx context.Context, c *collection) ([]Row, error) {
		return (&cassandraRead{c, session, keyspace}).all(ctx)
	}
	return &Source{read, func() { go session.Close() }}, nil // where a server was restarted it can wait for ever
}

// A cassandraRead is the reading of a collection.
type cassandraRead struct {
	*collection
	session  *gocql.Session
	keyspace string
}

// A column is one of the partition of a table.
type column struct {
	name string
	at   int
}

func (c *cassandraRead) all(ctx context.Context) (rows []Row, err error) {
	partitions, err := c.partitions(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(partitions)) {
		if _, ok := c.row(name, "_X_"); !ok {
			continue
		}
		list, err := c.table(ctx, name, partitions[name])
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", name, err)
		}
		rows = append(rows, list...)
	}
	return rows, nil
}

// partitions returns the columns of the partitions of all tables, in order.
func (c *cassandraRead) partitions(ctx context.Context) (map[string][]column, error) {
	const text = `SELECT table_name, column_name, kind, position FROM system_schema.columns WHERE keyspace_name = ?`
	it := c.session.Query(text, c.keyspace).IterContext(ctx)
	of := map[string][]column{}
	var table, name, kind string
	for at := 0; it.Scan(&table, &name, &kind, &at); {
		if kind == "partition_key" {
			of[table] = append(of[table], column{name, at})
		}
	}
	for _, list := range of {
		slices.SortFunc(list, func(a, b column) int { return cmp.Compare(a.at, b.at) })
	}
	return of, it.Close()
}

// table reads a table of the server, which has the rows of indexes with the same partition, too.
func (c *cassandraRead) table(ctx context.Context, name string, partition []column) (rows []Row, err error) {
	it := c.session.Query(fmt.Sprintf(`SELECT * FROM "%s"`, name)).Consistency(gocql.Quorum).IterContext(ctx)
	for {
		values := map[string]any{}
		if !it.MapScan(values) {
			break
		}
		rev, _ := values["_rev"].([]byte)
		text, _ := values["_sort"].(string)
		if len(rev) == 0 || strings.HasPrefix(text, ".") { // what is left of a row, or a row of another collection
			continue
		}
		local, rest, _ := strings.Cut(text, ":")
		stored := name
		if local != "" {
			stored += "_X_" + strings.ReplaceAll(local, ".", "_X_")
		}
		r, ok := c.row(stored, "_X_")
		if !ok {
			continue
		}
		for _, p := range partition {
			r.Parts = append(r.Parts, fmt.Sprint(values[p.name]))
		}
		if err := c.fill(&r, rest, rev, values); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, it.Close()
}

// fill gives a row the rest of its key, its token and its fields.
func (c *cassandraRead) fill(r *Row, text string, rev []byte, values map[string]any) error {
	rest, err := c.cut(r, text)
	if r.Token = hex.EncodeToString(rev); err == nil && c.tables[r.Table].Remote {
		_, err = r.cutToken(rest)
	}
	r.Dead, _ = values["_dead"].(bool)
	r.Body, r.Fields = fmt.Sprint(values), map[string]string{}
	for name, value := range values {
		r.Fields[name] = fmt.Sprint(value)
	}
	return err
}
