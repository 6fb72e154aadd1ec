package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/bench/internal/tool"
	"github.com/polystore/polystore/repo"
)

const atOnce = 64 // calls, as many as a run has slots

// A post is a record as a run has them.
type post struct {
	ID      string `repo:"id"`
	Author  string `repo:"author"`
	Title   string `repo:"title"`
	Body    string `repo:"body"`
	Views   int64  `repo:"views"`
	Created int64  `repo:"created"`
}

func newPost(i int) post {
	return post{postID(i), fmt.Sprintf("user:%07d", i%1000), fmt.Sprintf("post number %d", i), strings.Repeat("0123456789 ", 20), int64(i % 1000), 1_700_000_000 + int64(i)}
}

func postID(i int) string { return fmt.Sprintf("p%08d", i) }

// loops read posts as fast as they can: with the client alone, a hash for each post, and with the library.
type loops struct {
	*options
	client *goredis.Client
	name   string
	store  *repo.Store
	posts  *repo.Repo[post]
}

func newLoops(ctx context.Context, o *options) (l *loops, err error) {
	at, err := goredis.ParseURL(o.url)
	if err != nil {
		return nil, err
	}
	at.PoolSize = atOnce
	l = &loops{options: o, client: goredis.NewClient(at), name: "sending_" + strings.ToLower(rand.Text()[:8])}
	if l.store, err = backends.Open(ctx, o.url, nil); err != nil {
		return nil, errors.Join(err, l.client.Close())
	}
	if err = l.load(ctx); err != nil {
		return nil, errors.Join(err, l.close(ctx))
	}
	return l, nil
}

func (l *loops) load(ctx context.Context) (err error) {
	if l.posts, err = repo.Open[post](ctx, l.store, repo.Schema{Collection: l.name, Partition: []string{"id"}}); err != nil {
		return err
	}
	if _, err = l.posts.InsertAll(ctx, func(yield func(post, error) bool) {
		for i := 0; i < l.records && yield(newPost(i), nil); i++ {
		}
	}); err != nil {
		return err
	}
	for i := 0; i < l.records; i += 1000 {
		if _, err := l.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
			for j := i; j < min(i+1000, l.records); j++ {
				one := newPost(j)
				p.HSet(ctx, l.key(j), "id", one.ID, "author", one.Author, "title", one.Title, "body", one.Body, "views", one.Views, "created", one.Created)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

func (l *loops) key(i int) string { return l.name + "_by_hand:" + postID(i) }

// close removes what newLoops wrote.
func (l *loops) close(ctx context.Context) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer stop()
	err := repo.DropCollection(ctx, l.store, l.name)
	for i := 0; i < l.records && err == nil; i += 1000 {
		var keys []string
		for j := i; j < min(i+1000, l.records); j++ {
			keys = append(keys, l.key(j))
		}
		err = l.client.Unlink(ctx, keys...).Err()
	}
	return errors.Join(err, l.store.Close(), l.client.Close())
}

// both appends what a call of each loop takes.
func (l *loops) both(ctx context.Context, list []figure) ([]figure, error) {
	byHand, err := l.loop(ctx, "go-redis alone", func(i int) error {
		fields, err := l.client.HGetAll(ctx, l.key(i)).Result()
		if err == nil && len(fields) != 6 {
			err = fmt.Errorf("post %d has %d fields", i, len(fields))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	own, err := l.loop(ctx, "the library alone", func(i int) error {
		_, err := l.posts.Get(ctx, repo.Key{postID(i)})
		return err
	})
	return append(list, byHand, own), err
}

// loop lets some goroutines do something again and again.
func (l *loops) loop(ctx context.Context, name string, do func(i int) error) (figure, error) {
	var all sync.WaitGroup
	errs, calls := make([]error, atOnce), make([]int, atOnce)
	began, before := time.Now(), tool.CPU()
	for worker := range atOnce {
		all.Go(func() {
			for time.Since(began) < l.lasts && errs[worker] == nil {
				errs[worker] = errors.Join(do(mathrand.IntN(l.records)), ctx.Err())
				calls[worker]++
			}
		})
	}
	all.Wait()
	n := 0
	for _, c := range calls {
		n += c
	}
	f := figure{name: name, rate: float64(n) / time.Since(began).Seconds(), cpu: (tool.CPU() - before) / time.Duration(n), lag: -1}
	return f, errors.Join(errs...)
}
