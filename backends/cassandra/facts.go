package cassandra

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// oldest is the oldest server that is taken: it has what statements say here, and
// conditional ones that keep their word (paxos_variant).
const oldest = "4.1"

// A portrait is what the server says of itself and of the keyspace.
type portrait struct {
	conn *conn

	version  string
	cluster  string
	dc       string
	made     bool           // the keyspace is there
	copies   map[string]int // by datacenter; one of all is ""
	durable  bool           // durable_writes
	members  int
	settings map[string]string // of the server that was asked
	sync     string            // commitlog_sync of all servers; "" where one does not tell
}

const (
	askLocal    = `SELECT release_version, cluster_name, data_center FROM local`
	askPeers    = `SELECT release_version FROM peers_v2`
	askKeyspace = `SELECT durable_writes, replication FROM system_schema.keyspaces WHERE keyspace_name = ?`
	askSettings = `SELECT name, value FROM system_views.settings`
	askSync     = `SELECT value FROM system_views.settings WHERE name = 'commitlog_sync'`
)

// learn asks the server what it is, without writing.
func (s *store) learn(ctx context.Context) error {
	p := &portrait{conn: s.conn}
	if err := p.learn(ctx); err != nil {
		return err
	}
	if err := s.catalog.look(ctx, "open"); err != nil { // may the user read, and with this consistency?
		return err
	}
	s.facts = p.facts()
	return nil
}

// learn fills the portrait in, and says why the server cannot keep the contract.
func (p *portrait) learn(ctx context.Context) error {
	if err := p.learnVersion(ctx); err != nil {
		return err
	}
	if err := p.learnKeyspace(ctx); err != nil {
		return err
	}
	if !p.made && p.conn.replication != "" {
		if err := p.makeKeyspace(ctx); err != nil {
			return err
		}
		if err := p.learnKeyspace(ctx); err != nil {
			return err
		}
	}
	if err := p.learnSettings(ctx); err != nil {
		return err
	}
	return p.suits()
}

// learnVersion asks with the keyspace beside the statement, where only protocol version
// 5 has it: in an older one all statements would go to the keyspace of the session.
func (p *portrait) learnVersion(ctx context.Context) error {
	iter, err := run(ctx, p.conn.query(gocql.One, askLocal).SetKeyspace("system").PageState(nil))
	if codeOf(err) == gocql.ErrCodeInvalid {
		return who.Unsupported("open: %s: the session does not speak protocol version 5; make it with ProtoVersion 5: %v", p.conn.addr, err)
	}
	if err != nil {
		return p.conn.failed(ctx, "open", err)
	}
	iter.Scan(&p.version, &p.cluster, &p.dc)
	if err := iter.Close(); err != nil {
		return p.conn.failed(ctx, "open", err)
	}
	p.members = 1
	version := ""
	return p.conn.each(ctx, "open", p.conn.query(gocql.One, askPeers).SetKeyspace("system"), func() {
		p.members++
		if frame.CompareVersions(version, p.version) < 0 {
			p.version = version
		}
	}, &version)
}

func (p *portrait) learnKeyspace(ctx context.Context) error {
	var options map[string]string
	q := p.conn.query(gocql.One, askKeyspace, p.conn.keyspace).SetKeyspace("system").PageState(nil)
	err := p.conn.each(ctx, "open", q, func() { p.made = true }, &p.durable, &options)
	p.copies = map[string]int{}
	for name, text := range options {
		text, _, _ = strings.Cut(text, "/") // transient copies are no whole ones
		n, err := strconv.Atoi(text)
		if err != nil {
			continue
		}
		if name == "replication_factor" {
			name = ""
		}
		p.copies[name] = n
	}
	return err
}

// makeKeyspace makes the keyspace as Options say.
func (p *portrait) makeKeyspace(ctx context.Context) error {
	q := p.conn.query(gocql.Quorum, "CREATE KEYSPACE IF NOT EXISTS "+quoted(p.conn.keyspace)+" WITH replication = "+p.conn.replication)
	return p.conn.changeBy(ctx, "open: make the keyspace "+p.conn.keyspace, q.SetKeyspace("system"))
}

// learnSettings asks every server how it keeps its commit log, and one for the rest.
func (p *portrait) learnSettings(ctx context.Context) error {
	p.settings = map[string]string{}
	var name, value string
	q := p.conn.query(gocql.One, askSettings).SetKeyspace("system").PageSize(5000)
	if err := p.conn.each(ctx, "open", q, func() { p.settings[name] = value }, &name, &value); err != nil {
		return err
	}
	kinds := map[string]bool{p.settings["commitlog_sync"]: true}
	for _, host := range p.conn.session.GetHosts() {
		value := ""
		q := p.conn.query(gocql.One, askSync).SetKeyspace("system").SetHostID(host.HostID())
		_ = q.ScanContext(ctx, &value) // one that does not tell is unknown
		kinds[value] = true
	}
	for _, weaker := range []string{"", "periodic", "group", "batch"} {
		if kinds[weaker] {
			p.sync = weaker
			return nil
		}
	}
	return nil
}

