package cassandra

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/repo/driver"
)

// change sends a statement that changes the schema, and waits until all servers have it.
func (c *conn) change(ctx context.Context, doing, text string) error {
	return c.changeBy(ctx, doing, c.query(gocql.Quorum, text))
}

func (c *conn) changeBy(ctx context.Context, doing string, q *gocql.Query) error {
	answer, err := run(ctx, q)
	if err != nil {
		return c.failed(ctx, doing, err)
	}
	return c.agreed(ctx, doing, answer.Host().HostID())
}

const (
	localSchema = `SELECT host_id, schema_version FROM local`
	peerSchemas = `SELECT host_id, schema_version FROM peers_v2`
	agreement   = 30 * time.Second // until all servers have a change of the schema
	settling    = 5 * time.Second  // until a server knows a table that it lists
)

// agreed waits until all servers have the same schema as the host that changed it: another one
// may not have heard of the change, and think that all agree. The client's own way waits
// for a minute where a server is down.
func (c *conn) agreed(ctx context.Context, doing, host string) error {
	done, err := who.Until(ctx, agreement, 100*time.Millisecond, func() (bool, error) {
		versions, err := c.schemas(ctx, doing, host)
		if len(versions) > 1 {
			c.leaveOut(ctx, versions)
		}
		return len(versions) == 1, err
	})
	if err == nil && !done {
		err = fmt.Errorf("cassandra: %s: %s: the servers do not agree on a schema for %s: %w", doing, c.addr, agreement, driver.ErrUnavailable)
	}
	return err
}

// schemas returns which servers have which version of the schema, as a host knows it.
func (c *conn) schemas(ctx context.Context, doing, host string) (map[string][]string, error) {
	versions := map[string][]string{}
	for _, text := range []string{localSchema, peerSchemas} {
		var member, version string
		q := c.query(gocql.One, text).SetKeyspace("system").SetHostID(host)
		err := c.each(ctx, doing, q, func() { versions[version] = append(versions[version], member) }, &member, &version)
		if err != nil {
			return nil, err
		}
	}
	return versions, nil
}

// leaveOut removes versions of which no server can be reached: the others remember the
// schema that one had which is down. When it is up again it takes theirs.
func (c *conn) leaveOut(ctx context.Context, versions map[string][]string) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	maps.DeleteFunc(versions, func(_ string, hosts []string) bool {
		return !slices.ContainsFunc(hosts, func(host string) bool {
			return c.query(gocql.One, localSchema).SetKeyspace("system").SetHostID(host).IterContext(ctx).Close() == nil
		})
	})
}

// turn is how long a program waits for another one that has said that it makes something.
const turn = 5 * time.Second

// settled asks about a table again as long as the server does not know it, although it
// lists it: another program has made it some moments ago.
func settled(ctx context.Context, ask func() error) error {
	var err error
	_, ended := who.Until(ctx, settling, 50*time.Millisecond, func() (bool, error) {
		err = ask()
		code := codeOf(err)
		return code != gocql.ErrCodeInvalid && code != gocql.ErrCodeServer, nil
	})
	return cmp.Or(ended, err)
}
