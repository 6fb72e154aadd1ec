package mongo_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/polystore/polystore/internal/backendtest"
)

// Events count the commands that the server has counted.
func TestSent(t *testing.T) {
	t.Parallel()
	server, s, _ := own(t)
	db := raw(t, server.URL).Database("admin")
	names := []string{"find", "getMore", "insert", "update", "delete", "aggregate", "killCursors", "commitTransaction", "abortTransaction"}
	got := func(t *testing.T) (n, _ int) {
		t.Helper()
		status := do(t, db, bson.D{{Key: "serverStatus", Value: 1}})
		for _, name := range names {
			n += int(status.Lookup("metrics", "commands", name, "total").AsInt64())
		}
		return n, 0
	}
	sent := &backendtest.Sent{Store: s, Got: got}
	sent.Check(t)
	sent.CheckLoad(t)
	(&backendtest.Sent{Store: s, Got: got, Most: 257, Native: true}).Check(t)
}
