package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/repo/driver"
)

// oldest is the oldest server that is taken. Before it, an error within a script
// came without its code, so that a full memory could not be told from a defect.
const oldest = 7

// learn asks the server what it is, without writing.
func (s *Store) learn(ctx context.Context, db int) error {
	if err := ended(ctx); err != nil {
		return err
	}
	r, err := s.ask(ctx, "open: INFO", "info")
	if err != nil {
		return err
	}
	text, _ := r.text()
	info := parseInfo(text)
	if err := s.suits(info); err != nil {
		return err
	}
	fsync, err := s.setting(ctx, "appendfsync")
	if err != nil {
		return err
	}
	s.facts = driver.Facts{
		Name:      "redis",
		Version:   info["redis_version"],
		Detail:    s.detail(info, db),
		Unit:      driver.UnitStore,
		Uncertain: true,
		Native:    driver.Ability{Reason: "Redis keeps no index by itself"},
		Counts:    driver.Ability{Has: true, Reason: "by the ranks of both ends of the span"},
		Sizes:     driver.Ability{Has: true, Reason: "the memory of all keys of the table, asked key by key, which takes as long as a walk"},
	}
	s.facts.Durability, s.facts.Setting = durability(info["aof_enabled"], fsync)
	return nil
}

// parseInfo returns the fields of an answer to INFO.
func parseInfo(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	return info
}

// suits says why the server cannot keep the contract.
func (s *Store) suits(info map[string]string) error {
	version := info["redis_version"]
	major, _, _ := strings.Cut(version, ".")
	switch n, err := strconv.Atoi(major); {
	case err != nil:
		return unsupported("open: %s: the server does not say that it is Redis", s.addr)
	case n < oldest:
		return unsupported("open: %s: Redis %s is too old: upgrade it to %d.0 or later", s.addr, version, oldest)
	}
	if mode := info["redis_mode"]; mode != "standalone" {
		return unsupported("open: %s: the server is in %s mode: use a server that stands alone", s.addr, mode)
	}
	if info["cluster_enabled"] == "1" {
		return unsupported("open: %s: the server is part of a cluster: use a server that stands alone", s.addr)
	}
	if info["role"] != "master" {
		return fmt.Errorf("redis: open: %s: the server is a replica, which does not write: connect to the primary, %s:%s: %w",
			s.addr, info["master_host"], info["master_port"], driver.ErrUnavailable)
	}
	if policy := info["maxmemory_policy"]; strings.HasPrefix(policy, "allkeys-") {
		return unsupported("open: %s: with maxmemory-policy %s the server removes records, or their index rows, when its memory is full: set it to noeviction",
			s.addr, policy)
	}
	return nil
}

// setting returns what the server is configured to, or "unknown" where it does
// not tell: CONFIG is often forbidden.
func (s *Store) setting(ctx context.Context, name string) (string, error) {
	cmd := goredis.NewRawCmd(ctx, "config", "get", name)
	if err := s.client.Process(ctx, cmd); err != nil && codeOf(err) == "" {
		return "", s.failed(ctx, "open: CONFIG GET", err)
	}
	r := replyOf(cmd)
	if r.refused() == nil && r.list() == 2 {
		r.text()
		if value, ok := r.text(); ok {
			return value, nil
		}
	}
	return "unknown", nil
}

// durability returns what an acknowledged commit survives. What is appended to the
// log is the operating system's before the answer is sent.
func durability(aof, fsync string) (driver.Durability, string) {
	switch {
	case aof == "0":
		return driver.Memory, "appendonly no"
	case aof != "1":
		return driver.UnknownDurability, "appendonly unknown"
	case fsync == "always":
		return driver.Power, "appendfsync always"
	}
	return driver.Process, "appendfsync " + fsync
}

func (s *Store) detail(info map[string]string, db int) string {
	text := fmt.Sprintf("standalone at %s, database %d", s.addr, db)
	if s.prefix != "" {
		text += ", keys " + s.prefix + "…"
	}
	text += ", maxmemory-policy " + info["maxmemory_policy"]
	if n := info["connected_slaves"]; n != "" && n != "0" {
		text += fmt.Sprintf(", replicas %s (a commit does not wait for them)", n)
	}
	return text
}
