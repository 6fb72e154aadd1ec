package gate_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/polystore/polystore/repo/driver"
	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
)

func ownMongo(t *testing.T) *mongoStore {
	t.Helper()
	return newMongo(t, "gate"+driver.NewToken().String())(readDesign(t)).(*mongoStore)
}

// begin starts a transaction for the time of a test.
func (s *mongoStore) begin(t *testing.T) (context.Context, *mongodriver.Session) {
	t.Helper()
	session, err := s.db.Client().StartSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.EndSession(context.Background()) })
	if err := session.StartTransaction(snapshotMajority()); err != nil {
		t.Fatal(err)
	}
	return mongodriver.NewSessionContext(t.Context(), session), session
}

// A transaction that only reads a record, or writes what is there already, does not
// keep others from changing it before it commits. A Check writes something new.
func TestMongoCheckHoldsUntilTheCommit(t *testing.T) {
	t.Parallel()
	s := ownMongo(t)
	noop := s.spoil(t, "mongo/check", `{"_check": "?token"}`, `{"_rev": "?rev"}`)
	for _, tt := range []struct {
		name   string
		design statements
		holds  bool
	}{{"check", s.statements, true}, {"control", noop, false}} {
		held, err := s.heldByCheck(t, tt.design)
		if held != tt.holds || err != nil {
			t.Errorf("%s: another writer is kept from the row: %v, want %v: %v", tt.name, held, tt.holds, err)
		}
	}
}

// heldByCheck says whether a transaction that checks a row keeps another one from
// changing it before the first one commits.
func (s *mongoStore) heldByCheck(t *testing.T, design statements) (bool, error) {
	t.Helper()
	p, err := newPlay(t.Context(), s)
	if err != nil {
		return false, err
	}
	k := p.post(p.author, "1")
	rev, err := p.do(t.Context(), postOp(p, driver.Put, k, driver.Absent, driver.Token{}))
	if err != nil {
		return false, err
	}
	check, put := postOp(p, driver.Check, k, driver.AtRev, rev), postOp(p, driver.Put, k, driver.AtRev, rev)
	where, err := s.where(rev, &check)
	if err != nil {
		return false, err
	}
	first, checking := s.begin(t)
	n, err := (&mongoStore{design, s.db}).write(first, "mongo/check",
		bson.M{"table": "posts", "where": where, "token": binary(driver.NewToken()), "rev": binary(rev)})
	if n != 1 || err != nil {
		return false, fmt.Errorf("check = %d: %w", n, err)
	}
	second, putting := s.begin(t)
	_, err = s.do(second, driver.NewToken(), &put)
	if hasCode(err, codeWriteConflict) {
		return true, checking.CommitTransaction(t.Context())
	}
	if err == nil {
		err = putting.CommitTransaction(t.Context())
	}
	return false, errors.Join(err, checking.CommitTransaction(t.Context()))
}

// A refusal by a unique key ends the transaction: what is there must be read
// outside of it. Several rows of one table go in one statement.
func TestMongoTransactionEndsWithARefusal(t *testing.T) {
	t.Parallel()
	s := ownMongo(t)
	ctx, session := s.begin(t)
	three := bson.A{bson.D{{Key: "_id", Value: "a#1#"}}, bson.D{{Key: "_id", Value: "a#2#"}}, bson.D{{Key: "_id", Value: "a#1#"}}}
	n, err := s.write(ctx, "mongo/insert", bson.M{"table": "posts", "rows": three[:2]})
	if n != 2 || err != nil {
		t.Fatalf("insert of two rows = %d, %v", n, err)
	}
	_, err = s.write(ctx, "mongo/insert", bson.M{"table": "posts", "rows": three[2:]})
	var failed mongodriver.WriteException
	if !errors.As(err, &failed) || failed.WriteErrors[0].Index != 0 || !hasCode(err, codeDuplicateKey) {
		t.Fatalf("insert of a taken key: %v", err)
	}
	_, err = s.write(ctx, "mongo/insert", bson.M{"table": "posts", "rows": bson.A{bson.D{{Key: "_id", Value: "a#3#"}}}})
	const codeNoSuchTransaction = 251
	if !hasCode(err, codeNoSuchTransaction) {
		t.Errorf("after the refusal: %v, want code %d", err, codeNoSuchTransaction)
	}
	if err := session.AbortTransaction(t.Context()); err != nil && !hasCode(err, codeNoSuchTransaction) {
		t.Error(err)
	}
	if n := s.rowsOf(t, "posts"); n != 0 {
		t.Errorf("%d rows are there after the refusal", n)
	}
	ctx, session = s.begin(t)
	if _, err = s.write(ctx, "mongo/insert", bson.M{"table": "posts", "rows": three[:2]}); err == nil {
		err = session.CommitTransaction(t.Context())
	}
	if n := s.rowsOf(t, "posts"); n != 2 || err != nil {
		t.Errorf("%d rows after a commit, want 2: %v", n, err)
	}
}

