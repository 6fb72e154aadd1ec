package api

import (
	"context"
	"fmt"
	"time"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// versionRules are about programs of two versions that have one collection open. What looks
// like two programs are two stores on one: neither knows what the other one did.
func versionRules() []entry {
	return []entry{
		{Name: "made anew by another program", Sentence: "A program that has a collection open which another one drops, and makes anew, is refused to read and to write.", Needs: tested.Both(tested.Others, tested.KeepsLocal), Check: madeAnew},
		{Name: "index dropped by another program", Sentence: "A program goes on without an index that another one drops: a query by it is ErrNoIndex, and what it writes is in the indexes that are left.", Needs: tested.Both(tested.Others, tested.KeepsLocal), Check: indexDropped},
		{Name: "expiry of another program", Sentence: "The expiry that another program gives to a record counts for one that knows of none.", Needs: tested.Both(tested.Others, tested.KeepsLocal), Check: expiryOfAnother},
		{Name: "field left out by another program", Sentence: "Where another program has written records without a field, no query is answered that would miss them.", Needs: tested.Both(tested.Others, tested.KeepsLocal), Check: leftOutByAnother},
		{Name: "native index of another program", Sentence: "A program that does not know of an index which the store keeps goes on, and may be opened anew; the index finds what it writes.", Needs: tested.Both(tested.Others, tested.HasNative), Check: nativeOfAnother},
		{Name: "undeclared field of another program", Sentence: "A program does not add a field that it does not declare where an index which the store keeps would miss it; where the field is, it may change it.", Needs: tested.Both(tested.Others, tested.HasNative), Check: strayOfAnother},
		{Name: "builds of another program", Sentence: "Programs that add an index which the store keeps to a collection with records, at once, all come to have it.", Needs: tested.Both(tested.Others, tested.HasNative), Check: buildsAtOnce},
		{Name: "fields of another program", Sentence: "What a program writes again keeps the fields, and the expiry, that only another program declares; what begins anew has nothing of what was there before.", Needs: tested.KeepsLocal, Check: fieldsOfAnother},
	}
}

// A program is one that has messages open, and its store.
type program struct {
	*env
	store *repo.Store
	known *tap
	repo  *repo.Repo[message]
}

// olderProgram opens messages as the older of two programs.
func olderProgram(ctx context.Context, e *env, name string, indexes ...repo.Index) *program {
	p := &program{env: e, known: &tap{Store: e.Store, tables: map[string]*driver.Table{}}}
	p.store = repo.NewStore(counting{p.known}, nil)
	schema := withIndexes(indexes...)
	schema.Collection = name
	r, err := repo.Open[message](ctx, p.store, schema)
	e.OK("open by the older program", err)
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
		p.OK("define", p.Store.Define(ctx, []*driver.Table{t}))
	}
}

// refused ends the rule unless the program can neither read nor write.
func (p *program) refused(ctx context.Context, q repo.Query, m message) {
	_, err := repo.Collect(p.repo.Find(ctx, q))
	p.Is("find", err, repo.ErrSchema)
	_, err = repo.Collect(p.repo.Keys(ctx, q))
	p.Is("keys", err, repo.ErrSchema)
	_, err = p.repo.Count(ctx, q)
	p.Is("count", err, repo.ErrSchema)
	_, err = p.repo.Page(ctx, q, "")
	p.Is("page", err, repo.ErrSchema)
	_, err = p.repo.Get(ctx, repo.Key{m.Host, m.Time, m.ID})
	p.Is("get", err, repo.ErrSchema)
	p.Is("put", p.repo.Put(ctx, &m), repo.ErrSchema)
	m.ID++
	p.Is("insert", p.repo.Insert(ctx, &m), repo.ErrSchema)
}

func madeAnew(ctx context.Context, e *env) {
	name := e.FreshName()
	before := olderProgram(ctx, e, name, byLevel())
	m := message{Host: e.name("h"), Time: e.when(1), Level: e.name("level"), Text: e.name("text")}
	insertAll(ctx, e, before.repo, m)
	newer := repo.NewStore(e.Store, nil)
	e.OK("drop by another program", repo.DropCollection(ctx, newer, name))
	schema := withIndexes(byText())
	schema.Collection = name
	after, err := repo.Open[message](ctx, newer, schema)
	e.OK("open by another program", err)
	insertAll(ctx, e, after, m)
	before.remembers(ctx)
	before.refused(ctx, repo.Where("host", m.Host).Where("level", m.Level), m)
	clean(ctx, e, after)
}

