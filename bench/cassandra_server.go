package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/backends/cassandra"
	"github.com/polystore/polystore/repo"
)

// A counter counts the statements of a session at a place that says so.
type counter struct{ at place }

func (c counter) ObserveQuery(context.Context, gocql.ObservedQuery) { c.at.count() }
func (c counter) ObserveBatch(context.Context, gocql.ObservedBatch) { c.at.count() }

// keyspaceOf returns the name of the keyspace of what a prefix begins.
func keyspaceOf(prefix string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(prefix))
}

// cassandraCluster is the configuration of all sessions: what the library asks of its
// caller, and the consistency that it uses itself.
func cassandraCluster(at place) (*gocql.ClusterConfig, error) {
	u, err := url.Parse(at.url)
	if err != nil {
		return nil, errors.New("the URL of Cassandra cannot be read")
	}
	c := gocql.NewCluster(u.Host)
	if _, port, err := net.SplitHostPort(u.Host); err == nil {
		if c.Port, err = strconv.Atoi(port); err != nil {
			return nil, err
		}
	}
	if password, ok := u.User.Password(); ok {
		c.Authenticator = gocql.PasswordAuthenticator{Username: u.User.Username(), Password: password}
	}
	c.ProtoVersion, c.Timeout, c.ReconnectInterval = 5, callTime, time.Second
	c.Consistency, c.SerialConsistency, c.DefaultTimestamp = gocql.Quorum, gocql.Serial, false
	c.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(gocql.RoundRobinHostPolicy())
	c.Metadata.CacheMode = gocql.KeyspaceOnly
	if at.requests != nil {
		c.QueryObserver, c.BatchObserver = counter{at}, counter{at}
	}
	return c, nil
}

// cassandraSession returns a session in the keyspace of a candidate, which it makes.
func cassandraSession(at place) (*gocql.Session, error) {
	keyspace := keyspaceOf(at.prefix())
	err := onCassandraServer(at.url, func(session *gocql.Session) error {
		return session.Query(`CREATE KEYSPACE IF NOT EXISTS ` + keyspace + ` WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 1}`).Exec()
	})
	if err != nil {
		return nil, err
	}
	c, err := cassandraCluster(at)
	if err != nil {
		return nil, err
	}
	c.Keyspace = keyspace
	return c.CreateSession()
}

// onCassandraServer calls do with a session.
func onCassandraServer(url string, do func(session *gocql.Session) error) error {
	c, err := cassandraCluster(place{url: url})
	if err != nil {
		return err
	}
	session, err := c.CreateSession()
	if err != nil {
		return err
	}
	defer session.Close()
	return do(session)
}

// localSchema is that of posts whose indexes lie in the partition of their author.
func localSchema() repo.Schema {
	return repo.Schema{
		Collection: "posts",
		Partition:  []string{"author"},
		Sort:       []string{"id"},
		Indexes: []repo.Index{
			{Partition: []string{"author"}, Sort: []string{"-created"}},
			{Partition: []string{"author"}, Sort: []string{"category", "-created"}},
		},
	}
}

func openCassandraOurs(at place, _ bool) (posts, error) {
	c, err := cassandraCluster(at)
	if err != nil {
		return nil, err
	}
	session, err := c.CreateSession()
	if err != nil {
		return nil, err
	}
	backend, err := cassandra.New(context.Background(), session, &cassandra.Options{Keyspace: keyspaceOf(at.prefix()), Replication: "1"})
	if err != nil {
		session.Close()
		return nil, err
	}
	p, err := newOurs(backend, localSchema())
	return &cassandraOurs{p, session}, err
}

// A cassandraOurs closes its session in the end.
type cassandraOurs struct {
	posts
	session *gocql.Session
}

func (o *cassandraOurs) close() error {
	defer o.session.Close()
	return o.posts.close()
}

// wipeCassandra removes the keyspaces that a prefix begins.
func wipeCassandra(ctx context.Context, url, prefix string) error {
	return onCassandraServer(url, func(session *gocql.Session) error {
		names, err := textsOf(ctx, session, `SELECT keyspace_name FROM system_schema.keyspaces`)
		for _, name := range names {
			if strings.HasPrefix(name, keyspaceOf(prefix)) {
				err = errors.Join(err, session.Query(`DROP KEYSPACE IF EXISTS `+name).ExecContext(ctx))
			}
		}
		if err != nil {
			return fmt.Errorf("remove the keyspaces %s…: %w", keyspaceOf(prefix), err)
		}
		return nil
	})
}

// textsOf returns the first column of all rows.
func textsOf(ctx context.Context, session *gocql.Session, text string, args ...any) (list []string, err error) {
	rows := session.Query(text, args...).IterContext(ctx)
	for s := ""; rows.Scan(&s); {
		list = append(list, s)
	}
	return list, rows.Close()
}

// cassandraCPU returns the processor time that a Cassandra on this machine has used, with
// all that it does in the background: it does not tell by itself.
func cassandraCPU(_ context.Context, rawURL string) (time.Duration, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return 0, errors.New("the URL of Cassandra cannot be read")
	}
	spent, err := cpuOfListener(u.Port())
	if err != nil {
		return 0, fmt.Errorf("the processor time of Cassandra, which must be on this machine: %w", err)
	}
	return spent, nil
}

// cassandraSize returns the bytes of the files of a candidate, compressed, with what the
// server keeps of removed rows for a while. It has the server write what it still has in
// memory, so it must be on this machine.
func cassandraSize(ctx context.Context, at place) (total int64, err error) {
	keyspace := keyspaceOf(at.prefix())
	err = onCassandraServer(at.url, func(session *gocql.Session) error {
		tables, err1 := textsOf(ctx, session, `SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?`, keyspace)
		dirs, err2 := textsOf(ctx, session, `SELECT value FROM system_views.settings WHERE name = 'data_file_directories'`)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		for _, table := range tables {
			soon := fmt.Sprintf(`ALTER TABLE %s.%q WITH memtable_flush_period_in_ms = 200`, keyspace, table)
			if err := session.Query(soon).ExecContext(ctx); err != nil {
				return err
			}
		}
		var err error
		total, err = settledSize(ctx, dirs, keyspace)
		return err
	})
	return total, err
}

var errSize = errors.New("the files of Cassandra cannot be seen, or do not come to rest")

// settledSize waits until the files of a keyspace have been the same for a second.
func settledSize(ctx context.Context, dirs []string, keyspace string) (int64, error) {
	last, same := int64(0), 0
	for range 100 {
		now := int64(0)
		for _, list := range dirs {
			for dir := range strings.SplitSeq(strings.Trim(list, "[]"), ",") {
				now += bytesBelow(filepath.Join(strings.TrimSpace(dir), keyspace))
			}
		}
		if now != last || now == 0 {
			last, same = now, 0
		} else if same++; same == 10 {
			return now, nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return 0, errSize
}

// bytesBelow returns the bytes of all files below a directory. Those that go meanwhile
// have none.
func bytesBelow(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		if info, err := e.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}
