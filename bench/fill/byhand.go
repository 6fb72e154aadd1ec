package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/repo/driver"
)

// byHandMost is how many records are filled by hand, and byHandAtOnce how many at the same time, as by the library.
const (
	byHandMost   = 20_000
	byHandAtOnce = 16
)

// A byHand sends to Cassandra what a filling sends, with the client alone: for each record a row in another partition, and
// then a conditional update of its revision. It reads nothing, looks at no catalog, and bears no failure.
type byHand struct {
	session *gocql.Session
	table   string
}

// fillByHand measures it, in tables of its own, if the store is Cassandra.
func (s *subject) fillByHand(ctx context.Context) error {
	u, err := url.Parse(s.url)
	if err != nil || u.Scheme != "cassandra" {
		return err
	}
	cluster := gocql.NewCluster(u.Host)
	cluster.Keyspace, cluster.Timeout = strings.Trim(u.Path, "/"), time.Minute
	cluster.Consistency, cluster.SerialConsistency = gocql.Quorum, gocql.Serial
	session, err := cluster.CreateSession()
	if err != nil {
		return err
	}
	defer session.Close()
	h := &byHand{session, s.name + "_by_hand"}
	defer func() { _ = errors.Join(h.do(`DROP TABLE IF EXISTS %s`), h.do(`DROP TABLE IF EXISTS %s_rows`)) }() // the server is for tests
	return s.timeByHand(ctx, h)
}

func (h *byHand) do(text string, args ...any) error {
	return h.session.Query(fmt.Sprintf(text, h.table), args...).Exec()
}

func (s *subject) timeByHand(ctx context.Context, h *byHand) error {
	if err := errors.Join(
		h.do(`CREATE TABLE %s (id text PRIMARY KEY, rev blob, author text, title text, body text, views bigint, created bigint)`),
		h.do(`CREATE TABLE %s_rows (author text, created bigint, id text, rev blob, PRIMARY KEY (author, created, id)) WITH CLUSTERING ORDER BY (created DESC, id ASC)`),
	); err != nil {
		return err
	}
	n, first := min(s.records, byHandMost), driver.NewToken()
	if err := each(ctx, n, func(i int) error {
		p := newPost(i)
		return h.do(`INSERT INTO %s (id, rev, author, title, body, views, created) VALUES (?, ?, ?, ?, ?, ?, ?)`, p.ID, first[:], p.Author, p.Title, p.Body, p.Views, p.Created)
	}); err != nil {
		return err
	}
	began := time.Now()
	err := each(ctx, n, func(i int) error { return h.fill(i, first) })
	s.report.byHand, s.report.handled = float64(n)/time.Since(began).Seconds(), n
	s.say("by hand %d were filled, %.0f a second", n, s.report.byHand)
	return err
}

// fill writes the row of a post, and then its revision.
func (h *byHand) fill(i int, was driver.Token) error {
	p, now := newPost(i), driver.NewToken()
	if err := h.do(`INSERT INTO %s_rows (author, created, id, rev) VALUES (?, ?, ?, ?)`, p.Author, p.Created, p.ID, now[:]); err != nil {
		return err
	}
	var stored []byte
	applied, err := h.session.Query(fmt.Sprintf(`UPDATE %s SET rev = ? WHERE id = ? IF rev = ?`, h.table), now[:], p.ID, was[:]).ScanCAS(&stored)
	if err == nil && !applied {
		err = fmt.Errorf("post %s has another revision", p.ID)
	}
	return err
}

// each does something for the numbers below n, some at the same time.
func each(ctx context.Context, n int, do func(i int) error) error {
	var all sync.WaitGroup
	errs := make([]error, byHandAtOnce)
	for worker := range byHandAtOnce {
		all.Go(func() {
			for i := worker; i < n && errs[worker] == nil; i += byHandAtOnce {
				errs[worker] = errors.Join(ctx.Err(), do(i))
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
