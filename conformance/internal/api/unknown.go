package api

import (
	"context"
	"time"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
)

// unknownFound lets nobody know what became of an insert that was done.
func unknownFound(ctx context.Context, e *env) {
	l := &line{env: e, Lossy: &double.Lossy{Store: e.Store}}
	schema := withIndexes(repo.Index{Partition: []string{"level"}, Sort: []string{"text"}}, repo.Index{Partition: []string{"text"}, Unique: true})
	schema.Collection = e.FreshName()
	messages, err := repo.Open[message](ctx, repo.NewStore(l.Lossy, nil), schema)
	e.OK("open", err)
	m := message{Host: e.name("h"), Time: e.when(0), Level: e.name("l"), Text: e.name("t")}
	o := l.unknown("insert", double.DoneThenLost, l.blind(ctx, func(ctx context.Context) error { return messages.Insert(ctx, &m) }))
	time.Sleep(20 * time.Millisecond) // for what would be dropped at once
	text := func(m message) string { return m.Text }
	rule.Equal(e, "what the index finds", find(ctx, e, messages, repo.Where("level", m.Level), text), []string{m.Text})
	rule.Equal(e, "who has the value", find(ctx, e, messages, repo.Where("text", m.Text), text), []string{m.Text})
	verdict, err := messages.Resolve(ctx, o)
	e.That(err == nil && verdict == repo.Committed, "Committed", "%v, %v", verdict, err)
	clean(ctx, e, messages)
}

// lateClaim resolves an insert with a unique value as not committed, lets another
// record take the value, and then lets the late copy arrive.
func lateClaim(ctx context.Context, e *env) {
	l := &line{env: e, Lossy: &double.Lossy{Store: e.Store}}
	schema := personSchema()
	schema.Collection = e.FreshName()
	people, err := repo.Open[person](ctx, repo.NewStore(l.Lossy, nil), schema)
	e.OK("open", err)
	mail := e.name("mail")
	first, second := e.person("1"), e.person("2")
	first.Email, second.Email = &mail, &mail
	o := l.unknown("insert", double.DoneLater, l.blind(ctx, func(ctx context.Context) error { return people.Insert(ctx, &first) }))
	verdict, err := people.Resolve(ctx, o)
	e.That(err == nil && verdict == repo.NotCommitted, "NotCommitted", "%v, %v", verdict, err)
	e.OK("insert of another record with the value", people.Insert(ctx, &second))
	e.OK("delete of it", people.Delete(ctx, repo.Key{second.ID}))
	done, err := l.Release(ctx)
	e.That(err == nil && done == 0, "no late copy done", "%d, %v", done, err)
	third := e.person("3")
	third.Email = &mail
	e.OK("insert of a third record with the value", people.Insert(ctx, &third))
	got, err := people.One(ctx, repo.Where("email", mail))
	e.That(err == nil && got.ID == third.ID, "the third as owner", "%v, %v", got.ID, err)
	clean(ctx, e, people)
}
