package mongo_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/repo/driver"
)

// Whatever another program does to the documents of a store panics no reader, and no error
// tells what is private.
func TestSpoilt(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"table", "native"} {
		s, _, db := shared(t)
		sp := backendtest.Spoilt{Kind: kind, Rounds: 2, Turns: 6, Store: func(*testing.T) driver.Store { return s },
			Spoil: func(t *testing.T, rng *rand.Rand, s driver.Store, name string) driver.Store {
				for range 1 + rng.IntN(2) {
					spoil(t, rng, db, name)
				}
				return s
			}}
		sp.Check(t)
	}
}

// spoil changes one document of a collection, of its indexes or of what is said of them.
func spoil(t *testing.T, rng *rand.Rand, db *mongodriver.Database, name string) {
	t.Helper()
	names, err := db.ListCollectionNames(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	type place struct {
		in  string
		doc bson.D
	}
	var places []place
	for _, in := range names {
		cursor, err := db.Collection(in).Find(t.Context(), bson.D{})
		if err != nil {
			t.Fatal(err)
		}
		for cursor.Next(t.Context()) {
			var doc bson.D
			if err := bson.Unmarshal(cursor.Current, &doc); err != nil {
				t.Fatal(err)
			}
			if others := rng.IntN(40) > 0; strings.Contains(in, name) || !others && strings.Contains(cursor.Current.String(), name) {
				places = append(places, place{in, doc})
			}
		}
	}
	p := places[rng.IntN(len(places))]
	id, doc := p.doc[0], slices.Clone(p.doc)
	switch at := 1 + rng.IntN(len(doc)); {
	case at == len(doc) && rng.IntN(2) == 0:
		doc[0].Value = backendtest.Garbled(rng, id.Value.(string))
		db.Collection(p.in).InsertOne(t.Context(), doc) // or it is there
		return
	case at == len(doc):
		doc = append(doc, bson.E{Key: backendtest.Hush, Value: oddValue(rng, nil)})
	case rng.IntN(5) == 0:
		doc = slices.Delete(doc, at, at+1)
	default:
		doc[at].Value = oddValue(rng, doc[at].Value)
	}
	db.Collection(p.in).ReplaceOne(t.Context(), bson.D{id}, doc) // or an index forbids it
}

func oddValue(rng *rand.Rand, old any) any {
	if text, ok := old.(string); ok && rng.IntN(2) == 0 {
		return strings.ToValidUTF8(backendtest.Garbled(rng, text), "?")
	}
	if data, ok := old.(bson.Binary); ok && rng.IntN(2) == 0 {
		data.Data = []byte(backendtest.Garbled(rng, string(data.Data)))
		return data
	}
	odd := []any{nil, int32(7), int64(-1), 1.5, true, backendtest.Hush, bson.A{nil}, bson.A{bson.A{nil}, backendtest.Hush}, d("a", nil), d(backendtest.Hush, bson.A{nil}),
		bson.NewObjectID(), bson.Regex{Pattern: backendtest.Hush}, bson.DateTime(-1 << 62), bson.NewDecimal128(1, 2), bson.MinKey{}, bson.Timestamp{T: 1},
		bson.Binary{Data: []byte(backendtest.Hush)}, bson.JavaScript(backendtest.Hush), bson.Symbol(backendtest.Hush)}
	return odd[rng.IntN(len(odd))]
}
