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
	resolve(ctx context.Context, o *repo.Outcome) answer
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
	var keys *repo.Repo[closing]
	if s.Closes {
		schema := s.schema()
		schema.Collection, schema.Indexes = closed, nil
		var err error
		if keys, err = repo.Open[closing](ctx, store, schema); err != nil {
			return nil, err
		}
	}
	if s.Expires {
		people, err := repo.Open[guest](ctx, store, s.schema())
		return &doorOf[guest]{store, people, keys, s.Remote, guestOf, ofGuest}, err
	}
	people, err := repo.Open[person](ctx, store, s.schema())
	return &doorOf[person]{store, people, keys, s.Remote, personOf, ofPerson}, err
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
	if op.Open {
		err = d.ifOpen(ctx, op, &rec)
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

// ifOpen writes a record whose key is not closed.
func (d *doorOf[T]) ifOpen(ctx context.Context, op Op, rec *T) error {
	g := d.store.Group()
	d.closed.In(g).Check(d.key(op.Key), repo.IfAbsent())
	if op.Do == Put {
		d.people.In(g).Put(rec)
	} else {
		d.people.In(g).Insert(rec)
	}
	return g.Commit(ctx)
}

func (d *doorOf[T]) resolve(ctx context.Context, o *repo.Outcome) answer {
	v, err := d.people.Resolve(ctx, o)
	return answer{verdict: v, err: err}
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
