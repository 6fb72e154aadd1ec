package main

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A cassandraFloor does the work by hand with the client for Cassandra. A partition has
// the posts of an author, and their rows in the indexes by time and by category, as
// conditions cannot reach beyond one; each write is one conditional statement or batch,
// with a token that it changes. Writers of one program wait for each other: at the
// server they would interrupt one another.
type cassandraFloor struct {
	session *gocql.Session
	seed    maphash.Seed
	locks   [512]sync.Mutex
}

const makeFloor = `CREATE TABLE IF NOT EXISTS posts (author text, sort text, rev blob, id text, category text, title text, body text,
	views bigint, created timestamp, PRIMARY KEY (author, sort))`

func openCassandraFloor(at place, _ bool) (posts, error) {
	session, err := cassandraSession(at)
	if err != nil {
		return nil, err
	}
	f := &cassandraFloor{session: session, seed: maphash.MakeSeed()}
	if err := session.Query(makeFloor).Exec(); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

func (f *cassandraFloor) close() error {
	f.session.Close()
	return nil
}

// record returns the clustering text of a post.
func record(id string) string { return "r" + id }

// rowSort returns the clustering text of the row of a post in an index, newest first.
func rowSort(p *post, index byte) string {
	return indexSort(p, index) + fmt.Sprintf("%016x", newestFirst(p.Created)) + p.ID
}

// indexSort returns what all rows of an index begin with that a partition has for the
// value of a post. By author that is the whole partition.
func indexSort(p *post, index byte) string {
	if index == authorKey {
		return "a"
	}
	return "c" + p.Category + "#"
}

// send sends a statement, or several as one batch, of which one has a condition, and
// reports whether it held.
func (f *cassandraFloor) send(ctx context.Context, author string, statements ...statement) (applied bool, err error) {
	lock := &f.locks[maphash.String(f.seed, author)%uint64(len(f.locks))]
	lock.Lock()
	defer lock.Unlock()
	var answer *gocql.Iter
	if len(statements) == 1 {
		answer = f.session.Query(statements[0].text, statements[0].args...).NoSkipMetadata().IterContext(ctx)
	} else {
		batch := f.session.Batch(gocql.LoggedBatch)
		for _, s := range statements {
			batch.Query(s.text, s.args...)
		}
		answer = batch.IterContext(ctx)
	}
	dest := make([]any, len(answer.Columns()))
	if len(dest) > 0 {
		dest[0] = &applied
	}
	answer.Scan(dest...)
	return applied, answer.Close()
}

type statement struct {
	text string
	args []any
}

func addRow(p *post, index byte) statement {
	return statement{`INSERT INTO posts (author, sort) VALUES (?, ?)`, []any{p.Author, rowSort(p, index)}}
}

func removeRow(p *post, index byte) statement {
	return statement{`DELETE FROM posts WHERE author = ? AND sort = ?`, []any{p.Author, rowSort(p, index)}}
}

func (f *cassandraFloor) insert(ctx context.Context, p *post) error {
	p.Version = repo.Version(driver.NewToken())
	applied, err := f.send(ctx, p.Author, statement{
		`INSERT INTO posts (author, sort, rev, id, category, title, body, views, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) IF NOT EXISTS`,
		[]any{p.Author, record(p.ID), p.Version[:], p.ID, p.Category, p.Title, p.Body, p.Views, p.Created},
	}, addRow(p, authorKey), addRow(p, categoryKey))
	if err == nil && !applied {
		return repo.ErrExists
	}
	return err
}

const columns = `SELECT rev, id, category, title, body, views, created FROM posts WHERE author = ? AND sort `

// read returns the posts that a statement asks for.
func (f *cassandraFloor) read(ctx context.Context, author, text string, args ...any) ([]post, error) {
	var list []post
	rows := f.session.Query(columns+text, append([]any{author}, args...)...).IterContext(ctx)
	var token []byte
	for p := (post{Author: author}); rows.Scan(&token, &p.ID, &p.Category, &p.Title, &p.Body, &p.Views, &p.Created); {
		copy(p.Version[:], token)
		list = append(list, p)
	}
	return list, rows.Close()
}

func (f *cassandraFloor) get(ctx context.Context, k key) (post, error) {
	p := post{Author: k.author}
	var token []byte
	err := f.session.Query(columns+`= ?`, k.author, record(k.id)).ScanContext(ctx, &token, &p.ID, &p.Category, &p.Title, &p.Body, &p.Views, &p.Created)
	if errors.Is(err, gocql.ErrNotFound) {
		return p, repo.ErrNotFound
	}
	copy(p.Version[:], token)
	return p, err
}

func (f *cassandraFloor) update(ctx context.Context, k key, version repo.Version, change func(*post) error) (post, error) {
	for {
		old, err := f.get(ctx, k)
		if err == nil && !version.IsZero() && old.Version != version {
			err = repo.ErrConflict
		}
		if err != nil {
			return post{}, err
		}
		next := old
		if err := change(&next); err != nil {
			return post{}, err
		}
		next.Version = repo.Version(driver.NewToken())
		applied, err := f.send(ctx, k.author, replacement(&old, &next)...)
		if applied || err != nil {
			return next, err
		}
	}
}

// replacement returns what makes next of a post that is still old. No operation changes
// the author or the time.
func replacement(old, next *post) []statement {
	list := []statement{{
		`UPDATE posts SET rev = ?, category = ?, title = ?, body = ?, views = ?, created = ? WHERE author = ? AND sort = ? IF rev = ?`,
		[]any{next.Version[:], next.Category, next.Title, next.Body, next.Views, next.Created, old.Author, record(old.ID), old.Version[:]},
	}}
	if old.Category != next.Category {
		list = append(list, removeRow(old, categoryKey), addRow(next, categoryKey))
	}
	return list
}

func (f *cassandraFloor) delete(ctx context.Context, k key) error {
	for {
		old, err := f.get(ctx, k)
		if errors.Is(err, repo.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		gone := statement{`DELETE FROM posts WHERE author = ? AND sort = ? IF rev = ?`, []any{k.author, record(k.id), old.Version[:]}}
		applied, err := f.send(ctx, k.author, gone, removeRow(&old, authorKey), removeRow(&old, categoryKey))
		if applied || err != nil {
			return err
		}
	}
}

func (f *cassandraFloor) byAuthor(ctx context.Context, author string, n int) ([]post, error) {
	return f.newest(ctx, &post{Author: author}, authorKey, n)
}

func (f *cassandraFloor) byCategory(ctx context.Context, author, category string, n int) ([]post, error) {
	return f.newest(ctx, &post{Author: author, Category: category}, categoryKey, n)
}

// newest reads the first n rows for the value of a post, and then their posts.
func (f *cassandraFloor) newest(ctx context.Context, of *post, index byte, n int) ([]post, error) {
	from := indexSort(of, index)
	rows := f.session.Query(`SELECT sort FROM posts WHERE author = ? AND sort >= ? AND sort < ? LIMIT ?`, of.Author, from, from+"\x7f", n).IterContext(ctx)
	var sorts []string
	places := map[string]int{}
	for sort := ""; rows.Scan(&sort); {
		id := sort[len(from)+16:]
		places[id] = len(sorts)
		sorts = append(sorts, record(id))
	}
	if err := rows.Close(); err != nil || len(sorts) == 0 {
		return nil, err
	}
	found, err := f.read(ctx, of.Author, `IN ?`, sorts)
	if err != nil {
		return nil, err
	}
	list := make([]post, len(sorts))
	for _, p := range found {
		p.Created = p.Created.UTC()
		list[places[p.ID]] = p
	}
	if index == authorKey {
		return current(list, index, of.Author), nil
	}
	return current(list, index, of.Category), nil
}

// callTime is how long a call may take at the server, which is busy with all of them.
const callTime = 20 * time.Second
