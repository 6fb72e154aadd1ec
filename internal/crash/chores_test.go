package crash_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A chore is what a program does for a whole collection, which it has for itself. It says
// by d when calls begin to count.
type chore func(ctx context.Context, o *order, d *dying) error

func chores() map[string]chore {
	return map[string]chore{"open": open, "maintain": maintain, "rebuild": rebuild, "resolve": resolve}
}

// upkeep does a chore, and says when it was done, and when all was.
func (o *order) upkeep(ctx context.Context, s driver.Store, name string, do chore, stopped chan<- struct{}) error {
	d := &dying{Store: s, home: o.home(name), collection: o.Made[name], left: o.Calls, stopped: stopped, chore: true, tables: map[string]*driver.Table{}}
	if err := do(ctx, o, d); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return say(d.home, "over")
}

// A lodger is a member who stays until a time.
type lodger struct {
	Home  string    `repo:"home"`
	ID    string    `repo:"id"`
	Team  string    `repo:"team"`
	Mail  string    `repo:"mail"`
	Note  string    `repo:"note"`
	Until time.Time `repo:",expires"`
}

func (m member) until(t time.Time) *lodger {
	return &lodger{m.Home, m.ID, m.Team, m.Mail, m.Note, t}
}

// repository calls do with a repository on the collection of a chore, by a clock that is ahead.
func repository[T any](ctx context.Context, d *dying, schema repo.Schema, ahead time.Duration, do func(*repo.Repo[T]) error) error {
	store := repo.NewStore(d, &repo.Options{Now: func() time.Time { return time.Now().Add(ahead) }})
	r, err := repo.Open[T](ctx, store, schema)
	if err == nil {
		err = do(r)
	}
	return errors.Join(err, store.Close())
}

// Those of whom Maintain finds something.
func expired(home string) member { return newMember(home, "a", "red", "x", "1") }
func stays(home string) member   { return newMember(home, "b", "red", "w", "1") }
func deleted(home string) member { return newMember(home, "c", "blue", "z", "1") }
func pending(home string) member { return newMember(home, "d", "blue", "v", "1") }

