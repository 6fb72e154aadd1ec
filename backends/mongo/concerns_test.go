package mongo_test

import (
	"errors"
	"strings"
	"testing"

	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/polystore/polystore/backends/mongo"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

// A client with weak settings is refused, one with strong ones or none is taken.
func TestClientsWithConcerns(t *testing.T) {
	t.Parallel()
	journaled, unjournaled := true, false
	url := testserver.Shared(t, testserver.Mongo).URL
	for _, tt := range []struct {
		set  func(*options.ClientOptions)
		want string // of the error; "" is none
	}{
		{func(o *options.ClientOptions) { o.SetWriteConcern(writeconcern.W1()) }, "write concern w 1"},
		{func(o *options.ClientOptions) { o.SetWriteConcern(writeconcern.Unacknowledged()) }, "write concern w 0"},
		{func(o *options.ClientOptions) { o.SetWriteConcern(&writeconcern.WriteConcern{W: "near"}) }, "write concern w near"},
		{func(o *options.ClientOptions) {
			o.SetWriteConcern(&writeconcern.WriteConcern{W: "majority", Journal: &unjournaled})
		}, "write concern journal false"},
		{func(o *options.ClientOptions) { o.SetReadConcern(readconcern.Local()) }, "read concern local"},
		{func(o *options.ClientOptions) { o.SetReadConcern(readconcern.Available()) }, "read concern available"},
		{func(o *options.ClientOptions) { o.SetReadPreference(readpref.SecondaryPreferred()) }, "read preference secondaryPreferred"},
		{func(o *options.ClientOptions) {
			o.SetWriteConcern(&writeconcern.WriteConcern{W: "majority", Journal: &journaled}).SetReadConcern(readconcern.Majority()).SetReadPreference(readpref.Primary())
		}, ""},
		{func(o *options.ClientOptions) { o.SetReadConcern(readconcern.Linearizable()) }, ""},
		{func(*options.ClientOptions) {}, ""},
	} {
		opts := options.Client().ApplyURI(url)
		tt.set(opts)
		client, err := mongodriver.Connect(opts)
		if err != nil {
			t.Fatal(err)
		}
		s, err := mongo.New(t.Context(), client, nil)
		switch {
		case tt.want == "" && err == nil:
			s.Close()
		case tt.want == "":
			t.Errorf("%v, want none", err)
		default:
			if err := backendtest.Refused(t, s, err); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want ErrInvalid with %q", err, tt.want)
			}
		}
		client.Disconnect(t.Context())
	}
}
