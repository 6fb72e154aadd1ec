package conformance

import (
	"context"
	"fmt"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// versionRules are about programs of two versions that have one collection open. What looks
// like two programs are two stores on one: neither knows what the other one did.
func versionRules() []rule {
	return []rule{
		{name: "made anew by another program", sentence: "A program that has a collection open which another one drops, and makes anew, is refused to read and to write.", needs: both(others, keepsNear), check: madeAnew},
		{name: "index dropped by another program", sentence: "A program that has a collection open of which another one drops an index is refused to read and to write.", needs: both(others, keepsNear), check: indexDropped},
		{name: "expiry of another program", sentence: "The expiry that another program gives to a record counts for one that knows of none.", needs: both(others, keepsNear), check: expiryOfAnother},
	}
}

// A program is one that has messages open, and its store.
type program struct {
	*env
	store *repo.Store
	known *tap
	repo  *repo.Repo[message]
}

// older opens messages as the older of two programs.
func (e *env) older(ctx context.Context, name string, indexes ...repo.Index) *program {
	p := &program{env: e, known: &tap{Store: e.store, tables: map[string]*driver.Table{}}}
	p.store = repo.NewStore(counting{p.known}, nil)
	schema := withIndexes(indexes...)
	schema.Collection = name
	r, err := repo.Open[message](ctx, p.store, schema)
	e.ok("open by the older program", err)
	p.repo = r
	return p
}

// A counting store is a tap that counts if the store beneath does.
type counting struct{ *tap }

func (s counting) Count(ctx context.Context, span driver.Span) (int, error) {
	if c, ok := s.Store.(driver.Counter); ok {
		return c.Count(ctx, span)
	}
	return 0, fmt.Errorf("the store does not count: %w", driver.ErrInternal)
}

// remembers makes the store know the tables that the program has open, as that of another
// process would.
func (p *program) remembers(ctx context.Context) {
	for _, t := range p.known.tables {
		p.define(ctx, t)
	}
}

// refused ends the rule unless the program can neither read nor write.
func (p *program) refused(ctx context.Context, q repo.Query, m message) {
	_, err := repo.Collect(p.repo.Find(ctx, q))
	p.is("find", err, repo.ErrSchema)
	_, err = repo.Collect(p.repo.Keys(ctx, q))
	p.is("keys", err, repo.ErrSchema)
	_, err = p.repo.Count(ctx, q)
	p.is("count", err, repo.ErrSchema)
	_, err = p.repo.Page(ctx, q, "")
	p.is("page", err, repo.ErrSchema)
	_, err = p.repo.Get(ctx, repo.Key{m.Host, m.Time, m.ID})
	p.is("get", err, repo.ErrSchema)
	p.is("put", p.repo.Put(ctx, &m), repo.ErrSchema)
	m.ID++
	p.is("insert", p.repo.Insert(ctx, &m), repo.ErrSchema)
}

func madeAnew(ctx context.Context, e *env) {
	name := e.freshName()
	before := e.older(ctx, name, byLevel())
	m := message{Host: e.name("h"), Time: e.when(1), Level: e.name("level"), Text: e.name("text")}
	insertAll(ctx, e, before.repo, m)
	newer := repo.NewStore(e.store, nil)
	e.ok("drop by another program", repo.DropCollection(ctx, newer, name))
	schema := withIndexes(byText())
	schema.Collection = name
	after, err := repo.Open[message](ctx, newer, schema)
	e.ok("open by another program", err)
	insertAll(ctx, e, after, m)
	before.remembers(ctx)
	before.refused(ctx, repo.Where("host", m.Host).Where("level", m.Level), m)
	clean(ctx, e, after)
}

func indexDropped(ctx context.Context, e *env) {
	name := e.freshName()
	before := e.older(ctx, name, byLevel(), byText())
	m := message{Host: e.name("h"), Level: e.name("level"), Text: e.name("text")}
	for i := range 4 {
		m.Time = e.when(i)
		insertAll(ctx, e, before.repo, m)
	}
	newer := repo.NewStore(e.store, nil)
	e.ok("drop of an index by another program", repo.DropIndex(ctx, newer, name, "by_host_level_time_desc"))
	for _, t := range before.known.tables {
		if !t.Native { // which would be made anew
			e.define(ctx, t)
		}
	}
	before.refused(ctx, repo.Where("host", m.Host).Where("level", m.Level), m)
	schema := withIndexes(byText())
	schema.Collection = name
	after, err := repo.Open[message](ctx, newer, schema)
	e.ok("open by another program", err)
	equal(e, "what the index that is left finds", len(find(ctx, e, after, repo.Where("host", m.Host).Order("text"), textOfMessage)), 4)
	clean(ctx, e, after)
}

// A fading message is one that expires.
type fading struct {
	Host  string    `repo:"host"`
	Time  time.Time `repo:"time"`
	ID    int64     `repo:"id"`
	Level string    `repo:"level"`
	Text  string    `repo:"text"`
	Until time.Time `repo:",expires"`
}

func expiryOfAnother(ctx context.Context, e *env) {
	name := e.freshName()
	before := e.older(ctx, name, byLevel(), byText())
	insertAll(ctx, e, before.repo, message{Host: e.name("h"), Level: e.name("level"), Text: e.name("stays")})
	schema := withIndexes(byLevel(), byText())
	schema.Collection = name
	newer, err := repo.Open[fading](ctx, repo.NewStore(e.store, nil), schema)
	e.ok("open by a program that lets records expire", err)
	f := fading{Host: e.name("h"), ID: 1, Level: e.name("level"), Text: e.name("goes"), Until: time.Now().Add(10 * time.Millisecond)}
	e.ok("insert", newer.Insert(ctx, &f))
	time.Sleep(20 * time.Millisecond)
	key := repo.Key{f.Host, f.Time, f.ID}
	_, err = before.repo.Get(ctx, key)
	e.is("get of an expired record", err, repo.ErrNotFound)
	_, err = before.repo.Patch(ctx, key, repo.Set("text", "x"))
	e.is("patch of an expired record", err, repo.ErrNotFound)
	for _, q := range []repo.Query{repo.Where("host", f.Host), repo.Where("host", f.Host).Where("level", f.Level), repo.Where("host", f.Host).Order("text")} {
		equal(e, "what finds "+q.String(), find(ctx, e, before.repo, q, textOfMessage), []string{e.name("stays")})
		n, err := before.repo.Count(ctx, q)
		e.ok("count", err)
		equal(e, "the count of "+q.String(), n, 1)
		equal(e, "the keys of "+q.String(), len(collect(e, "keys", before.repo.Keys(ctx, q))), 1)
	}
	e.ok("insert over an expired record", before.repo.Insert(ctx, &message{Host: f.Host, ID: 1, Level: f.Level, Text: f.Text}))
}
