package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	mongooptions "go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/polystore/polystore/backends/mongo"
	"github.com/polystore/polystore/repo"
)

// mongoOptions are those of a client that counts its commands if a place says so.
func mongoOptions(at place) *mongooptions.ClientOptions {
	o := mongooptions.Client().ApplyURI(at.url).SetTimeout(time.Minute)
	if at.requests != nil {
		o.SetMonitor(&event.CommandMonitor{Started: func(context.Context, *event.CommandStartedEvent) { at.requests.Add(1) }})
	}
	return o
}

// mongoDatabase returns the database of a candidate, with the write concern of the
// library: what is acknowledged is in the journal of a majority. With the read concern
// majority what is read is so, too.
func mongoDatabase(at place, read *readconcern.ReadConcern) (*mongodriver.Client, *mongodriver.Database, error) {
	journaled := true
	o := mongoOptions(at).SetReadConcern(read).SetWriteConcern(&writeconcern.WriteConcern{W: "majority", Journal: &journaled})
	client, err := mongodriver.Connect(o)
	if err != nil {
		return nil, nil, err
	}
	return client, client.Database(databaseOf(at.prefix())), nil
}

// databaseOf returns the name of the database of what a prefix begins.
func databaseOf(prefix string) string { return strings.ReplaceAll(prefix, ".", "-") }

// mongoOursOf returns what opens the library with indexes of a kind.
func mongoOursOf(kind string) func(at place, covering bool) (posts, error) {
	return func(at place, covering bool) (posts, error) {
		schema := postSchema(covering)
		for i := range schema.Indexes {
			schema.Indexes[i].Kind = kind
		}
		return openMongoOurs(at, schema)
	}
}

func openMongoOurs(at place, schema repo.Schema) (posts, error) {
	client, err := mongodriver.Connect(mongoOptions(at))
	if err != nil {
		return nil, err
	}
	backend, err := mongo.New(context.Background(), client, &mongo.Options{Database: databaseOf(at.prefix())})
	if err != nil {
		return nil, errors.Join(err, client.Disconnect(context.Background()))
	}
	p, err := newOurs(backend, schema)
	return &mongoOurs{p, client}, err
}

// A mongoOurs disconnects its client in the end.
type mongoOurs struct {
	posts
	client *mongodriver.Client
}

func (o *mongoOurs) close() error {
	return errors.Join(o.posts.close(), o.client.Disconnect(context.Background()))
}

// onMongoServer calls do with a client.
func onMongoServer(url string, do func(client *mongodriver.Client) error) error {
	client, err := mongodriver.Connect(mongoOptions(place{url: url}))
	if err != nil {
		return err
	}
	return errors.Join(do(client), client.Disconnect(context.Background()))
}

// wipeMongo removes the databases that a prefix begins.
func wipeMongo(ctx context.Context, url, prefix string) error {
	return onMongoServer(url, func(client *mongodriver.Client) error {
		begins := bson.Regex{Pattern: "^" + regexp.QuoteMeta(databaseOf(prefix))}
		names, err := client.ListDatabaseNames(ctx, bson.D{{Key: "name", Value: begins}})
		for _, name := range names {
			err = errors.Join(err, client.Database(name).Drop(ctx))
		}
		if err != nil {
			return fmt.Errorf("remove the databases %s…: %w", databaseOf(prefix), err)
		}
		return nil
	})
}

// mongoCPU returns the processor time that a MongoDB has used since it started.
func mongoCPU(ctx context.Context, url string) (total time.Duration, err error) {
	err = onMongoServer(url, func(client *mongodriver.Client) error {
		reply, err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "serverStatus", Value: 1}}).Raw()
		for _, name := range []string{"user_time_us", "system_time_us"} {
			n, ok := reply.Lookup("extra_info", name).AsInt64OK()
			if err == nil && !ok {
				err = errors.New("the server does not tell its processor time")
			}
			total += time.Duration(n) * time.Microsecond
		}
		return err
	})
	return total, err
}

// mongoSize returns the bytes of the documents of a candidate, before they are
// compressed, and of all indexes, after a checkpoint, before which the server does not
// count what it has in memory.
func mongoSize(ctx context.Context, at place) (total int64, err error) {
	err = onMongoServer(at.url, func(client *mongodriver.Client) error {
		if err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "fsync", Value: 1}}).Err(); err != nil {
			return err
		}
		stats, err := client.Database(databaseOf(at.prefix())).RunCommand(ctx, bson.D{{Key: "dbStats", Value: 1}}).Raw()
		for _, name := range []string{"dataSize", "indexSize"} {
			n, _ := stats.Lookup(name).AsInt64OK()
			total += n
		}
		return err
	})
	return total, err
}
