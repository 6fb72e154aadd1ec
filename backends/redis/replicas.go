package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/repo/driver"
)

// A quorum is how many replicas must have a commit before it is acknowledged, and
// how long it waits for them.
type quorum struct {
	replicas int
	wait     time.Duration
}

// A waiter is a client of one server, whose commits wait for replicas.
type waiter struct {
	*goredis.Client
	quorum quorum
}

// Process sends a command, and a commit together with the wait for its replicas.
func (w *waiter) Process(ctx context.Context, cmd goredis.Cmder) error {
	return w.quorum.process(ctx, w.Client, cmd, false)
}

// process sends a command to a server. All that belongs to it goes over one
// connection: ASKING is about the next command of that, and WAIT about the last.
func (q *quorum) process(ctx context.Context, node *goredis.Client, cmd goredis.Cmder, asking bool) error {
	write, commits := cmd.(*writeCmd)
	waits := commits && q.replicas > 0
	if !waits && !asking {
		return node.Process(ctx, cmd)
	}
	acks := goredis.NewIntCmd(ctx, "wait", q.replicas, q.millis(ctx))
	pipe := node.Pipeline()
	if asking {
		driver.TallyOf(ctx).Beside(1)
		_ = pipe.Process(ctx, goredis.NewStatusCmd(ctx, "asking")) // only puts it in
	}
	_ = pipe.Process(ctx, cmd)
	if waits {
		driver.TallyOf(ctx).Beside(1)
		_ = pipe.Process(ctx, acks)
	}
	_, err := pipe.Exec(ctx)
	if !waits || len(write.Val()) == 0 {
		return err
	}
	return q.enough(write, acks)
}

// millis returns for how long to wait, of the time that a call has left.
func (q *quorum) millis(ctx context.Context) int64 {
	wait := q.wait
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, 3*time.Until(deadline)/4)
	}
	return max(1, wait.Milliseconds()) // 0 is for ever
}

// enough says whether a commit that was answered has its replicas. What was refused
// needs none. Errors of WAIT are only told: as such they would say that nothing was done.
func (q *quorum) enough(write *writeCmd, acks *goredis.IntCmd) error {
	r := replyOf(write.RawCmd)
	if r.refused() != nil || r.list() > 0 {
		return nil
	}
	switch n, err := acks.Result(); {
	case err != nil:
		return fmt.Errorf("done, but it is not known whether %d replicas have it: %s", q.replicas, err.Error())
	case n < int64(q.replicas):
		return fmt.Errorf("done, but only %d of %d replicas have it in time", n, q.replicas)
	}
	return nil
}

// awaitReplicas returns when replicas have all that their server had done when a
// commit found that its conditions hold. WAIT would not say: it is about what its own
// connection has written.
func (s *Store) awaitReplicas(ctx context.Context, key string) error {
	var id string
	goal, begun := int64(-1), time.Now()
	for {
		info, err := s.replication(ctx, key)
		if err != nil {
			return err
		}
		if goal < 0 {
			id = info["master_replid"]
			if goal, err = strconv.ParseInt(info["master_repl_offset"], 10, 64); err != nil {
				return unsupported("commit: %s does not tell what its replicas have", s.addr)
			}
		}
		n := withOffset(info, goal)
		if info["role"] == "master" && info["master_replid"] == id && n >= s.quorum.replicas {
			return nil
		}
		if time.Since(begun) > s.quorum.wait+time.Second { // unasked, a replica tells once a second what it has
			return fmt.Errorf("redis: commit: %s: only %d of %d replicas have what it saw in time: %w", s.addr, n, s.quorum.replicas, driver.ErrUnavailable)
		}
		select {
		case <-ctx.Done():
			return s.failed(ctx, "commit", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// replication asks the server of a key about its replicas.
func (s *Store) replication(ctx context.Context, key string) (map[string]string, error) {
	client := s.client
	if r, ok := s.client.(*router); ok {
		node, err := r.MasterForKey(ctx, key)
		if err != nil {
			return nil, s.failed(ctx, "commit", err)
		}
		client = node
	}
	return s.info(ctx, "commit", client, "replication")
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

// onlyChecks reports whether a commit changes nothing.
func (c *call) onlyChecks() bool {
	for i := range c.ops {
		if c.ops[i].Do != driver.Check {
			return false
		}
	}
	return true
}

// turned drops the connections to a server that has become a replica, and reports
// whether others can lead elsewhere: a name or an address that stands for the primary
// may mean another server now. go-redis keeps connections on which it saw no error.
func (s *Store) turned(ctx context.Context) bool {
	var client *goredis.Client
	switch c := s.client.(type) {
	case *goredis.Client:
		client = c
	case *waiter:
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
