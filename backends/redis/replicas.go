package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis/internal/wire"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// awaitReplicas returns when replicas have all that their server had done when a
// commit found that its conditions hold. WAIT would not say: it is about what its own
// connection has written.
func (c *conn) awaitReplicas(ctx context.Context, key string) error {
	var id string
	goal, begun := int64(-1), time.Now()
	for {
		info, err := c.replication(ctx, key)
		if err != nil {
			return err
		}
		if goal < 0 {
			id = info["master_replid"]
			if goal, err = strconv.ParseInt(info["master_repl_offset"], 10, 64); err != nil {
				return who.Unsupported("commit: %s does not tell what its replicas have", c.addr)
			}
		}
		n := withOffset(info, goal)
		if info["role"] == "master" && info["master_replid"] == id && n >= c.quorum.Replicas {
			return nil
		}
		if time.Since(begun) > c.quorum.Wait+time.Second { // unasked, a replica tells once a second what it has
			return fmt.Errorf("redis: commit: %s: only %d of %d replicas have what it saw in time: %w", c.addr, n, c.quorum.Replicas, driver.ErrUnavailable)
		}
		if err := frame.Sleep(ctx, 20*time.Millisecond); err != nil {
			return c.failed(ctx, "commit", err)
		}
	}
}

// replication asks the server of a key about its replicas.
func (c *conn) replication(ctx context.Context, key string) (map[string]string, error) {
	client := c.client
	if r, ok := c.client.(*wire.Router); ok {
		node, err := r.MasterForKey(ctx, key)
		if err != nil {
			return nil, c.failed(ctx, "commit", err)
		}
		client = node
	}
	return c.info(ctx, "commit", client, "replication")
}

// withOffset counts the replicas that have all up to an offset.
func withOffset(info map[string]string, goal int64) (n int) {
	for name, value := range info {
		if !strings.HasPrefix(name, "slave") || !strings.Contains(value, "state=online") {
			continue
		}
		_, text, _ := strings.Cut(value, "offset=")
		text, _, _ = strings.Cut(text, ",")
		if offset, err := strconv.ParseInt(text, 10, 64); err == nil && offset >= goal {
			n++
		}
	}
	return n
}

// turned drops the connections to a server that has become a replica, and reports
// whether others can lead elsewhere: a name or an address that stands for the primary
// may mean another server now. go-redis keeps connections on which it saw no error.
func (c *conn) turned(ctx context.Context) bool {
	var client *goredis.Client
	switch c := c.client.(type) {
	case *goredis.Client:
		client = c
	case *wire.Waiter:
		client = c.Client
	default:
		return false
	}
	for range client.PoolStats().IdleConns {
		conn := client.EphemeralConn() // closed with its connection, not given back
		err := conn.Ping(ctx).Err()
		if conn.Close() != nil || err != nil {
			break
		}
	}
	return true
}
