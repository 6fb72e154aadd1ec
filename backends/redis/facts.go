package redis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis/internal/wire"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// oldest is the oldest server that is taken. Before it, an error within a script
// came without its code, so that a full memory could not be told from a defect.
const oldest = 7

// A server is what one has said of itself.
type server struct {
	info       map[string]string
	replicas   int // that follow it now
	durability driver.Durability
	setting    string
}

// learn asks the servers what they are, without writing, and says why one cannot keep the contract.
func (s *store) learn(ctx context.Context) error {
	if err := who.Over(ctx); err != nil {
		return err
	}
	masters, err := s.conn.masters(ctx, "open")
	if err != nil {
		return err
	}
	servers := make([]server, len(masters))
	s.forgets = true
	for i, client := range masters {
		if servers[i], err = s.conn.portray(ctx, client); err != nil {
			return err
		}
		s.forgets = s.forgets && servers[i].info["maxmemory_policy"] == "noeviction"
	}
	s.facts = s.conn.facts(servers)
	return nil
}

func (c *conn) facts(servers []server) driver.Facts {
	f := driver.Facts{
		MaxOps:    4000,
		MaxBytes:  4 << 20,
		Name:      "redis",
		Namespace: strconv.Itoa(c.db),
		Detail:    c.detail(servers),
		Scope:     driver.ScopeStore,
		Uncertain: true,
		Waits:     c.quorum.Replicas > 0,
		Native:    driver.Ability{Reason: "Redis keeps no index by itself"},
		Tallies:   true,
		Paging:    driver.Paging{First: firstPage, Most: frame.MostRows, KeysFirst: true},
		Counts:    driver.Ability{Has: true, Reason: "by the ranks of both ends of the span"},
		Sizes:     driver.Ability{Has: true, Reason: "the memory of all keys of the table but deleted records, asked key by key, which takes as long as a walk"},
	}
	if c.inCluster() {
		f.Scope = driver.ScopePartition
		f.Remote = driver.Ability{Has: true, Reason: "in other slots, by commits of their own"}
	}
	f.Version = slices.MinFunc(servers, func(a, b server) int { return frame.CompareVersions(a.info["redis_version"], b.info["redis_version"]) }).info["redis_version"]
	weakest := slices.MinFunc(servers, func(a, b server) int { return int(a.durability) - int(b.durability) })
	f.Durability, f.Setting = weakest.durability, weakest.setting
	if weakest.durability == driver.Delayed {
		f.Delay = putOff
	}
	if n := c.quorum.Replicas; n > 0 {
		f.Setting += fmt.Sprintf(", and a commit waits for %s", count(n, "replica"))
	}
	return f
}

// portray asks a server what it is, and says why it cannot be used.
func (c *conn) portray(ctx context.Context, client goredis.UniversalClient) (one server, err error) {
	if one.info, err = c.info(ctx, "open: INFO", client, "default"); err != nil {
		return one, err
	}
	if err := c.suits(one.info); err != nil {
		return one, err
	}
	one.replicas = withOffset(one.info, 0)
	if one.replicas < c.quorum.Replicas {
		return one, fmt.Errorf("redis: open: %s: a primary has %s that follow it, and MinReplicas is %d: start more, or wait for fewer: %w",
			c.addr, count(one.replicas, "replica"), c.quorum.Replicas, driver.ErrUnavailable)
	}
	fsync, err := c.setting(ctx, client, "appendfsync")
	one.durability, one.setting = durability(one.info["aof_enabled"], fsync)
	return one, err
}

// count returns a number of things in words.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return itoa(n) + " " + what + "s"
}

// suits says why the server cannot keep the contract.
func (c *conn) suits(info map[string]string) error {
	version := info["redis_version"]
	major, _, _ := strings.Cut(version, ".")
	switch n, err := strconv.Atoi(major); {
	case err != nil:
		return who.Unsupported("open: %s: the server does not say that it is Redis", c.addr)
	case n < oldest:
		return who.Unsupported("open: %s: Redis %s is too old: upgrade it to %d.0 or later", c.addr, version, oldest)
	}
	switch mode := info["redis_mode"]; {
	case c.inCluster() && mode == "cluster":
	case mode == "cluster" || info["cluster_enabled"] == "1" && !c.inCluster():
		return who.Unsupported("open: %s: the server is part of a cluster: add cluster=true to the URL, or use a *redis.ClusterClient", c.addr)
	case mode != "standalone" || c.inCluster():
		return who.Unsupported("open: %s: the server is in %s mode: use one that stands alone, or a cluster", c.addr, mode)
	}
	if info["role"] != "master" {
		return fmt.Errorf("redis: open: %s: the server is a replica, which does not write: connect to the primary, %s:%s: %w",
			c.addr, info["master_host"], info["master_port"], driver.ErrUnavailable)
	}
	if policy := info["maxmemory_policy"]; strings.HasPrefix(policy, "allkeys-") {
		return who.Unsupported("open: %s: with maxmemory-policy %s the server removes records, or their index rows, when its memory is full: set it to noeviction",
			c.addr, policy)
	}
	return nil
}

// setting returns what the server is configured to, or "unknown" where it does
// not tell: CONFIG is often forbidden.
func (c *conn) setting(ctx context.Context, client goredis.UniversalClient, name string) (string, error) {
	r, err := c.askServer(ctx, "open: CONFIG GET", client, "config", "get", name)
	switch {
	case err != nil && wire.CodeOf(err) == "":
		return "", err
	case err == nil && r.List() == 2:
		r.Text()
		if value, ok := r.Text(); ok {
			return value, nil
		}
	}
	return "unknown", nil
}

// putOff is how long a server with everysec puts off the write of its log while the
// sync of an earlier one lasts. Then it waits for the sync, and answers nobody.
const putOff = 2 * time.Second

// durability returns what an acknowledged commit survives. What is appended to the
// log is the operating system's before the answer is sent, but for everysec. A server
// that does not tell may have that.
func durability(aof, fsync string) (driver.Durability, string) {
	switch {
	case aof == "0":
		return driver.Memory, "appendonly no"
	case aof != "1":
		return driver.UnknownDurability, "appendonly unknown"
	case fsync == "always":
		return driver.Power, "appendfsync always"
	case fsync == "no":
		return driver.Process, "appendfsync no"
	}
	return driver.Delayed, "appendfsync " + fsync
}

func (c *conn) detail(servers []server) string {
	text := fmt.Sprintf("standalone at %s, database %d", c.addr, c.db)
	replicas, versions, policies := 0, []string{}, []string{}
	for _, one := range servers {
		replicas += one.replicas
		versions = append(versions, one.info["redis_version"])
		policies = append(policies, one.info["maxmemory_policy"])
	}
	if c.inCluster() {
		slices.SortFunc(versions, frame.CompareVersions)
		text = fmt.Sprintf("%s, %s, versions %s", c.addr, count(len(servers), "master"), strings.Join(slices.Compact(versions), " and "))
	}
	if c.prefix != "" {
		text += ", keys " + c.prefix + "…"
	}
	slices.Sort(policies)
	text += ", maxmemory-policy " + strings.Join(slices.Compact(policies), " and ")
	switch n := c.quorum.Replicas; {
	case n > 0:
		text += fmt.Sprintf(", replicas %d (a commit waits for %d)", replicas, n)
	case replicas > 0:
		text += fmt.Sprintf(", replicas %d (a commit does not wait for them)", replicas)
	}
	return text
}
