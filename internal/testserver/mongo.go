package testserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// mongoKind is a replica set of one.
func mongoKind() kind {
	k := standaloneKind()
	k.path = "/?replicaSet=rs0"
	k.args = append(k.args, "--replSet", "rs0")
	k.prepare, k.check = prepareMongo, checkMongo
	return k
}

// memberKind is a server that somebody else makes part of a replica set.
func memberKind() kind {
	k := standaloneKind()
	k.args = append(k.args, "--replSet", "rs0")
	return k
}

// standaloneKind is a server that is no replica set, and has no transactions.
func standaloneKind() kind {
	return kind{
		store:    Mongo,
		variable: "POLYSTORE_TEST_MONGO",
		scheme:   "mongodb",
		path:     "/?directConnection=true",
		image:    "mongo:8.0.20",
		args: []string{
			"--wiredTigerCacheSizeGB", "0.25",
			"--wiredTigerEngineConfigString", "log=(prealloc=false,file_max=8MB)",
			"--setParameter", "diagnosticDataCollectionEnabled=false",
			"--setParameter", "shutdownTimeoutMillisForSignaledShutdown=100",
		},
		container: mongoContainer,
		prepare:   func(context.Context, string) error { return nil },
		check:     checkHello,
	}
}

func mongoContainer(port string, args []string) (cmd, env []string) {
	return append([]string{"mongod", "--bind_ip_all", "--port", port}, args...), nil
}

// hello is the part of MongoDB's answer to hello that tells a usable server.
type hello struct {
	SetName   string `bson:"setName"`
	Primary   bool   `bson:"isWritablePrimary"`
	Secondary bool   `bson:"secondary"`
}

var helloCommand = bson.D{{Key: "hello", Value: 1}}

// prepareMongo makes the server a replica set of one, which transactions need. It answers at the
// same port inside and outside of a container, so the set's member can be found from both.
func prepareMongo(ctx context.Context, addr string) error {
	return withMongo("mongodb://"+addr+"/?directConnection=true", func(db *mongodriver.Database) error {
		var h hello
		if err := db.RunCommand(ctx, helloCommand).Decode(&h); err != nil || h.SetName != "" {
			return err
		}
		return db.RunCommand(ctx, initiate(addr)).Err()
	})
}

// initiate is the command that makes servers a replica set.
func initiate(addrs ...string) bson.D {
	var members bson.A
	for i, addr := range addrs {
		members = append(members, bson.D{{Key: "_id", Value: i}, {Key: "host", Value: addr}})
	}
	return bson.D{{Key: "replSetInitiate", Value: bson.D{
		{Key: "_id", Value: "rs0"},
		{Key: "members", Value: members},
		// Short, because a node that was killed waits for them when it comes back.
		{Key: "settings", Value: bson.D{{Key: "electionTimeoutMillis", Value: 2000}, {Key: "heartbeatIntervalMillis", Value: 500}}},
	}}}
}

func checkHello(ctx context.Context, url string) error {
	return withMongo(url, func(db *mongodriver.Database) error { return db.RunCommand(ctx, helloCommand).Err() })
}

func checkMongo(ctx context.Context, url string) error {
	return withMongo(url, func(db *mongodriver.Database) error {
		var h hello
		if err := db.RunCommand(ctx, helloCommand).Decode(&h); err != nil {
			return err
		}
		if h.SetName == "" {
			return errors.New("it is no replica set, which transactions need: start mongod with --replSet and initiate it")
		}
		if !h.Primary {
			return fmt.Errorf("replica set %s has no primary", h.SetName)
		}
		return nil
	})
}

func withMongo(url string, do func(*mongodriver.Database) error) error {
	opts := options.Client().ApplyURI(url).SetServerSelectionTimeout(3 * time.Second)
	if opts.Validate() != nil {
		return errURL
	}
	client, err := mongodriver.Connect(opts)
	if err != nil {
		return errURL
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	defer client.Disconnect(ctx)
	return do(client.Database("admin"))
}
