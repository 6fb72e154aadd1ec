package ownserver

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// A recipe says how a server is started.
type recipe struct {
	programs []string // of which the first that is in the PATH is taken
	argv0    string   // by which it is called
	install  string   // what to install
	own      func(data, host, port string) []string
	more     []string
	url      string
	prepare  func(ctx context.Context, addr string) error
}

var recipes = map[string]recipe{
	"redis": {
		programs: []string{"redis-server", "redis-check-rdb"}, // the same program, which looks at its name
		argv0:    "redis-server",
		install:  "Redis 7 or newer, as by apt-get install redis-server",
		own:      func(data, host, port string) []string { return []string{"--bind", host, "--port", port, "--dir", data} },
		more:     []string{"--save", "", "--appendonly", "yes", "--appendfsync", "everysec"},
		url:      "redis://%s/0",
		prepare:  func(context.Context, string) error { return nil },
	},
	"mongo": {
		programs: []string{"mongod"},
		install:  "MongoDB 6 or newer",
		own: func(data, host, port string) []string {
			return []string{"--dbpath", data, "--bind_ip", host, "--port", port, "--nounixsocket"}
		},
		more:    []string{"--replSet", "rs0"},
		url:     "mongodb://%s/polystore_load?replicaSet=rs0",
		prepare: initiate,
	},
	"cassandra": {
		url:     "cassandra://%s/polystore_load?replication=1",
		prepare: func(context.Context, string) error { return nil },
	},
}

// command returns the command that becomes a server.
func (r *recipe) command(store, script, data, host, port string) (words []string, argv0 string, err error) {
	if script != "" {
		return []string{"bash", script, "exec", store, data, host, port}, "", nil
	}
	for _, name := range r.programs {
		if path, err := exec.LookPath(name); err == nil {
			return append([]string{path}, r.own(data, host, port)...), r.argv0, nil
		}
	}
	const source = "the file scripts/servers of Polystore's source, which has servers for tests, as by --servers scripts/servers"
	if len(r.programs) == 0 {
		return nil, "", fmt.Errorf("%s needs more files than a program: name %s", store, source)
	}
	return nil, "", fmt.Errorf("%s is not in the PATH: install %s; or name %s", r.programs[0], r.install, source)
}

// initiate makes a server a replica set of one, which transactions need, if it is none, and returns when it is primary.
func initiate(ctx context.Context, addr string) error {
	opts := options.Client().ApplyURI("mongodb://" + addr + "/?directConnection=true").SetServerSelectionTimeout(3 * time.Second)
	client, err := mongo.Connect(opts)
	if err != nil {
		return err
	}
	defer func() { _ = client.Disconnect(context.WithoutCancel(ctx)) }()
	var h struct {
		SetName string `bson:"setName"`
		Primary bool   `bson:"isWritablePrimary"`
	}
	if err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&h); err != nil {
		return err
	}
	if h.SetName == "" {
		set := bson.D{
			{Key: "_id", Value: "rs0"},
			{Key: "members", Value: bson.A{bson.D{{Key: "_id", Value: 0}, {Key: "host", Value: addr}}}},
		}
		err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "replSetInitiate", Value: set}}).Err()
		if err != nil && !strings.Contains(err.Error(), "already initialized") {
			return err
		}
	}
	if !h.Primary {
		return errors.New("it is no primary yet")
	}
	return nil
}