func indexDropped(ctx context.Context, e *env) {
	name := e.FreshName()
	before := olderProgram(ctx, e, name, byLevel(), byText())
	m := message{Host: e.name("h"), Level: e.name("level"), Text: e.name("text")}
	for i := range 4 {
		m.Time = e.when(i)
		insertAll(ctx, e, before.repo, m)
	}
	newer := repo.NewStore(e.Store, nil)
	e.OK("drop of an index by another program", repo.DropIndex(ctx, newer, name, "by_host_level_time_desc"))
	for _, t := range before.known.tables {
		if !t.Native { // which would be made anew
			e.OK("define", e.Store.Define(ctx, []*driver.Table{t}))
		}
	}
	_, err := repo.Collect(before.repo.Find(ctx, repo.Where("host", m.Host).Where("level", m.Level)))
	e.Is("find by the index", err, repo.ErrNoIndex)
	m.Time, m.Text = e.when(4), e.name("later")
	insertAll(ctx, e, before.repo, m)
	schema := withIndexes(byText())
	schema.Collection = name
	after, err := repo.Open[message](ctx, newer, schema)
	e.OK("open by another program", err)
	rule.Equal(e, "what the index that is left finds", len(find(ctx, e, after, repo.Where("host", m.Host).Order("text"), textOfMessage)), 5)
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
	name := e.FreshName()
	before := olderProgram(ctx, e, name, byLevel(), byText())
	insertAll(ctx, e, before.repo, message{Host: e.name("h"), Level: e.name("level"), Text: e.name("stays")})
	schema := withIndexes(byLevel(), byText())
	schema.Collection = name
	newer, err := repo.Open[fading](ctx, repo.NewStore(e.Store, nil), schema)
	e.OK("open by a program that lets records expire", err)
	f := fading{Host: e.name("h"), ID: 1, Level: e.name("level"), Text: e.name("goes"), Until: time.Now().Add(10 * time.Millisecond)}
	e.OK("insert", newer.Insert(ctx, &f))
	time.Sleep(20 * time.Millisecond)
	key := repo.Key{f.Host, f.Time, f.ID}
	_, err = before.repo.Get(ctx, key)
	e.Is("get of an expired record", err, repo.ErrNotFound)
	_, err = before.repo.Patch(ctx, key, repo.Set("text", "x"))
	e.Is("patch of an expired record", err, repo.ErrNotFound)
	for _, q := range []repo.Query{repo.Where("host", f.Host), repo.Where("host", f.Host).Where("level", f.Level), repo.Where("host", f.Host).Order("text")} {
		rule.Equal(e, "what finds "+q.String(), find(ctx, e, before.repo, q, textOfMessage), []string{e.name("stays")})
		n, err := before.repo.Count(ctx, q)
		e.OK("count", err)
		rule.Equal(e, "the count of "+q.String(), n, 1)
		rule.Equal(e, "the keys of "+q.String(), len(collect(e, "keys", before.repo.Keys(ctx, q))), 1)
	}
	e.OK("insert over an expired record", before.repo.Insert(ctx, &message{Host: f.Host, ID: 1, Level: f.Level, Text: f.Text}))
}

// A curt message may have no text.
type curt struct {
	Host  string    `repo:"host"`
	Time  time.Time `repo:"time"`
	ID    int64     `repo:"id"`
	Level string    `repo:"level"`
	Text  *string   `repo:"text"`
}

func leftOutByAnother(ctx context.Context, e *env) {
	name := e.FreshName()
	x := repo.Index{Partition: []string{"host", "level"}, Sort: []string{"text"}}
	before := olderProgram(ctx, e, name, x)
	insertAll(ctx, e, before.repo, message{Host: e.name("h"), Level: e.name("level"), Text: "has one"})
	q := repo.Where("host", e.name("h")).Where("level", e.name("level"))
	rule.Equal(e, "what is found while all have a text", find(ctx, e, before.repo, q, textOfMessage), []string{"has one"})
	schema := withIndexes(x)
	schema.Collection = name
	newer, err := repo.Open[curt](ctx, repo.NewStore(e.Store, nil), schema)
	e.OK("open by a program whose records may lack the text", err)
	insertAll(ctx, e, newer, curt{Host: e.name("h"), ID: 1, Level: e.name("level")})
	_, err = before.repo.Count(ctx, q)
	e.Is("count by an index that lacks a record", err, repo.ErrNoIndex)
	_, err = repo.Collect(before.repo.Find(ctx, q))
	e.Is("find by it", err, repo.ErrNoIndex)
	_, err = repo.Collect(before.repo.Keys(ctx, q))
	e.Is("keys by it", err, repo.ErrNoIndex)
	_, err = before.repo.Page(ctx, q, "")
	e.Is("page by it", err, repo.ErrNoIndex)
	rule.Equal(e, "what has a text", find(ctx, e, before.repo, q.Order("text"), textOfMessage), []string{"has one"})
	clean(ctx, e, newer)
}

