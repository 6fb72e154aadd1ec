package mongo_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/polystore/polystore/backends/mongo"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// fakeServer answers hello and buildInfo, as a server would that is not to be had here.
func fakeServer(t *testing.T, hello, build bson.D) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	hello = append(hello, d("maxWireVersion", 17, "minWireVersion", 0, "maxBsonObjectSize", 16<<20, "maxMessageSizeBytes", 48000000,
		"maxWriteBatchSize", 100000, "logicalSessionTimeoutMinutes", 30, "helloOk", true, "ok", 1)...)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answer(c, hello, append(build, bson.E{Key: "ok", Value: 1}))
		}
	}()
	return "mongodb://" + l.Addr().String() + "/?serverSelectionTimeoutMS=1000&directConnection=true"
}

// answer reads requests of both forms, of which the older begins a connection.
func answer(c net.Conn, hello, build bson.D) {
	defer c.Close()
	for {
		var head [16]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return
		}
		body := make([]byte, int(binary.LittleEndian.Uint32(head[:]))-len(head))
		if _, err := io.ReadFull(c, body); err != nil {
			return
		}
		reply := bson.D{{Key: "ok", Value: 0}, {Key: "code", Value: 59}, {Key: "errmsg", Value: "no such command"}}
		switch text := string(body); {
		case strings.Contains(text, "hello") || strings.Contains(text, "isMaster") || strings.Contains(text, "ismaster"):
			reply = hello
		case strings.Contains(text, "buildInfo"):
			reply = build
		case strings.Contains(text, "find"):
			reply = d("cursor", d("firstBatch", bson.A{}, "id", int64(0), "ns", "a.b"), "ok", 1)
		}
		doc, err := bson.Marshal(reply)
		if err != nil {
			return
		}
		older := binary.LittleEndian.Uint32(head[12:]) == 2004
		prefix, opcode := make([]byte, 5), uint32(2013) // flags and the kind of the one section
		if older {
			prefix, opcode = make([]byte, 20), 1
			prefix[16] = 1 // one document
		}
		out := binary.LittleEndian.AppendUint32(nil, uint32(16+len(prefix)+len(doc)))
		out = append(binary.LittleEndian.AppendUint32(out, 1), head[4:8]...)
		out = append(append(binary.LittleEndian.AppendUint32(out, opcode), prefix...), doc...)
		if _, err := c.Write(out); err != nil {
			return
		}
	}
}

// A server that cannot keep the contract is refused with what to do about it.
func TestServersThatAreRefused(t *testing.T) {
	t.Parallel()
	primary := d("isWritablePrimary", true, "ismaster", true, "setName", "rs0", "me", "a:1", "hosts", bson.A{"a:1"})
	several := d("isWritablePrimary", true, "ismaster", true, "setName", "rs0", "hosts", bson.A{"a:1", "b:1", "c:1"})
	good := d("version", "7.0.12")
	for what, tt := range map[string]struct {
		hello, build bson.D
		kind         error
		want         string
	}{
		"an old one":           {primary, d("version", "4.4.29"), driver.ErrUnsupported, "upgrade it to 5.0"},
		"a router":             {d("isWritablePrimary", true, "ismaster", true, "msg", "isdbgrid"), good, driver.ErrUnsupported, "connect to a replica set"},
		"FerretDB 1":           {d("isWritablePrimary", true, "ismaster", true), d("version", "7.0.42", "ferretdbVersion", "v1.24.2"), driver.ErrUnsupported, "allow_ferretdb"},
		"FerretDB 2":           {d("isWritablePrimary", true, "ismaster", true), d("version", "7.0.77", "ferretdb", d("version", "v2.1.0")), driver.ErrUnsupported, "allow_ferretdb"},
		"a secondary":          {d("isWritablePrimary", false, "ismaster", false, "secondary", true, "setName", "rs0", "primary", "b:1"), good, driver.ErrUnavailable, "b:1"},
		"one of three, direct": {several, good, driver.ErrInvalid, "replicaSet=rs0"},
	} {
		if err := refusedBy(t, fakeServer(t, tt.hello, tt.build)); !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %v with %q", what, err, tt.kind, tt.want)
		}
	}
}

// refusedBy opens a store and returns the error.
func refusedBy(t *testing.T, url string) error {
	t.Helper()
	s, err := mongo.Open(t.Context(), url)
	return backendtest.Refused(t, s, err)
}

// What the server is stands in the facts.
func TestFacts(t *testing.T) {
	t.Parallel()
	open := func(hello, build bson.D, option string) driver.Facts {
		t.Helper()
		s, err := mongo.Open(t.Context(), with(fakeServer(t, hello, build), option))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		return s.Facts()
	}
	good := d("version", "7.0.12")
	alone := d("isWritablePrimary", true, "ismaster", true)
	if f := open(alone, good, "prefix=p"); f.Scope != driver.ScopeRecord || f.Durability != driver.Power || f.Version != "7.0.12" {
		t.Errorf("a server that stands alone: %+v", f)
	}
	if f := open(alone, d("version", "7.0.42", "ferretdbVersion", "v1.24.2"), "allow_ferretdb=true"); f.Scope != driver.ScopeRecord || f.Durability != driver.UnknownDurability {
		t.Errorf("FerretDB: %+v", f)
	}
	s, _, _ := shared(t)
	f := s.Facts()
	if f.Scope != driver.ScopeStore || f.Durability != driver.Power || f.Setting != "w majority, j true" || !f.Uncertain || f.OneProcess ||
		!strings.Contains(f.Detail, "replica set rs0 of 1") || !strings.Contains(f.Detail, "wiredTiger") {
		t.Errorf("facts of a replica set of one: %+v", f)
	}
}

