package mongo

import (
	"context"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"

	mongobson "go.mongodb.org/mongo-driver/v2/bson"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// oldest is the oldest server that is taken: before it names of nested fields could
// not hold a dot or begin with a dollar sign.
const oldest = 5

// A greeting is what the server says of itself.
type greeting struct {
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
func (g *greeting) members() int { return len(g.Hosts) + len(g.Passives) }

// learn asks the server what it is, without writing.
func (s *store) learn(ctx context.Context) error {
	if err := who.Over(ctx); err != nil {
		return err
	}
	g := &greeting{keeps: true}
	if err := s.tell(ctx, "hello", g); err != nil {
		return err
	}
	var build struct {
		Version string
		Ferret  string        `bson:"ferretdbVersion"`
		Ferret2 mongobson.Raw `bson:"ferretdb"`
	}
	if err := s.tell(ctx, "buildInfo", &build); err != nil {
		return err
	}
	g.version, g.ferret = build.Version, build.Ferret
	if g.ferret == "" && build.Ferret2 != nil {
		g.ferret = "2"
	}
	if err := s.suits(g); err != nil {
		return err
	}
	if err := s.allowed(ctx, g); err != nil {
		return err
	}
	s.set = g.SetName != ""
	if err := s.described(ctx, "open", nil, nil); err != nil { // may the user read?
		return err
	}
	s.learnEngine(ctx, g)
	s.facts = s.factsOf(g)
	return nil
}

// allowed says whether all servers of the replica set may be connected to.
func (s *store) allowed(ctx context.Context, g *greeting) error {
	if s.dialer == nil {
		return nil
	}
	for _, addr := range slices.Concat(g.Hosts, g.Passives, g.Arbiters) {
		host, _, _ := net.SplitHostPort(addr)
		if err := s.dialer.Allows(ctx, host); err != nil {
			return who.Wrap(fmt.Errorf("open: replica set %s: %w", g.SetName, err))
		}
	}
	return nil
}

// tell decodes what the server answers to a command without arguments.
func (s *store) tell(ctx context.Context, command string, to any) error {
	err := s.client.Database("admin").RunCommand(ctx, mongobson.D{{Key: command, Value: 1}}).Decode(to)
	return s.failed(ctx, "open: "+command, err)
}

// learnEngine asks where the data are, which the server tells to a user with the role
// clusterMonitor.
func (s *store) learnEngine(ctx context.Context, g *greeting) {
	var status struct {
		Engine struct {
			Name       string
			Persistent *bool
		} `bson:"storageEngine"`
	}
	if s.tell(ctx, "serverStatus", &status) == nil {
		g.engine = status.Engine.Name
		g.keeps = status.Engine.Persistent == nil || *status.Engine.Persistent
	}
}

// suits says why the server cannot keep the contract.
func (s *store) suits(g *greeting) error {
	if g.ferret != "" && !s.ferret {
		return who.Unsupported("open: %s: the server is FerretDB %s, which loses commits of programs that change a record at once: use MongoDB, or say that only one program writes (allow_ferretdb=true, Options.AllowFerretDB)", s.addr, g.ferret)
	}
	major, _, _ := strings.Cut(g.version, ".")
	if n, err := strconv.Atoi(major); err != nil || n < oldest {
		return who.Unsupported("open: %s: MongoDB %.50s is too old: upgrade it to %d.0 or later", s.addr, g.version, oldest)
	}
	switch {
	case g.Message == "isdbgrid":
		return who.Unsupported("open: %s: the server is a router of a sharded cluster, on which a record and its index rows lie on several shards: connect to a replica set", s.addr)
	case !g.Primary:
		return fmt.Errorf("mongo: open: %s: the server is no primary, and does not write; the primary is %q: connect to it, or name the replica set: %w",
			s.addr, g.PrimaryAt, driver.ErrUnavailable)
	case s.direct && g.members() > 1:
		return who.Invalid("open: %s: directConnection=true stays with one server of replica set %s, also when it is no longer the primary: write replicaSet=%s instead", s.addr, g.SetName, g.SetName)
	}
	return nil
}

func (s *store) factsOf(g *greeting) driver.Facts {
	f := driver.Facts{
		MaxOps:        1000,
		MaxBytes:      8 << 20,
		Name:          "mongo",
		Namespace:     s.db,
		Version:       g.version,
		Detail:        s.detail(g),
		Unit:          driver.UnitStore,
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
	if g.SetName == "" {
		f.Unit = driver.UnitRecord
	}
	switch {
	case g.ferret != "":
		f.Native, f.PrefersNative, f.NativeOrder = driver.Ability{Reason: "FerretDB has no index of documents that have a field"}, false, nil
		f.Durability, f.Setting = driver.UnknownDurability, "FerretDB, which has a database of its own behind it"
	case !g.keeps:
		f.Durability, f.Setting = driver.Memory, f.Setting+", storage engine "+g.engine
	case g.members() > 2:
		f.Durability = driver.Node
	}
	return f
}

func (s *store) detail(g *greeting) string {
	text := fmt.Sprintf("database %s", s.db)
	if s.prefix != "" {
		text += ", collections " + s.prefix + "…"
	}
	switch {
	case g.ferret != "":
		text += ", FerretDB " + g.ferret + " at " + s.addr
	case g.SetName == "":
		text += ", a server that stands alone at " + s.addr + ", without transactions"
	default:
		text += fmt.Sprintf(", replica set %s of %d with the data", g.SetName, g.members())
		if n := len(g.Arbiters); n > 0 {
			text += fmt.Sprintf(" and %d without", n)
		}
		text += " at " + s.addr
	}
	if g.engine != "" {
		text += ", storage engine " + g.engine
	}
	return text
}