// rowsOf returns the number of rows that the server counts in a table.
func (s *mongoStore) rowsOf(t *testing.T, table string) int {
	t.Helper()
	docs, err := s.read(t.Context(), "mongo/size", bson.M{"table": table})
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		StorageStats struct {
			Count          int
			Size           int64
			TotalIndexSize int64 `bson:"totalIndexSize"`
		} `bson:"storageStats"`
	}
	raw, err := bson.Marshal(docs[0])
	if err == nil {
		err = bson.Unmarshal(raw, &out)
	}
	stats := out.StorageStats
	if err != nil || (stats.Size > 0) != (stats.Count > 0) || stats.TotalIndexSize == 0 {
		t.Fatalf("size of %s: %+v, %v", table, stats, err)
	}
	return stats.Count
}

// The order of the bytes is that of a collection without a collation. One with a
// collation is not ours to use.
func TestMongoCollation(t *testing.T) {
	t.Parallel()
	s := ownMongo(t)
	if err := errors.Join(s.createCollated(t, "equal", 1), s.createCollated(t, "folded", 3)); err != nil {
		t.Fatal(err)
	}
	want := []string{"a#A#", "a#Z#", "a#a#", "a#\u00e9#", "a#\U0010FFFF#"}
	read := func(table string) []string {
		var rows bson.A
		for _, id := range want {
			rows = append(rows, bson.D{{Key: "_id", Value: id}})
		}
		if _, err := s.write(t.Context(), "mongo/insert", bson.M{"table": table, "rows": rows}); err != nil {
			t.Fatal(err)
		}
		docs, err := s.readSpan(t.Context(), "mongo/range", driver.Span{Table: &driver.Table{Name: table}, Key: driver.Key{Partition: "a#"}})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, d := range docs {
			ids = append(ids, d[0].Value.(string))
		}
		return ids
	}
	if d := cmp.Diff(want, read("posts")); d != "" {
		t.Errorf("order (-want +got)\n%s", d)
	}
	if cmp.Equal(want, read("folded")) {
		t.Error("a collection with a collation has the same order: it does not matter")
	}
	twice := bson.A{bson.D{{Key: "_id", Value: "a#A#"}}, bson.D{{Key: "_id", Value: "a#a#"}}}
	if _, err := s.write(t.Context(), "mongo/insert", bson.M{"table": "equal", "rows": twice}); !hasCode(err, codeDuplicateKey) {
		t.Errorf("two keys that differ in case only, with a collation: %v", err)
	}
	for name, collated := range s.attached(t) {
		if collated != (name == "folded" || name == "equal") {
			t.Errorf("attach: collection %s has a collation: %v", name, collated)
		}
	}
}

// createCollated makes a collection with a collation of a strength.
func (s *mongoStore) createCollated(t *testing.T, table string, strength int) error {
	t.Helper()
	return s.db.RunCommand(t.Context(), bson.D{{Key: "create", Value: table},
		{Key: "collation", Value: bson.D{{Key: "locale", Value: "en"}, {Key: "strength", Value: strength}}}}).Err()
}

// attached returns the collections that are there, and whether they have a collation.
func (s *mongoStore) attached(t *testing.T) map[string]bool {
	t.Helper()
	cmd, err := s.document("mongo/attach", nil)
	if err != nil {
		t.Fatal(err)
	}
	cursor, err := s.db.RunCommandCursor(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Name    string
		Options struct{ Collation bson.Raw }
	}
	if err := cursor.All(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, c := range list {
		found[c.Name] = c.Options.Collation != nil
	}
	return found
}

// Dropping what is not there succeeds, and what is there is gone.
func TestMongoDrop(t *testing.T) {
	t.Parallel()
	s := ownMongo(t)
	for range 2 {
		cmd, err := s.document("mongo/drop", bson.M{"table": "posts"})
		if err != nil {
			t.Fatal(err)
		}
		const codeNamespaceNotFound = 26 // of servers before 7.0, the second time
		if err := s.db.RunCommand(t.Context(), cmd).Err(); err != nil && !hasCode(err, codeNamespaceNotFound) {
			t.Error(err)
		}
	}
	found := s.attached(t)
	if _, there := found["posts"]; there || len(found) != 3 {
		t.Errorf("tables after the drop: %v", found)
	}
}