// suits says why the server cannot keep the contract.
func (p *portrait) suits() error {
	c := p.conn
	switch {
	case frame.CompareVersions(p.version, oldest) < 0:
		return who.Unsupported("open: %s: Cassandra %.50s is too old, or is another server that calls itself so: upgrade it to %s or later", c.addr, p.version, oldest)
	case !p.made:
		return who.Invalid("open: %s: there is no keyspace %s: make it, or say with how many copies it is to be made (replication=3, Options.Replication)", c.addr, c.keyspace)
	case p.settings["allow_filtering_enabled"] == "false":
		return who.Unsupported("open: %s: the server forbids ALLOW FILTERING, with which dead records are left out of a range: set allow_filtering_enabled", c.addr)
	case c.dc != "" && p.quorumOf() == 0:
		return who.Invalid("open: %s: the keyspace %s has no copies in the datacenter %s; they are in %q", c.addr, c.keyspace, c.dc, slices.Sorted(maps.Keys(p.copies)))
	}
	return nil
}

// quorumOf returns of how many copies the store's consistency is a quorum.
func (p *portrait) quorumOf() int {
	if n, all := p.copies[""]; all {
		return n
	}
	if p.conn.dc != "" {
		return p.copies[p.conn.dc]
	}
	total := 0
	for _, n := range p.copies {
		total += n
	}
	return total
}

func (p *portrait) facts() driver.Facts {
	copies := p.quorumOf()
	f := driver.Facts{
		MaxOps:    1000,
		Name:      "cassandra",
		Namespace: p.conn.keyspace,
		Version:   p.version,
		Scope:     driver.ScopePartition,
		Uncertain: true,
		Remote:    driver.Ability{Has: true, Reason: "in other partitions, by statements of their own"},
		Native:    nativeAbility(p),
		Deletes:   "what was deleted in the span is read over by the server until Maintain removes it and the server compacts its files, which leaves two tombstones between rows that stay, for ten days (gc_grace_seconds)",
		MaxCommit: mostBytes(p.settings),
		Tallies:   true,
		Paging:    driver.Paging{First: firstPage, Most: frame.MostRows, Together: keysTogether, AtOnce: getsAtOnce},
		Counts:    driver.Ability{Has: true, Reason: "by the server, which reads the span"},
		Sizes:     driver.Ability{Reason: "the server tells whole MiB of files, without what is in memory, and records and indexes together"},
	}
	if f.Native.Has {
		f.NativeLocal = slices.Clone(nativeKinds)
	}
	f.Durability, f.Setting, f.Delay = durabilityOf(p, copies)
	f.Detail = fmt.Sprintf("keyspace %s with %s, %s, in the cluster %s of %d at %s", p.conn.keyspace, copiesText(copies), p.conn.consistency(), p.cluster, p.members, p.conn.addr)
	if variant := p.settings["paxos_variant"]; variant != "" {
		f.Detail += ", paxos_variant " + variant
	}
	return f
}

// durabilityOf returns what an acknowledged commit survives. A periodic commit log loses
// what was written since it was synced last when the server's process ends, and no commit
// log loses all that is in memory. Other copies may have it, but a quorum can be of the
// server that lost it and of one that never had it. With a periodic one the server waits with its answers when it
// is half as long again since it was synced last.
func durabilityOf(p *portrait, copies int) (driver.Durability, string, time.Duration) {
	number := copiesText(copies)
	setting := fmt.Sprintf("commitlog_sync %s, %s", p.sync, number)
	switch {
	case p.sync == "":
		return driver.UnknownDurability, "commitlog_sync, which a server does not tell", 0
	case !p.durable:
		return driver.Memory, "durable_writes false, " + number, 0
	case p.sync == "periodic":
		period, err := time.ParseDuration(p.settings["commitlog_sync_period"])
		if err != nil {
			period = 10 * time.Second // the server's default
		}
		return driver.Delayed, fmt.Sprintf("commitlog_sync periodic %s, %s", period, number), period + period/2
	case copies > 2:
		return driver.Node, setting, 0
	}
	return driver.Power, setting, 0
}

func copiesText(n int) string {
	if n == 1 {
		return "1 copy"
	}
	return strconv.Itoa(n) + " copies"
}

// mostBytes returns how many bytes of values a commit can have: those of a message, and
// of a mutation, with room for what is around them. 0 is unknown.
func mostBytes(settings map[string]string) int {
	most := 0
	for name, part := range map[string]int{"native_transport_max_message_size": 1, "max_mutation_size": 1, "commitlog_segment_size": 2} {
		if n := bytesOf(settings[name]) / part; n > 0 && (most == 0 || n < most) {
			most = n
		}
	}
	return most - most/64
}

// bytesOf reads a size as Cassandra says it: 16777216B, 16384KiB, 16MiB.
func bytesOf(text string) int {
	digits := strings.TrimRight(text, "BKMGi")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n << map[string]int{"KiB": 10, "MiB": 20, "GiB": 30}[text[len(digits):]]
}
