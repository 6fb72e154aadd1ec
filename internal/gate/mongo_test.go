package gate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// A mongoStore sends the statements of the design to MongoDB.
type mongoStore struct {
	statements
	db *mongodriver.Database
}

func dialMongo(t testing.TB, url string) *mongodriver.Client {
	t.Helper()
	c, err := mongodriver.Connect(options.Client().ApplyURI(url).SetServerSelectionTimeout(20 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Disconnect(context.Background()) })
	return c
}

// newMongo returns stores in a database of their own.
func newMongo(t testing.TB, name string) func(statements) store {
	db := dialMongo(t, testserver.Shared(t, testserver.Mongo).URL).Database(name)
	t.Cleanup(func() {
		if err := db.Drop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s := &mongoStore{readDesign(t), db}
	tables := newTables()
	for range 2 { // the second time they are there
		for _, table := range tables.all() {
			if err := s.define(t.Context(), table.Name); err != nil {
				t.Fatal(err)
			}
		}
	}
	return func(s statements) store { return &mongoStore{s, db} }
}

const (
	codeBadValue        = 2
	codeNamespaceExists = 48
	codeWriteConflict   = 112
	codeDuplicateKey    = 11000
)

func hasCode(err error, code int) bool {
	var server mongodriver.ServerError
	return errors.As(err, &server) && server.HasErrorCode(code)
}

func (s *mongoStore) define(ctx context.Context, table string) error {
	cmd, err := s.document("mongo/define", bson.M{"table": table})
	if err != nil {
		return err
	}
	if err := s.db.RunCommand(ctx, cmd).Err(); !hasCode(err, codeNamespaceExists) {
		return err
	}
	return nil
}

// write sends a statement that writes; in a transaction its concern is that of
// the transaction.
func (s *mongoStore) write(ctx context.Context, label string, params map[string]any) (n int, err error) {
	cmd, err := s.document(label, params)
	if err != nil {
		return 0, err
	}
	return s.sendWrite(ctx, cmd)
}

func (s *mongoStore) sendWrite(ctx context.Context, cmd bson.D) (n int, err error) {
	if mongodriver.SessionFromContext(ctx) == nil {
		durable, err := s.document("mongo/durable", nil)
		if err != nil {
			return 0, err
		}
		cmd = append(cmd, durable...)
	}
	var out struct{ N int }
	err = s.db.RunCommand(ctx, cmd).Decode(&out)
	return out.N, err
}

// read sends a statement that reads and returns all that it finds.
func (s *mongoStore) read(ctx context.Context, label string, params map[string]any) ([]bson.D, error) {
	cmd, err := s.document(label, params)
	if err != nil {
		return nil, err
	}
	concern, err := s.document("mongo/acknowledged", nil)
	if err != nil {
		return nil, err
	}
	cursor, err := s.db.RunCommandCursor(ctx, append(cmd, concern...))
	if err != nil {
		return nil, err
	}
	var docs []bson.D
	return docs, cursor.All(ctx, &docs)
}

// projection returns what to read for a mask.
func projection(t *driver.Table, mask []int) bson.D {
	p := bson.D{}
	if mask == nil {
		return p
	}
	for _, name := range []string{"_rev", "_ring", "_dead", "_expires", "_note"} {
		p = append(p, bson.E{Key: name, Value: 1})
	}
	for _, f := range mask {
		p = append(p, bson.E{Key: t.Fields[f].Name, Value: 1})
	}
	return p
}

func (s *mongoStore) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	ids := make([]string, len(keys))
	for i, k := range keys {
		ids[i] = k.Partition + k.Sort
		rows[i] = masked(driver.Row{Key: k}, mask)
	}
	label, params := "mongo/get", bson.M{"table": t.Name, "keys": ids, "mask": projection(t, mask)}
	if len(ids) == 1 {
		label, params["key"] = "mongo/get-row", ids[0]
	}
	docs, err := s.read(ctx, label, params)
	if err != nil {
		return err
	}
	for _, d := range docs {
		i := slices.Index(ids, d[0].Value.(string))
		row, err := documentRow(t, d)
		if err != nil {
			return err
		}
		rows[i] = masked(row, mask)
	}
	return nil
}

// readSpan sends a statement that reads a span, of whose records some may be dead.
func (s *mongoStore) readSpan(ctx context.Context, label string, span driver.Span) ([]bson.D, error) {
	p := span.Key.Partition
	bounds := bson.M{"from": p + span.From, "to": p + span.To}
	if span.To == "" {
		bounds["to"] = driver.After(p)
	}
	which := "mongo/span"
	if span.Table.Class == driver.Records {
		which = "mongo/live"
	}
	where, err := s.document(which, bounds)
	if err != nil {
		return nil, err
	}
	m := bson.M{"table": span.Table.Name, "where": where, "limit": int64(span.Limit), "direction": int32(1),
		"mask": projection(span.Table, span.Mask)}
	if span.Reverse {
		m["direction"] = int32(-1)
	}
	return s.read(ctx, label, m)
}

func (s *mongoStore) Range(ctx context.Context, span driver.Span) ([]driver.Row, error) {
	docs, err := s.readSpan(ctx, "mongo/range", span)
	if err != nil {
		return nil, err
	}
	return documentRows(span.Table, docs, span.Mask)
}

func documentRows(t *driver.Table, docs []bson.D, mask []int) ([]driver.Row, error) {
	var rows []driver.Row
	for _, d := range docs {
		row, err := documentRow(t, d)
		if err != nil {
			return nil, err
		}
		rows = append(rows, masked(row, mask))
	}
	return rows, nil
}

func (s *mongoStore) Count(ctx context.Context, span driver.Span) (int, error) {
	docs, err := s.readSpan(ctx, "mongo/count", span)
	if err != nil || len(docs) == 0 {
		return 0, err
	}
	return int(docs[0][0].Value.(int32)), nil
}

func (s *mongoStore) Walk(ctx context.Context, t *driver.Table, mark string) ([]driver.Row, string, error) {
	docs, err := s.read(ctx, "mongo/walk", bson.M{"table": t.Name, "mark": mark, "limit": int64(20)})
	if err != nil {
		return nil, "", err
	}
	rows, err := documentRows(t, docs, nil)
	if len(docs) < 20 {
		return rows, "", err
	}
	return rows, docs[19][0].Value.(string), err
}

// documentRow returns the row that a document says; its first field is _id.
func documentRow(t *driver.Table, d bson.D) (driver.Row, error) {
	id := d[0].Value.(string)
	head, rest, ok := driver.CutParts(id, t.Partition)
	if !ok {
		return driver.Row{}, fmt.Errorf("_id %q has no partition", id)
	}
	row := driver.Row{Key: driver.Key{Partition: head, Sort: rest}, Fields: make([]driver.Value, len(t.Fields))}
	for _, e := range d[1:] {
		if err := setElement(&row, t, e); err != nil {
			return row, fmt.Errorf("%s of %q: %w", e.Key, id, err)
		}
	}
	return row, nil
}

func setElement(row *driver.Row, t *driver.Table, e bson.E) error {
	v, err := fromBSON(e.Value)
	switch {
	case err != nil:
		return err
	case e.Key == "_rev":
		copy(row.Rev[:], v.Str())
	case e.Key == "_ring":
		for _, token := range v.List() {
			row.Ring = append(row.Ring, driver.Token([]byte(token.Str())))
		}
	case e.Key == "_dead":
		row.Dead = v.Bool()
	case e.Key == "_expires":
		row.Expires = v.Int()
	case e.Key == "_note":
		row.Meta = v.Str()
	case e.Key == "_extra":
		for i := 0; i < len(v.List()); i += 2 {
			row.Extra = append(row.Extra, driver.Pair{Name: unescaped.Replace(v.List()[i].Str()), Value: v.List()[i+1]})
		}
	case ordinal(t, e.Key) >= 0:
		row.Fields[ordinal(t, e.Key)] = v
	}
	return nil
}

// The names in _extra must not look like paths or operators.
var (
	escaped   = strings.NewReplacer("%", "%25", ".", "%2E", "$", "%24")
	unescaped = strings.NewReplacer("%25", "%", "%2E", ".", "%24", "$")
)

func toBSON(v driver.Value) any {
	switch v.Kind() {
	case driver.Bool:
		return v.Bool()
	case driver.Int:
		return v.Int()
	case driver.Float:
		return v.Float()
	case driver.String:
		return v.Str()
	case driver.Bytes:
		return bson.Binary{Data: []byte(v.Str())}
	case driver.Time:
		return bson.DateTime(v.Int())
	case driver.List:
		list := bson.A{}
		for _, e := range v.List() {
			list = append(list, toBSON(e))
		}
		return list
	case driver.Map:
		d := bson.D{}
		for i := 0; i < len(v.List()); i += 2 {
			d = append(d, bson.E{Key: v.List()[i].Str(), Value: toBSON(v.List()[i+1])})
		}
		return d
	}
	return nil
}

func fromBSON(v any) (driver.Value, error) {
	switch v := v.(type) {
	case nil:
		return driver.Value{}, nil
	case bool:
		return driver.BoolValue(v), nil
	case int64:
		return driver.IntValue(v), nil
	case float64:
		return driver.FloatValue(v), nil
	case string:
		return driver.StringValue(v), nil
	case bson.Binary:
		return driver.BytesValue(string(v.Data)), nil
	case bson.DateTime:
		return driver.TimeValue(int64(v)), nil
	case bson.A:
		list := make([]driver.Value, len(v))
		for i := range v {
			var err error
			if list[i], err = fromBSON(v[i]); err != nil {
				return driver.Value{}, err
			}
		}
		return driver.ListValue(list), nil
	case bson.D:
		var pairs []driver.Value
		for _, e := range v {
			x, err := fromBSON(e.Value)
			if err != nil {
				return x, err
			}
			pairs = append(pairs, text(e.Key), x)
		}
		return driver.MapValue(pairs), nil
	}
	return driver.Value{}, fmt.Errorf("a %T, which nobody wrote", v)
}