// On a server that stands alone package repo refuses an index table.
func TestServerThatStandsAlone(t *testing.T) {
	t.Parallel()
	s, ts := open(t, testserver.StartStandalone(t).URL)
	if f := s.Facts(); f.Scope != driver.ScopeRecord || !strings.Contains(f.Detail, "a server that stands alone") || f.Durability != driver.Power {
		t.Errorf("facts: %+v", f)
	}
	schema := backendtest.NoteSchema()
	for i := range schema.Indexes {
		schema.Indexes[i].Kind = "table"
	}
	_, err := repo.Open[backendtest.Note](t.Context(), repo.NewStore(s, nil), schema)
	if !errors.Is(err, driver.ErrSchema) || !strings.Contains(err.Error(), "cannot keep an index table in step; use kind native") {
		t.Errorf("open of a collection with an index table: %v, want ErrSchema", err)
	}
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1")[:1])
	if _, err := s.Commit(t.Context(), driver.NewToken(), ts.Insert(t, "ann", "2")); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "outside the record") {
		t.Errorf("a commit of several rows: %v, want ErrInvalid", err)
	}
}

// Users, passwords and rights are the server's to check.
func TestUsers(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("c29tZXRoaW5nIHRoYXQgaXMgbG9uZyBlbm91Z2g="), 0o400); err != nil {
		t.Fatal(err)
	}
	server := testserver.Start(t, testserver.Mongo, "--keyFile", key)
	admin := raw(t, "mongodb://"+server.Addr+"/?directConnection=true").Database("admin")
	do(t, admin, d("createUser", "root", "pwd", "geheim1", "roles", bson.A{"root"}))
	at := func(user string) string {
		return "mongodb://" + user + "@" + server.Addr + "/app?replicaSet=rs0&authSource=admin" + patient
	}
	admin = raw(t, at("root:geheim1")).Database("admin")
	on := func(role, db string) bson.D { return d("role", role, "db", db) }
	do(t, admin, d("createUser", "reader", "pwd", "geheim2", "roles", bson.A{on("read", "app")}))
	do(t, admin, d("createUser", "writer", "pwd", "geheim3", "roles", bson.A{on("readWrite", "app")}))
	do(t, admin, d("createUser", "nobody", "pwd", "geheim4", "roles", bson.A{}))
	for what, user := range map[string]string{"a wrong password": "writer:geheim9", "an unknown user": "ann:geheim1"} {
		if err := refusedBy(t, at(user)); !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", what, err)
		}
	}
	s, ts := open(t, with(at("writer:geheim3"), "database=app"))
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1"))
	if _, err := s.CPU(t.Context()); !errors.Is(err, driver.ErrUnsupported) {
		t.Errorf("processor time for a user who may not: %v, want ErrUnsupported", err)
	}
	reader, err := mongo.Open(t.Context(), at("reader:geheim2"))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	ts = backendtest.NewTables()
	if err := reader.Attach(t.Context(), ts.All()); err != nil {
		t.Fatal(err)
	}
	if n := ts.There(t, reader, ts.Posts, backendtest.KeyOf(t, ts.Posts, "ann", "1")); n != 1 {
		t.Errorf("a user who may read finds %d records", n)
	}
	for what, ops := range map[string][]driver.Op{"one": ts.Add(t, "ann", "1"), "several": ts.Insert(t, "ann", "2")} {
		if _, err := reader.Commit(t.Context(), driver.NewToken(), ops); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "readWrite") {
			t.Errorf("a commit of %s by a user who may only read: %v, want ErrInvalid", what, err)
		}
	}
	if err := reader.Drop(t.Context(), ts.All()); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("drop by a user who may not: %v, want ErrInvalid", err)
	}
	if err := refusedBy(t, at("nobody:geheim4")); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("a user who may nothing: %v, want ErrInvalid", err)
	}
	if err := refusedBy(t, "mongodb://"+server.Addr+"/app?replicaSet=rs0"); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("no user: %v, want ErrInvalid", err)
	}
}

// Without a server that can write there is no store, and no commit.
func TestNoPrimary(t *testing.T) {
	t.Parallel()
	server, s, ts := own(t)
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1"))
	if err := refusedBy(t, "mongodb://"+server.Addr+"/?replicaSet=other&serverSelectionTimeoutMS=500"); !errors.Is(err, driver.ErrUnavailable) {
		t.Errorf("a replica set of another name: %v, want ErrUnavailable", err)
	}
	server.Kill9(t)
	begun := time.Now()
	for range 3 {
		_, err := s.Commit(t.Context(), driver.NewToken(), ts.Add(t, "ann", "1"))
		if !errors.Is(err, driver.ErrUnavailable) && !errors.Is(err, driver.ErrUnknownOutcome) {
			t.Errorf("a commit without a server: %v, want ErrUnavailable", err)
		}
	}
	if _, err := s.Commit(t.Context(), driver.NewToken(), ts.Add(t, "ann", "1")); !errors.Is(err, driver.ErrUnavailable) {
		t.Errorf("a commit when the client knows that there is no server: %v, want ErrUnavailable", err)
	}
	if took := time.Since(begun); took > 25*time.Second {
		t.Errorf("four commits without a server took %s", took)
	}
	server.Restart(t)
	backendtest.Answered(t, s, ts)
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "2"))
}
