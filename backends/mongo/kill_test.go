package mongo_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
)

// A server that is killed while it writes has lost nothing that it acknowledged, and
// its indexes are in step.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	server, s, ts := own(t)
	l, _ := backendtest.Killed(t, server, s, ts, 1500*time.Millisecond)
	if lost := l.Lost(t, s, ts); len(lost) > 0 || len(l.Acked) < 10 {
		t.Errorf("%d of %d acknowledged commits are lost: %v", len(lost), len(l.Acked), lost[:min(len(lost), 5)])
	}
	t.Logf("%d acknowledged, %d unknown, none lost", len(l.Acked), len(l.Unknown))
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "after"))
}

// The control: what is acknowledged before it is in the journal is lost by the same
// kill, ten of them at most.
func TestKilledServerLosesWhatIsNotInTheJournal(t *testing.T) {
	t.Parallel()
	server := testserver.Start(t, testserver.Mongo)
	unjournaled := false
	client, err := mongodriver.Connect(options.Client().ApplyURI(server.URL).SetWriteConcern(&writeconcern.WriteConcern{W: 1, Journal: &unjournaled}).
		SetTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Disconnect(context.WithoutCancel(t.Context()))
	all := client.Database("control").Collection("posts")
	for range 10 {
		acked := make([]int64, 4)
		ctx, gone := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for w := range acked {
			wg.Go(func() {
				for {
					_, err := all.InsertOne(ctx, d("writer", w, "n", acked[w]))
					if err != nil {
						return
					}
					acked[w]++
				}
			})
		}
		time.Sleep(700 * time.Millisecond)
		server.Kill9(t)
		gone()
		wg.Wait()
		server.Restart(t)
		have, err := all.CountDocuments(t.Context(), bson.D{})
		if err != nil {
			t.Fatal(err)
		}
		if lost := acked[0] + acked[1] + acked[2] + acked[3] - have; lost > 0 {
			t.Logf("%d of %d acknowledged writes are lost", lost, lost+have)
			return
		}
		if err := all.Drop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	t.Error("ten kills lost nothing: the test cannot see a loss")
}
