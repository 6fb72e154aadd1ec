package mongo

import (
	"context"
	"fmt"
	"math"
	"net"
	"slices"

	mongobson "go.mongodb.org/mongo-driver/v2/bson"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// oldest is the oldest server that is taken: before it names of nested fields could
// not hold a dot or begin with a dollar sign.
const oldest = "5.0"

// A portrait is what the server says of itself.
type portrait struct {
	conn      *conn
	mayFerret bool // FerretDB is taken

	SetName   string   `bson:"setName"`
	Primary   bool     `bson:"isWritablePrimary"`
	PrimaryAt string   `bson:"primary"`
	Message   string   `bson:"msg"`
	Hosts     []string `bson:"hosts"`
	Passives  []string `bson:"passives"`
	Arbiters  []string `bson:"arbiters"`

	version string
	ferret  string // its own version, if it is FerretDB
	engine  string // "" where the server does not tell
	keeps   bool   // the engine writes to disk
}

// members returns how many servers have the data.
func (p *portrait) members() int { return len(p.Hosts) + len(p.Passives) }

// learn asks the server what it is, without writing.
func (s *store) learn(ctx context.Context, opts *Options) error {
	if err := who.Over(ctx); err != nil {
		return err
	}
	p := &portrait{conn: s.conn, mayFerret: opts.AllowFerretDB, keeps: true}
	if err := p.learn(ctx); err != nil {
		return err
	}
	s.conn.set = p.SetName != ""
	if err := s.catalog.described(ctx, "open", nil, nil); err != nil { // may the user read?
		return err
	}
	p.learnEngine(ctx)
	s.facts = p.facts(s.catalog.prefix)
	return nil
}

// learn fills the portrait in, and says why the server cannot keep the contract.
func (p *portrait) learn(ctx context.Context) error {
	if err := p.conn.tell(ctx, "hello", p); err != nil {
		return err
	}
	var build struct {
		Version string
		Ferret  string        `bson:"ferretdbVersion"`
		Ferret2 mongobson.Raw `bson:"ferretdb"`
	}
	if err := p.conn.tell(ctx, "buildInfo", &build); err != nil {
		return err
	}
	p.version, p.ferret = build.Version, build.Ferret
	if p.ferret == "" && build.Ferret2 != nil {
		p.ferret = "2"
	}
	if err := p.suits(); err != nil {
		return err
	}
	return p.allowed(ctx)
}

// allowed says whether all servers of the replica set may be connected to.
func (p *portrait) allowed(ctx context.Context) error {
	if p.conn.dialer == nil {
		return nil
	}
	for _, addr := range slices.Concat(p.Hosts, p.Passives, p.Arbiters) {
		host, _, _ := net.SplitHostPort(addr)
		if err := p.conn.dialer.Allows(ctx, host); err != nil {
			return who.Wrap(fmt.Errorf("open: replica set %s: %w", p.SetName, err))
		}
	}
	return nil
}

// tell decodes what the server answers to a command without arguments.
func (c *conn) tell(ctx context.Context, command string, to any) error {
	err := c.client.Database("admin").RunCommand(ctx, mongobson.D{{Key: command, Value: 1}}).Decode(to)
	return c.failed(ctx, "open: "+command, err)
}

// learnEngine asks where the data are, which the server tells to a user with the role
// clusterMonitor.
func (p *portrait) learnEngine(ctx context.Context) {
	var status struct {
		Engine struct {
			Name       string
			Persistent *bool
		} `bson:"storageEngine"`
	}
	if p.conn.tell(ctx, "serverStatus", &status) == nil {
		p.engine = status.Engine.Name
		p.keeps = status.Engine.Persistent == nil || *status.Engine.Persistent
	}
}

// suits says why the server cannot keep the contract.
func (p *portrait) suits() error {
	if p.ferret != "" && !p.mayFerret {
		return who.Unsupported("open: %s: the server is FerretDB %s, which loses commits of programs that change a record at once: use MongoDB, or say that only one program writes (allow_ferretdb=true, Options.AllowFerretDB)", p.conn.addr, p.ferret)
	}
	if frame.CompareVersions(p.version, oldest) < 0 {
		return who.Unsupported("open: %s: MongoDB %.50s is too old: upgrade it to %s or later", p.conn.addr, p.version, oldest)
	}
	switch {
	case p.Message == "isdbgrid":
		return who.Unsupported("open: %s: the server is a router of a sharded cluster, on which a record and its index rows lie on several shards: connect to a replica set", p.conn.addr)
	case !p.Primary:
		return fmt.Errorf("mongo: open: %s: the server is no primary, and does not write; the primary is %q: connect to it, or name the replica set: %w",
			p.conn.addr, p.PrimaryAt, driver.ErrUnavailable)
	case p.conn.direct && p.members() > 1:
		return who.Invalid("open: %s: directConnection=true stays with one server of replica set %s, also when it is no longer the primary: write replicaSet=%s instead", p.conn.addr, p.SetName, p.SetName)
	}
	return nil
}

func (p *portrait) facts(prefix string) driver.Facts {
	f := driver.Facts{
		MaxOps:        1000,
		MaxBytes:      8 << 20,
		Name:          "mongo",
		Namespace:     p.conn.db,
		Version:       p.version,
		Detail:        p.detail(prefix),
		Scope:         driver.ScopeStore,
		Durability:    driver.Power,
		Setting:       "w majority, j true",
		Uncertain:     true,
		Native:        driver.Ability{Has: true, Reason: "by an index of MongoDB, which the change of a document changes with it"},
		PrefersNative: true,
		NativeOrder:   slices.Clone(orderedKinds[:]),
		Tallies:       true,
		Paging:        driver.Paging{First: defaultBatch, Most: frame.MostRows, Together: math.MaxInt, Anywhere: true},
		Counts:        driver.Ability{Has: true, Reason: "by the server, which reads the span: of rows and claims its index alone"},
		Sizes:         driver.Ability{Has: true, Reason: "the documents before they are compressed, and their index as it lies on disk, by the statistics of the server"},
	}
	if p.SetName == "" {
		f.Scope = driver.ScopeRecord
	}
	switch {
	case p.ferret != "":
		f.Native, f.PrefersNative, f.NativeOrder = driver.Ability{Reason: "FerretDB has no index of documents that have a field"}, false, nil
		f.Durability, f.Setting = driver.UnknownDurability, "FerretDB, which has a database of its own behind it"
	case !p.keeps:
		f.Durability, f.Setting = driver.Memory, f.Setting+", storage engine "+p.engine
	case p.members() > 2:
		f.Durability = driver.Node
	}
	return f
}

func (p *portrait) detail(prefix string) string {
	text := fmt.Sprintf("database %s", p.conn.db)
	if prefix != "" {
		text += ", collections " + prefix + "…"
	}
	switch {
	case p.ferret != "":
		text += ", FerretDB " + p.ferret + " at " + p.conn.addr
	case p.SetName == "":
		text += ", a server that stands alone at " + p.conn.addr + ", without transactions"
	default:
		text += fmt.Sprintf(", replica set %s of %d with the data", p.SetName, p.members())
		if n := len(p.Arbiters); n > 0 {
			text += fmt.Sprintf(" and %d without", n)
		}
		text += " at " + p.conn.addr
	}
	if p.engine != "" {
		text += ", storage engine " + p.engine
	}
	return text
}
