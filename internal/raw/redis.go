package raw

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	goredis "github.com/redis/go-redis/v9"
)

// Redis returns what reads the server of a URL.
func Redis(url string) (*Source, error) {
	opts, err := goredis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	client := goredis.NewClient(opts)
	read := func(ctx context.Context, c *collection) ([]Row, error) {
		return (&redisRead{collection: c}).server(ctx, client)
	}
	return &Source{read, func() { client.Close() }}, nil
}

// RedisCluster returns what reads the masters of the cluster of a URL.
func RedisCluster(url string) (*Source, error) {
	opts, err := goredis.ParseClusterURL(strings.Replace(url, "cluster=true", "", 1))
	if err != nil {
		return nil, err
	}
	client := goredis.NewClusterClient(opts)
	read := func(ctx context.Context, c *collection) (rows []Row, err error) {
		var mu sync.Mutex
		err = client.ForEachMaster(ctx, func(ctx context.Context, master *goredis.Client) error {
			list, err := (&redisRead{c, true}).server(ctx, master)
			mu.Lock()
			defer mu.Unlock()
			rows = append(rows, list...)
			return err
		})
		return rows, err
	}
	return &Source{read, func() { client.Close() }}, nil
}

// A redisRead is the reading of a collection.
type redisRead struct {
	*collection
	cluster bool
}

// server reads the keys of one server.
func (c *redisRead) server(ctx context.Context, client *goredis.Client) (rows []Row, err error) {
	seen := map[string]bool{} // a scan may return a key twice
	it := client.Scan(ctx, 0, c.name+"*", 1000).Iterator()
	for it.Next(ctx) {
		if seen[it.Val()] {
			continue
		}
		seen[it.Val()] = true
		list, err := c.under(ctx, client, it.Val())
		if err != nil {
			return nil, err
		}
		rows = append(rows, list...)
	}
	return rows, it.Err()
}

// under returns the rows under one key: a hash is a record, a sorted set has the rows of an index, or the order of
// records.
func (c *redisRead) under(ctx context.Context, client *goredis.Client, key string) ([]Row, error) {
	name, rest, ok := strings.Cut(key, ":{")
	partition, sort, closed := strings.Cut(rest, "}")
	r, ours := c.row(name, ".")
	switch {
	case !ours:
		return nil, nil
	case !ok || !closed:
		return nil, fmt.Errorf("a key that is none of a table: %q", key)
	case r.Table == "" && sort == ":": // the order of records
		return nil, nil
	case r.Table == "":
		return c.record(ctx, client, key, partition+sort, r)
	}
	members, err := client.ZRange(ctx, key, 0, -1).Result()
	var rows []Row
	for _, m := range members {
		r := r
		if err := c.member(&r, partition, m); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, err
}

// record reads a hash.
func (c *redisRead) record(ctx context.Context, client *goredis.Client, key, text string, r Row) ([]Row, error) {
	hash, err1 := client.HGetAll(ctx, key).Result()
	left, err2 := client.PTTL(ctx, key).Result() // below 0 of one that stays
	_, err3 := c.cut(&r, text)
	r.Fields, r.Body, r.Dead, r.Goes = hash, fmt.Sprint(hash), hash["_dead"] != "", left >= 0
	if err := errors.Join(err1, err2, err3); err != nil || len(hash) == 0 { // it went meanwhile
		return nil, err
	}
	return []Row{r}, nil
}

// member takes a row from a member of the sorted set of a partition: the text of its order, and the token and the fields
// of a row that has some.
func (c *redisRead) member(r *Row, partition, text string) error {
	rest, err := c.cut(r, partition+text)
	remote := c.cluster && c.tables[r.Table].Remote
	if err == nil && remote {
		rest, err = r.cutToken(rest)
	}
	if err != nil || len(rest) < tokenSize {
		return err
	}
	if !remote {
		r.Token = hex.EncodeToString([]byte(rest[:tokenSize]))
	}
	r.Body = rest[tokenSize:]
	r.Fields, err = jsonFields(r.Body)
	return err
}

// jsonFields returns the fields of a JSON object, and none of a text that has none.
func jsonFields(text string) (map[string]string, error) {
	if text == "" {
		return nil, nil
	}
	var object map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&object); err != nil {
		return nil, fmt.Errorf("the fields %q: %w", text, err)
	}
	fields := map[string]string{}
	for name, value := range object {
		fields[name] = fmt.Sprint(value)
	}
	return fields, nil
}