// maintain removes one who has expired, the tombstone of another, and what a writer left
// whose commit never came.
func maintain(ctx context.Context, o *order, d *dying) error {
	schema := schemaOf(d.collection, o.Kind)
	err := repository(ctx, d, schema, 0, func(r *repo.Repo[lodger]) error {
		for _, l := range []*lodger{expired(d.home).until(time.Now().Add(time.Hour)), stays(d.home).until(time.Time{}), deleted(d.home).until(time.Time{})} {
			if err := r.Insert(ctx, l); err != nil {
				return err
			}
		}
		if err := r.Delete(ctx, repo.Key{d.home, "c"}); err != nil {
			return err
		}
		d.losing(true)
		defer d.losing(false)
		if err := r.Insert(ctx, pending(d.home).until(time.Time{})); !errors.Is(err, repo.ErrUnknownOutcome) {
			return fmt.Errorf("an insert that is lost: %v", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return repository(ctx, d, schema, tombstonesAreOld, func(r *repo.Repo[lodger]) error {
		d.arm(true)
		if _, err := r.Maintain(ctx); err != nil {
			return err
		}
		return say(d.home, "done")
	})
}

// rebuild mends indexes of which one record has lost all rows.
func rebuild(ctx context.Context, o *order, d *dying) error {
	return repository(ctx, d, schemaOf(d.collection, o.Kind), 0, func(r *repo.Repo[member]) error {
		for _, m := range []member{expired(d.home), stays(d.home), deleted(d.home)} {
			if err := r.Insert(ctx, &m); err != nil {
				return err
			}
		}
		for _, name := range indexNames {
			if err := d.loseRow(ctx, d.tables[d.collection+"."+name], expired(d.home)); err != nil {
				return err
			}
		}
		d.arm(true)
		for _, name := range indexNames {
			if err := r.Rebuild(ctx, name); err != nil {
				return err
			}
		}
		d.arm(false)
		return say(d.home, "done")
	})
}

// loseRow removes the row of a member from the table of an index, if that is one.
func (d *dying) loseRow(ctx context.Context, t *driver.Table, of member) error {
	if t.Native {
		return nil
	}
	for chunk, err := range d.Store.Walk(ctx, t, "") {
		if err != nil {
			return err
		}
		for i := range chunk.Rows {
			key := chunk.Rows[i].Key
			text := key.Partition + key.Sort
			if !strings.Contains(text, of.Mail) && !strings.Contains(text, of.Home+"#"+of.ID+"#") && !(strings.HasPrefix(text, of.Home+"#") && strings.HasSuffix(text, "#"+of.ID+"#")) {
				continue
			}
			refusal, err := d.Store.Commit(ctx, driver.NewToken(), []driver.Op{{Do: driver.Delete, Table: t, Row: driver.Row{Key: key, Hint: chunk.Rows[i].Hint}}})
			if err != nil || refusal != nil {
				return fmt.Errorf("a row that is to be lost: %v, %w", refusal, err)
			}
			return nil
		}
	}
	return fmt.Errorf("%s has no row of %s", t.Name, of.ID)
}

// resolve asks what became of a write that did not arrive, after which it must not.
func resolve(ctx context.Context, o *order, d *dying) error {
	return repository(ctx, d, schemaOf(d.collection, o.Kind), 0, func(r *repo.Repo[member]) error {
		m := expired(d.home)
		if err := r.Insert(ctx, &m); err != nil {
			return err
		}
		d.losing(true)
		_, err := r.Update(ctx, repo.Key{d.home, "a"}, func(m *member) error { *m = newMember(d.home, "a", "blue", "y", "2"); return nil })
		d.losing(false)
		unknown, ok := errors.AsType[*repo.Error](err)
		if !ok || unknown.Outcome == nil {
			return fmt.Errorf("an update that is lost: %v", err)
		}
		text, err := unknown.Outcome.MarshalText()
		if err != nil {
			return err
		}
		if err := say(d.home, string(text)); err != nil {
			return err
		}
		d.arm(true)
		v, err := r.Resolve(ctx, unknown.Outcome)
		if err != nil || v != repo.NotCommitted {
			return fmt.Errorf("what was lost is resolved as %s, %v", v, err)
		}
		d.arm(false)
		if d.Facts().Uncertain {
			if refusal, err := d.Store.Commit(ctx, d.token, d.lost); refusal == nil || err != nil {
				return fmt.Errorf("what was resolved as not committed comes late, and is not refused: %v", err)
			}
		}
		return say(d.home, "done")
	})
}

// A resident is a member with one more field.
type resident struct {
	Home  string `repo:"home"`
	ID    string `repo:"id"`
	Team  string `repo:"team"`
	Mail  string `repo:"mail"`
	Note  string `repo:"note"`
	Floor int64  `repo:"floor"`
}

// wider returns the schema with one more index, where such can be added to records.
func wider(collection, kind string, f driver.Facts) repo.Schema {
	s := schemaOf(collection, kind)
	if f.OneProcess || kind == "native" {
		s.Indexes = append(s.Indexes, repo.Index{Name: "notes", Partition: []string{"home"}, Sort: []string{"note"}, Kind: kind})
	}
	return s
}

// open opens a collection that is not there, and then with one more field and index.
func open(ctx context.Context, o *order, d *dying) error {
	d.arm(true)
	err := repository(ctx, d, schemaOf(d.collection, o.Kind), 0, func(r *repo.Repo[member]) error {
		d.arm(false)
		m := expired(d.home)
		return r.Insert(ctx, &m)
	})
	if err != nil {
		return err
	}
	if err := say(d.home, "done"); err != nil {
		return err
	}
	store := repo.NewStore(d, nil)
	d.arm(true)
	_, err = repo.Open[resident](ctx, store, wider(d.collection, o.Kind, d.Facts()), repo.WithBuild())
	d.arm(false)
	return errors.Join(err, store.Close())
}
