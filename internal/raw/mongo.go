package raw

import (
	"context"
	"fmt"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Mongo returns what reads a database of the server of a URL. The key of a row is the text under _id. A native index has
// a row for each key that the server has in it, whose parts are the values, and then the _id.
func Mongo(url, database string) (*Source, error) {
	client, err := mongodriver.Connect(options.Client().ApplyURI(url))
	if err != nil {
		return nil, err
	}
	db := client.Database(database)
	read := func(ctx context.Context, c *collection) (rows []Row, err error) {
		names, err := db.ListCollectionNames(ctx, bson.D{})
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if r, ok := c.row(name, "."); ok {
				list, err := c.documents(ctx, db.Collection(name), r)
				if err != nil {
					return nil, err
				}
				rows = append(rows, list...)
			}
		}
		natives, err := c.natives(ctx, db.Collection(c.name))
		return append(rows, natives...), err
	}
	return &Source{read, func() { client.Disconnect(context.Background()) }}, nil
}

// documents reads the rows of a table, given an empty one.
func (c *collection) documents(ctx context.Context, of *mongodriver.Collection, empty Row) ([]Row, error) {
	return c.found(ctx, of, bson.D{}, options.Find(), func(doc bson.Raw) (Row, error) {
		r := empty
		id, _ := doc.Lookup("_id").StringValueOK()
		r.Dead, _ = doc.Lookup("_dead").BooleanOK()
		r.Body = doc.String()
		var err error
		if r.Fields, err = fieldsOf(doc); err == nil {
			_, err = c.cut(&r, id)
		}
		return r, err
	})
}

// natives reads the keys of the native indexes of the records.
func (c *collection) natives(ctx context.Context, records *mongodriver.Collection) (rows []Row, err error) {
	cursor, err := records.Indexes().List(ctx)
	if err != nil {
		return nil, err
	}
	var indexes []struct {
		Name   string `bson:"name"`
		Filter bson.D `bson:"partialFilterExpression"`
	}
	if err := cursor.All(ctx, &indexes); err != nil {
		return nil, err
	}
	for _, x := range indexes {
		r, ok := c.row(x.Name, ".")
		if !ok {
			continue
		}
		list, err := c.found(ctx, records, x.Filter, options.Find().SetHint(x.Name).SetReturnKey(true), func(doc bson.Raw) (Row, error) {
			r := r
			elements, err := doc.Elements()
			for _, e := range elements {
				r.Parts = append(r.Parts, textOf(e.Value()))
			}
			r.Body = doc.String()
			return r, err
		})
		if err != nil {
			return nil, fmt.Errorf("index %s: %w", x.Name, err)
		}
		rows = append(rows, list...)
	}
	return rows, nil
}

// found returns the rows that documents are which a query finds.
func (c *collection) found(ctx context.Context, of *mongodriver.Collection, filter bson.D, o *options.FindOptionsBuilder, row func(bson.Raw) (Row, error)) (rows []Row, err error) {
	cursor, err := of.Find(ctx, filter, o)
	if err != nil {
		return nil, err
	}
	defer cursor.Close(ctx)
	for cursor.Next(ctx) {
		r, err := row(cursor.Current)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, cursor.Err()
}

func fieldsOf(doc bson.Raw) (map[string]string, error) {
	fields := map[string]string{}
	elements, err := doc.Elements()
	for _, e := range elements {
		fields[e.Key()] = textOf(e.Value())
	}
	return fields, err
}

// textOf returns a text as it is, an integer in digits, and any other value as extended JSON.
func textOf(v bson.RawValue) string {
	if text, ok := v.StringValueOK(); ok {
		return text
	}
	if n, ok := v.AsInt64OK(); ok {
		return strconv.FormatInt(n, 10)
	}
	return v.String()
}