// A letter is a message as a newer program knows it.
type letter struct {
	Host  string         `repo:"host"`
	Time  time.Time      `repo:"time"`
	ID    int64          `repo:"id"`
	Level string         `repo:"level"`
	Text  string         `repo:"text"`
	Mail  *string        `repo:"mail"`
	Tags  []string       `repo:"tags"`
	Attr  map[string]any `repo:"attr"`
	Data  []byte         `repo:"data"`
	Sent  time.Time      `repo:"sent"`
	Until time.Time      `repo:",expires"`
	More  map[string]any `repo:",extra"`
}

func fieldsOfAnother(ctx context.Context, e *env) {
	name := e.FreshName()
	covers := repo.Index{Partition: []string{"host"}, Sort: []string{"level"}, Covers: []string{"*"}}
	before := olderProgram(ctx, e, name, covers)
	schema := withIndexes(covers)
	schema.Collection = name
	newer, err := repo.Open[letter](ctx, repo.NewStore(e.Store, nil), schema)
	e.OK("open by a program with more fields", err)
	mail := "a@x"
	for what, write := range before.rewrites(ctx) {
		for i, text := range []string{"as it was", "changed"} {
			l := letter{Host: e.name(what), Time: e.when(i), Level: "info", Text: "as it was", Mail: &mail, Tags: []string{"b", "a"}, Attr: map[string]any{"k": int64(1)},
				Data: []byte{0, 1}, Sent: e.when(7), Until: time.Now().Add(time.Hour).Truncate(time.Millisecond).UTC(), More: map[string]any{"z": "y", "n": int64(3)}}
			e.OK("insert", newer.Insert(ctx, &l))
			e.OK(what+" by the older program", write(message{l.Host, l.Time, l.ID, l.Level, text}))
			l.Text = text
			got, err := newer.Get(ctx, repo.Key{l.Host, l.Time, l.ID})
			e.OK("get", err)
			rule.Equal(e, "what the newer program has after a "+what+" by the older one", got, l)
			list := collect(e, "find", newer.Find(ctx, repo.Where("host", l.Host).Where("level", l.Level)))
			rule.Equal(e, "the same by an index that covers it", list, []letter{l})
			e.OK("delete", before.repo.Delete(ctx, repo.Key{l.Host, l.Time, l.ID}))
			m := message{l.Host, l.Time, l.ID, l.Level, "anew"}
			e.OK("insert", before.repo.Insert(ctx, &m))
			got, err = newer.Get(ctx, repo.Key{l.Host, l.Time, l.ID})
			e.OK("get", err)
			rule.Equal(e, "what begins anew", got, letter{Host: m.Host, Time: m.Time, Level: m.Level, Text: m.Text})
			e.OK("delete", before.repo.Delete(ctx, repo.Key{l.Host, l.Time, l.ID}))
		}
	}
	clean(ctx, e, newer)
}

// rewrites are the ways in which a program writes a record again.
func (p *program) rewrites(ctx context.Context) map[string]func(m message) error {
	grouped := func(add func(repo.Writes[message])) error {
		g := p.repo.Store().Group()
		in := p.repo.In(g)
		add(in)
		return g.Commit(ctx)
	}
	return map[string]func(m message) error{
		"put":           func(m message) error { return p.repo.Put(ctx, &m) },
		"replace":       func(m message) error { return p.repo.Replace(ctx, &m) },
		"group put":     func(m message) error { return grouped(func(in repo.Writes[message]) { in.Put(&m) }) },
		"group replace": func(m message) error { return grouped(func(in repo.Writes[message]) { in.Replace(&m) }) },
		"update": func(m message) error {
			_, err := p.repo.Update(ctx, repo.Key{m.Host, m.Time, m.ID}, func(old *message) error { *old = m; return nil })
			return err
		},
		"patch": func(m message) error {
			_, err := p.repo.Patch(ctx, repo.Key{m.Host, m.Time, m.ID}, repo.Set("text", m.Text))
			return err
		},
	}
}

