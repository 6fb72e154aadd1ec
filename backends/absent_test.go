package backends_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/backends/cassandra"
	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/backends/mongo"
	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repotest"
)

type nilCall struct {
	name string
	do   func(ctx context.Context) error
	want string // in the error; "" is success
}

// nilCalls are those of what opens stores, with arguments that are nil.
func nilCalls(dir string) []nilCall {
	const context1, client = "the context is nil", "no client"
	var none context.Context
	var memoryStore *memory.Store
	list := []nilCall{
		{"redis.New", func(ctx context.Context) error { _, err := redis.New(ctx, nil, nil); return err }, client},
		{"redis.Open", func(context.Context) error { _, err := redis.Open(none, "redis://127.0.0.1:1"); return err }, context1},
		{"mongo.New", func(ctx context.Context) error { _, err := mongo.New(ctx, nil, nil); return err }, client},
		{"mongo.Open", func(context.Context) error { _, err := mongo.Open(none, "mongodb://127.0.0.1:1/a"); return err }, context1},
		{"cassandra.New", func(ctx context.Context) error { _, err := cassandra.New(ctx, nil, nil); return err }, "no session"},
		{"cassandra.Open", func(context.Context) error { _, err := cassandra.Open(none, "cassandra://127.0.0.1:1/a"); return err }, context1},
		{"pebble.Open", func(context.Context) error { _, err := pebble.Open("", nil); return err }, "no directory"},
		{"pebble.Open of a directory", func(context.Context) error {
			s, err := pebble.Open(dir, nil)
			if err != nil {
				return err
			}
			return s.Close()
		}, ""},
		{"memory.New", func(context.Context) error { return memory.New(nil).Close() }, ""},
		{"repotest.New", func(context.Context) error { _, err := repotest.New(nil, nil); return err }, "the store within is nil"},
		{"repotest.New of a store", func(context.Context) error { _, err := repotest.New(memoryStore, nil); return err }, "the store within is nil"},
		{"TallyOf", func(context.Context) error { driver.TallyOf(none).Begin(none, 1).End(1, 1, nil); return nil }, ""},
	}
	for _, url := range []string{"memory:", "pebble:" + dir, "redis://127.0.0.1:1", "mongodb://127.0.0.1:1", "cassandra://127.0.0.1:1/a"} {
		list = append(list, nilCall{"Open " + url, func(context.Context) error { _, err := backends.Open(none, url, nil); return err }, context1},
			nilCall{"OpenDriver " + url, func(context.Context) error { _, err := backends.OpenDriver(none, url); return err }, context1})
	}
	return append(list, nilCall{"Open without options", func(ctx context.Context) error {
		s, err := backends.Open(ctx, "memory:", nil)
		if err != nil {
			return err
		}
		return s.Close()
	}, ""})
}

// Nothing that opens a store panics when an argument is nil.
func TestNilArguments(t *testing.T) {
	for _, c := range nilCalls(t.TempDir()) {
		err := func() (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("a panic: %v", p)
				}
			}()
			return c.do(t.Context())
		}()
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, repo.ErrInvalid) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v; want ErrInvalid with %q", c.name, err, c.want)
		}
	}
}
