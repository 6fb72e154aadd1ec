package simulate

import (
	"context"
	"errors"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

const home = "h" // of every record

// A person is a record that stays, a guest one that may expire.
type person struct {
	Home    string       `repo:"home"`
	ID      string       `repo:"id"`
	Kind    string       `repo:"kind"`
	Mail    *string      `repo:"mail"`
	N       int64        `repo:"n"`
	Version repo.Version `repo:",version"`
}

type guest struct {
	Home    string       `repo:"home"`
	ID      string       `repo:"id"`
	Kind    string       `repo:"kind"`
	Mail    *string      `repo:"mail"`
	N       int64        `repo:"n"`
	Version repo.Version `repo:",version"`
	Expires time.Time    `repo:",expires"`
}

// Values are what a record says, whatever its type.
type values struct {
	id, kind, mail string
	n              int64
	expires        int64
	version        driver.Token
}

func personOf(v values) person {
	return person{Home: home, ID: v.id, Kind: v.kind, Mail: optional(v.mail), N: v.n}
}

func guestOf(v values) guest {
	g := guest{Home: home, ID: v.id, Kind: v.kind, Mail: optional(v.mail), N: v.n}
	if v.expires != 0 {
		g.Expires = time.UnixMilli(v.expires)
	}
	return g
}

func ofPerson(p person) values {
	return values{id: p.ID, kind: p.Kind, mail: plain(p.Mail), n: p.N, version: driver.Token(p.Version)}
}

func ofGuest(g guest) values {
	v := values{id: g.ID, kind: g.Kind, mail: plain(g.Mail), n: g.N, version: driver.Token(g.Version)}
	if !g.Expires.IsZero() {
		v.expires = g.Expires.UnixMilli()
	}
	return v
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func plain(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// An answer is what a client is told.
type answer struct {
	found   []values // of a read; the record itself after a write that returns it
	version driver.Token
	verdict repo.Verdict
	err     error
}

// A door is what a client calls.
type door interface {
	do(ctx context.Context, op Op, seen driver.Token) answer
	resolve(ctx context.Context, err *repo.Error) answer
	close() error
}

// A closing says that a key is closed.
type closing struct {
	Home string `repo:"home"`
	ID   string `repo:"id"`
}

type doorOf[T any] struct {
	store  *repo.Store
	people *repo.Repo[T]
	closed *repo.Repo[closing] // nil where the scenario has none
	remote bool
	make   func(values) T
	read   func(T) values
}

// open returns the door of a client on a store.
func (s *Scenario) open(ctx context.Context, backend driver.Store) (door, error) {
	store := repo.NewStore(backend, nil)
	if s.Expires {
		return opened(ctx, s, &doorOf[guest]{store: store, remote: s.Remote, make: guestOf, read: ofGuest})
	}
	return opened(ctx, s, &doorOf[person]{store: store, remote: s.Remote, make: personOf, read: ofPerson})
}

// opened returns a door with the collections of a scenario.
func opened[T any](ctx context.Context, s *Scenario, d *doorOf[T]) (door, error) {
	var err error
	if d.people, err = repo.Open[T](ctx, d.store, s.schema()); err != nil || !s.Closes {
		return d, err
	}
	schema := s.schema()
	schema.Collection, schema.Indexes, schema.With = closed, nil, collection
	d.closed, err = repo.Open[closing](ctx, d.store, schema)
	return d, err
}

func (d *doorOf[T]) close() error { return d.store.Close() }

func (d *doorOf[T]) key(id string) repo.Key {
	if d.remote {
		return repo.Key{id}
	}
	return repo.Key{home, id}
}

// by returns the query for the records with a value.
func (d *doorOf[T]) by(field, value string) repo.Query {
	if d.remote {
		return repo.Where(field, value)
	}
	return repo.Where("home", home).Where(field, value)
}

func (d *doorOf[T]) do(ctx context.Context, op Op, seen driver.Token) answer {
	switch op.Do {
	case Get, Find, One:
		return d.look(ctx, op)
	case Close:
		g := d.store.Group()
		d.people.In(g).Check(d.key(op.Key), repo.IfAbsent())
		d.closed.In(g).Insert(&closing{home, op.Key})
		return answer{err: g.Commit(ctx)}
	case Maintain:
		_, err := d.people.Maintain(ctx)
		if err == nil && d.closed != nil {
			_, err = d.closed.Maintain(ctx)
		}
		return answer{err: err}
	}
	return d.write(ctx, op, seen)
}

func (d *doorOf[T]) look(ctx context.Context, op Op) answer {
	var a answer
	var rec T
	switch op.Do {
	case Find:
		for p, err := range d.people.Find(ctx, d.by("kind", op.Kind)) {
			if err != nil {
				return answer{err: err}
			}
			a.found = append(a.found, d.read(p))
		}
		return a
	case One:
		rec, a.err = d.people.One(ctx, d.by("mail", op.Mail))
	default:
		rec, a.err = d.people.Get(ctx, d.key(op.Key))
	}
	switch {
	case a.err == nil:
		a.found = []values{d.read(rec)}
	case errors.Is(a.err, repo.ErrNotFound):
		a.err = nil
	}
	return a
}

func (d *doorOf[T]) write(ctx context.Context, op Op, seen driver.Token) answer {
	rec := d.make(valuesOf(op))
	option := repo.IfVersion(repo.Version(seen))
	key := d.key(op.Key)
	var version repo.Version
	var err error
	if op.Open || op.Both {
		err = d.group(op, &rec, option).Commit(ctx)
		return answer{version: d.read(rec).version, err: err}
	}
	switch op.Do {
	case Insert:
		err = d.people.Insert(ctx, &rec)
	case Put:
		err = d.people.Put(ctx, &rec, option)
	case Replace:
		err = d.people.Replace(ctx, &rec, option)
	case Update:
		rec, err = d.people.Update(ctx, key, func(t *T) error {
			*t = d.make(changed(d.read(*t), op))
			return nil
		}, option)
	case Patch, Move:
		version, err = d.people.PatchIf(ctx, key, repo.Version(seen), editsOf(op)...)
		return answer{version: driver.Token(version), err: err}
	case Blind:
		version, err = d.people.PatchBlind(ctx, key, editsOf(op)...)
		return answer{version: driver.Token(version), err: err}
	case Delete:
		return answer{err: d.people.Delete(ctx, key, option)}
	}
	return answer{version: d.read(rec).version, err: err}
}

// group returns a group that writes a record, and opens or closes its key or looks whether it is closed.
func (d *doorOf[T]) group(op Op, rec *T, option repo.WriteOption) *repo.Group {
	g, key := d.store.Group(), d.key(op.Key)
	switch {
	case op.Open:
		d.closed.In(g).Check(key, repo.IfAbsent())
	case op.Do == Delete:
		d.closed.In(g).Insert(&closing{home, op.Key})
	default:
		d.closed.In(g).Delete(key)
	}
	switch op.Do {
	case Delete:
		d.people.In(g).Delete(key, option)
	case Put:
		d.people.In(g).Put(rec, option)
	default:
		d.people.In(g).Insert(rec)
	}
	return g
}

// resolve asks the collection that an error names.
func (d *doorOf[T]) resolve(ctx context.Context, unknown *repo.Error) (a answer) {
	if unknown.Collection == closed {
		a.verdict, a.err = d.closed.Resolve(ctx, unknown.Outcome)
	} else {
		a.verdict, a.err = d.people.Resolve(ctx, unknown.Outcome)
	}
	return a
}

// valuesOf returns what an op writes whole.
func valuesOf(op Op) values {
	v := values{id: op.Key, kind: op.Kind, mail: op.Mail, n: op.N}
	if v.kind == "" {
		v.kind = "k0"
	}
	if op.Expires != 0 {
		v.expires = after(op.Expires).UnixMilli()
	}
	return v
}

// changed returns what an op that changes a part makes of a record.
func changed(v values, op Op) values {
	v.n += op.N
	if op.Kind != "" {
		v.kind = op.Kind
	}
	if op.Mail != "" {
		v.mail = op.Mail
	}
	if op.Expires != 0 {
		v.expires = after(op.Expires).UnixMilli()
	}
	return v
}

func editsOf(op Op) []repo.Edit {
	var edits []repo.Edit
	if op.Kind != "" {
		edits = append(edits, repo.Set("kind", op.Kind))
	}
	if op.Mail != "" {
		edits = append(edits, repo.Set("mail", op.Mail))
	}
	if op.Expires != 0 {
		edits = append(edits, repo.ExpireAt(after(op.Expires)))
	}
	if op.N != 0 || len(edits) == 0 {
		edits = append(edits, repo.Add("n", op.N))
	}
	return edits
}

// after returns the instant that lies d after the beginning of every run.
func after(d time.Duration) time.Time {
	return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(d) // when the time of a bubble begins
}