// keptByLevel is an index that every store keeps which keeps any.
func keptByLevel() repo.Index {
	return repo.Index{Name: "by_level", Partition: []string{"host", "level"}, Sort: []string{"-time"}, Kind: "native"}
}

func nativeOfAnother(ctx context.Context, e *env) {
	name := e.FreshName()
	before := olderProgram(ctx, e, name)
	m := message{Host: e.name("h"), Time: e.when(0), Level: "info", Text: "0"}
	insertAll(ctx, e, before.repo, m)
	schema := withIndexes(keptByLevel())
	schema.Collection = name
	after, err := repo.Open[message](ctx, repo.NewStore(e.Store, nil), schema, repo.WithBuild())
	e.OK("open by a program with the index", err)
	time.Sleep(5 * time.Second) // until the older program has looked at the catalog
	for i, p := range []*program{before, olderProgram(ctx, e, name)} {
		m.Time, m.Text = e.when(1+i), fmt.Sprint(1+i)
		insertAll(ctx, e, p.repo, m)
		_, err := p.repo.Update(ctx, repo.Key{m.Host, m.Time, m.ID}, func(old *message) error { old.Text += "u"; return nil })
		e.OK("update", err)
		rule.Equal(e, "the records", len(collect(e, "find", p.repo.Find(ctx, repo.Where("host", m.Host)))), 2+i)
	}
	q := repo.Where("host", m.Host).Where("level", "info")
	rule.Equal(e, "what the index finds", find(ctx, e, after, q, textOfMessage), []string{"2u", "1u", "0"})
	clean(ctx, e, after)
}

// A slip has whatever is written on it.
type slip struct {
	Host string         `repo:"host"`
	Time time.Time      `repo:"time"`
	ID   int64          `repo:"id"`
	More map[string]any `repo:",extra"`
}

func strayOfAnother(ctx context.Context, e *env) {
	name := e.FreshName()
	schema := withIndexes()
	schema.Collection = name
	before, err := repo.Open[slip](ctx, repo.NewStore(e.Store, nil), schema)
	e.OK("open by the older program", err)
	schema = withIndexes(keptByLevel())
	schema.Collection = name
	after, err := repo.Open[message](ctx, repo.NewStore(e.Store, nil), schema, repo.WithBuild())
	e.OK("open by a program with the index", err)
	m := message{Host: e.name("h"), Time: e.when(0), Level: "info", Text: "0"}
	insertAll(ctx, e, after, m)
	fresh := slip{Host: m.Host, Time: e.when(1), More: map[string]any{"level": "info", "text": "1"}}
	e.Is("insert of a field that the program does not declare", before.Insert(ctx, &fresh), repo.ErrSchema)
	fresh.More = map[string]any{"text": "1"}
	e.OK("insert of a field that no index has", before.Insert(ctx, &fresh))
	_, err = before.Patch(ctx, repo.Key{fresh.Host, fresh.Time, fresh.ID}, repo.Set("level", "info"))
	e.Is("patch with the field", err, repo.ErrSchema)
	_, err = before.Update(ctx, repo.Key{m.Host, m.Time, m.ID}, func(s *slip) error { s.More["level"] = "high"; return nil })
	e.OK("update of the field where it is", err)
	q := repo.Where("host", m.Host).Where("level", "high")
	rule.Equal(e, "what the index finds", find(ctx, e, after, q, textOfMessage), []string{"0"})
	clean(ctx, e, after)
}

func buildsAtOnce(ctx context.Context, e *env) {
	name := e.FreshName()
	before := olderProgram(ctx, e, name)
	const records = 500
	for i := range records {
		insertAll(ctx, e, before.repo, message{Host: e.name("h"), Time: e.when(i), Level: "info", Text: "x"})
	}
	schema := withIndexes(keptByLevel())
	schema.Collection = name
	e.Parallel(4, func(int) error {
		other := e.Second(ctx)
		defer other.Store.Close()
		r, err := repo.Open[message](ctx, other.Repo, schema, repo.WithBuild())
		if err != nil {
			return err
		}
		n, err := r.Count(ctx, repo.Where("host", e.name("h")).Where("level", "info"))
		if err == nil && n != records {
			err = fmt.Errorf("the index finds %d of %d records", n, records)
		}
		return err
	})
}
