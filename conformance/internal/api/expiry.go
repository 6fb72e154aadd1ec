package api

import (
	"context"
	"fmt"
	"time"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
)

func expiryRules() []entry {
	list := []entry{
		{Name: "gone", Sentence: "A record that has expired is found by no verb that reads.", Check: expiredGone},
		{Name: "to the millisecond", Sentence: "A record is there until the millisecond of its expiry.", Check: toTheMillisecond},
		{Name: "never", Sentence: "A record without an expiry never expires.", Check: neverExpires},
		{Name: "kept", Sentence: "The expiry reads as it was written, by the record and by an index that covers it.", Check: expiryKept},
		{Name: "renewed", Sentence: "Renewing a record renews its index rows and claims.", Check: renewed},
		{Name: "renewed by patch", Sentence: "A patch leaves the expiry as it is.", Check: patchKeepsExpiry},
		{Name: "renewed by ExpireAt", Sentence: "ExpireAt in a patch renews a record with its index rows and claims; the zero time lets it last for ever.", Check: renewedByExpireAt},
		{Name: "writes to expired", Sentence: "Replace, Update and Patch of an expired record are ErrNotFound; Insert and Put begin anew.", Check: writesToExpired},
		{Name: "delete of expired", Sentence: "Delete of an expired record succeeds, and with a version it is ErrConflict.", Check: deleteExpired},
		{Name: "expired owner", Sentence: "A unique value whose owner has expired can be taken.", Check: expiredOwner},
		{Name: "expired owner at once", Sentence: "Of those that take a value from an expired owner at once, one succeeds.", Check: expiredOwnerAtOnce},
		{Name: "maintain", Sentence: "Maintain removes expired records with their rows and claims, and no others.", Check: maintain},
	}
	for i := range list {
		list[i].Needs = tested.KeepsRemote
	}
	return append(list, entry{Name: "without indexes", Sentence: "A record that no index names expires like others, and ExpireAt renews it.", Check: expiresAlone})
}

// A desk is the sessions, and the clock that they expire by.
type desk struct {
	*double.Clock
	*env
	sessions *repo.Repo[session]
}

// newDesk returns a repository on the shared sessions with a clock of its own. With
// alone the collection is a new one.
func newDesk(ctx context.Context, e *env, alone bool) *desk {
	schema := sessionSchema()
	if alone {
		schema.Collection = e.FreshName()
	} else {
		rule.Shared[session](ctx, e, schema)
		schema.Collection = e.ID + "_" + schema.Collection
	}
	d := &desk{Clock: &double.Clock{}, env: e}
	d.Ms.Store(1_500_000_000_000)
	r, err := repo.Open[session](ctx, repo.NewStore(e.Store, &repo.Options{Now: d.Now}), schema)
	e.OK("open", err)
	d.sessions = r
	return d
}

// login inserts a session that lasts for a time; 0 is for ever.
func (d *desk) login(ctx context.Context, id string, lasts time.Duration) session {
	token := d.name("token " + id)
	s := session{User: d.name("user"), ID: id, Token: &token, State: d.name("on"), Seen: int64(len(id))}
	if lasts > 0 {
		s.Until = d.Now().Add(lasts)
	}
	d.OK("insert of "+id, d.sessions.Insert(ctx, &s))
	return s
}

func (d *desk) key(id string) repo.Key { return repo.Key{d.name("user"), id} }

// seen returns by which ways of reading a session is found.
func (d *desk) seen(ctx context.Context, id string) []string {
	var ways []string
	note := func(way string, found bool) {
		if found {
			ways = append(ways, way)
		}
	}
	_, err := d.sessions.Get(ctx, d.key(id))
	note("get", err == nil)
	ok, err := d.sessions.Exists(ctx, d.key(id))
	d.env.OK("exists", err)
	note("exists", ok)
	_, found, err := d.sessions.GetMany(ctx, []repo.Key{d.key(id)})
	d.env.OK("get many", err)
	note("get many", found[0])
	one, err := d.sessions.One(ctx, repo.Where("token", d.name("token "+id)))
	note("one", err == nil && one.ID == id)
	for way, q := range map[string]repo.Query{"key": repo.Where("user", d.name("user")), "covering index": repo.Where("state", d.name("on")), "local index": repo.Where("user", d.name("user")).Order("seen")} {
		for _, s := range collect(d.env, "find by "+way, d.sessions.Find(ctx, q)) {
			note(way, s.ID == id)
		}
		for _, k := range collect(d.env, "keys by "+way, d.sessions.Keys(ctx, q)) {
			note("keys by "+way, k[1] == id)
		}
		page, err := d.sessions.Page(ctx, q, "")
		d.env.OK("page by "+way, err)
		for _, s := range page.Items {
			note("page by "+way, s.ID == id)
		}
	}
	for _, s := range collect(d.env, "scan", d.sessions.Scan(ctx, repo.Where("user", d.name("user")))) {
		note("scan", s.ID == id)
	}
	for chunk, err := range d.sessions.Walk(ctx, "") {
		d.env.OK("walk", err)
		for _, s := range chunk.Items {
			note("walk", s.User == d.name("user") && s.ID == id)
		}
	}
	return ways
}

const waysToSee = 15 // that seen knows

// counts returns the counts of the three ways to find sessions.
func (d *desk) counts(ctx context.Context) string {
	var list []int
	for _, q := range []repo.Query{repo.Where("user", d.name("user")), repo.Where("state", d.name("on")), repo.Where("user", d.name("user")).Order("seen")} {
		n, err := d.sessions.Count(ctx, q)
		d.env.OK("count", err)
		list = append(list, n)
	}
	return fmt.Sprint(list)
}

func renewedByExpireAt(ctx context.Context, e *env) {
	d := newDesk(ctx, e, false)
	d.login(ctx, "a", time.Hour)
	d.login(ctx, "b", time.Hour)
	_, err := d.sessions.Patch(ctx, d.key("a"), repo.ExpireAt(d.Now().Add(3*time.Hour)), repo.Set("seen", 7))
	e.OK("patch with ExpireAt", err)
	_, err = d.sessions.Patch(ctx, d.key("b"), repo.ExpireAt(time.Time{}))
	e.OK("patch with the zero ExpireAt", err)
	d.Pass(2 * time.Hour)
	for _, id := range []string{"a", "b"} {
		rule.Equal(e, "the ways to see "+id+", which was renewed", len(d.seen(ctx, id)), waysToSee)
	}
	d.Pass(time.Hour)
	rule.Equal(e, "the ways to see a when it has expired again", d.seen(ctx, "a"), nil)
	_, err = d.sessions.Patch(ctx, d.key("a"), repo.ExpireAt(d.Now().Add(time.Hour)))
	e.Is("patch of what has expired", err, repo.ErrNotFound)
	d.Pass(200 * 365 * 24 * time.Hour)
	rule.Equal(e, "the ways to see b 200 years later", len(d.seen(ctx, "b")), waysToSee)
}

func expiresAlone(ctx context.Context, e *env) {
	d := &desk{Clock: &double.Clock{}, env: e}
	d.Ms.Store(1_500_000_000_000)
	schema := repo.Schema{Collection: e.FreshName(), Partition: []string{"user"}, Sort: []string{"id"}}
	r, err := repo.Open[session](ctx, repo.NewStore(e.Store, &repo.Options{Now: d.Now}), schema)
	e.OK("open", err)
	d.sessions = r
	there := func() string {
		got, err := r.Get(ctx, d.key("a"))
		ok, existsErr := r.Exists(ctx, d.key("a"))
		e.OK("exists", existsErr)
		list := collect(e, "find", r.Find(ctx, repo.Where("user", d.name("user"))))
		return fmt.Sprint(err == nil, ok, len(list), got.Until.UnixMilli()-d.Ms.Load() > 0)
	}
	d.login(ctx, "a", time.Hour)
	rule.Equal(e, "whether it is there: by get, exists, find, and its expiry", there(), "true true 1 true")
	_, err = r.Patch(ctx, d.key("a"), repo.ExpireAt(d.Now().Add(2*time.Hour)))
	e.OK("patch with ExpireAt", err)
	d.Pass(time.Hour)
	rule.Equal(e, "whether it is there when it was renewed", there(), "true true 1 true")
	d.Pass(time.Hour)
	rule.Equal(e, "whether it is there when it has expired", there(), "false false 0 false")
	_, err = r.Patch(ctx, d.key("a"), repo.ExpireAt(d.Now().Add(time.Hour)))
	e.Is("patch of what has expired", err, repo.ErrNotFound)
	d.login(ctx, "a", time.Hour)
	rule.Equal(e, "whether it is there when it was inserted anew", there(), "true true 1 true")
}

func expiredGone(ctx context.Context, e *env) {
	d := newDesk(ctx, e, false)
	d.login(ctx, "short", time.Hour)
	d.login(ctx, "longer", 2*time.Hour)
	for _, id := range []string{"short", "longer"} {
		rule.Equal(e, "the ways to see "+id+" at first", len(d.seen(ctx, id)), waysToSee)
	}
	rule.Equal(e, "the counts at first", d.counts(ctx), "[2 2 2]")
	d.Pass(time.Hour)
	rule.Equal(e, "the ways to see what has expired", d.seen(ctx, "short"), nil)
	rule.Equal(e, "the ways to see what has not", len(d.seen(ctx, "longer")), waysToSee)
	rule.Equal(e, "the counts", d.counts(ctx), "[1 1 1]")
	_, err := d.sessions.Get(ctx, d.key("short"))
	e.Is("get of an expired record", err, repo.ErrNotFound)
}

func toTheMillisecond(ctx context.Context, e *env) {
	d := newDesk(ctx, e, false)
	d.login(ctx, "a", 1001*time.Millisecond)
	d.Pass(1000 * time.Millisecond)
	rule.Equal(e, "the ways to see it a millisecond before", len(d.seen(ctx, "a")), waysToSee)
	d.Pass(time.Millisecond)
	rule.Equal(e, "the ways to see it at its expiry", d.seen(ctx, "a"), nil)
	d.Pass(-time.Millisecond)
	rule.Equal(e, "the ways to see it by a clock that was put back", len(d.seen(ctx, "a")), waysToSee)
}

func neverExpires(ctx context.Context, e *env) {
	d := newDesk(ctx, e, false)
	d.login(ctx, "a", 0)
	d.Pass(200 * 365 * 24 * time.Hour)
	rule.Equal(e, "the ways to see it 200 years later", len(d.seen(ctx, "a")), waysToSee)
	got, err := d.sessions.Get(ctx, d.key("a"))
	e.OK("get", err)
	e.That(got.Until.IsZero(), "no expiry", "%v", got.Until)
}

func expiryKept(ctx context.Context, e *env) {
	d := newDesk(ctx, e, false)
	for i, lasts := range []time.Duration{time.Millisecond, 1234567 * time.Millisecond, 100 * 365 * 24 * time.Hour, 0} {
		want := d.login(ctx, fmt.Sprint(i), lasts)
		got, err := d.sessions.Get(ctx, d.key(want.ID))
		e.OK("get", err)
		rule.Equal(e, "the expiry by get", got.Until, want.Until)
		one, err := d.sessions.One(ctx, repo.Where("token", *want.Token))
		e.OK("one", err)
		rule.Equal(e, "the expiry by a unique value", one.Until, want.Until)
		for _, s := range collect(e, "find", d.sessions.Find(ctx, repo.Where("state", d.name("on")))) {
			if s.ID == want.ID {
				rule.Equal(e, "the record by the index that covers it", s, want)
			}
		}
	}
}

func renewed(ctx context.Context, e *env) {
	d := newDesk(ctx, e, false)
	writes := map[string]func(s session) error{
		"replace": func(s session) error { return d.sessions.Replace(ctx, &s) },
		"put":     func(s session) error { s.Version = repo.Version{}; return d.sessions.Put(ctx, &s) },
		"update": func(s session) error {
			_, err := d.sessions.Update(ctx, d.key(s.ID), func(old *session) error { old.Until = s.Until; return nil })
			return err
		},
	}
	for verb, write := range writes {
		s := d.login(ctx, verb, time.Hour)
		d.Pass(30 * time.Minute)
		s.Until = d.Now().Add(time.Hour)
		e.OK(verb, write(s))
		d.Pass(45 * time.Minute)
		rule.Equal(e, "the ways to see what was renewed by "+verb, len(d.seen(ctx, verb)), waysToSee)
		d.Pass(time.Hour)
		rule.Equal(e, "the ways to see it later", d.seen(ctx, verb), nil)
	}
	s := d.login(ctx, "forever", time.Hour)
	s.Until = time.Time{}
	e.OK("replace", d.sessions.Replace(ctx, &s))
	d.Pass(10000 * time.Hour)
	rule.Equal(e, "the ways to see what lasts for ever now", len(d.seen(ctx, "forever")), waysToSee)
}

func patchKeepsExpiry(ctx context.Context, e *env) {
	d := newDesk(ctx, e, false)
	d.login(ctx, "a", time.Hour)
	for _, edit := range []repo.Edit{repo.Set("state", d.name("on")), repo.Add("seen", 5), repo.Set("token", d.name("token a"))} {
		_, err := d.sessions.Patch(ctx, d.key("a"), edit)
		e.OK("patch", err)
		rule.Equal(e, "the ways to see it", len(d.seen(ctx, "a")), waysToSee)
	}
	d.Pass(time.Hour)
	rule.Equal(e, "the ways to see it after its expiry", d.seen(ctx, "a"), nil)
}

func writesToExpired(ctx context.Context, e *env) {
	d := newDesk(ctx, e, false)
	old := d.login(ctx, "a", time.Hour)
	d.Pass(time.Hour)
	renew := old
	renew.Until = d.Now().Add(time.Hour)
	e.Is("replace of an expired record", d.sessions.Replace(ctx, &renew), repo.ErrNotFound)
	_, err := d.sessions.Update(ctx, d.key("a"), func(*session) error { return nil })
	e.Is("update of an expired record", err, repo.ErrNotFound)
	_, err = d.sessions.Patch(ctx, d.key("a"), repo.Set("state", d.name("on")))
	e.Is("patch of an expired record", err, repo.ErrNotFound)
	e.Is("put with the version of an expired record", d.sessions.Put(ctx, &renew), repo.ErrNotFound)
	rule.Equal(e, "the ways to see it", d.seen(ctx, "a"), nil)
	renew.Version = repo.Version{}
	e.OK("insert over an expired record", d.sessions.Insert(ctx, &renew))
	e.That(renew.Version != old.Version, "another version", "the same")
	rule.Equal(e, "the ways to see the new one", len(d.seen(ctx, "a")), waysToSee)
	d.Pass(time.Hour)
	renew.Version, renew.Until = repo.Version{}, time.Time{}
	e.OK("put over an expired record", d.sessions.Put(ctx, &renew))
	rule.Equal(e, "the ways to see the third", len(d.seen(ctx, "a")), waysToSee)
}

func deleteExpired(ctx context.Context, e *env) {
	d := newDesk(ctx, e, false)
	s := d.login(ctx, "a", time.Hour)
	d.Pass(time.Hour)
	e.Is("delete of an expired record with its version", d.sessions.Delete(ctx, d.key("a"), repo.IfVersion(s.Version)), repo.ErrConflict)
	e.OK("delete of an expired record", d.sessions.Delete(ctx, d.key("a")))
	d.Pass(-time.Hour)
	rule.Equal(e, "the ways to see it, the clock put back", d.seen(ctx, "a"), nil)
	rule.Equal(e, "the counts", d.counts(ctx), "[0 0 0]")
}

func expiredOwner(ctx context.Context, e *env) {
	d := newDesk(ctx, e, false)
	old := d.login(ctx, "old", time.Hour)
	next := session{User: d.name("user"), ID: "next", Token: old.Token, State: d.name("on")}
	e.Is("insert with a value whose owner lives", d.sessions.Insert(ctx, &next), repo.ErrExists)
	d.Pass(time.Hour)
	e.OK("insert with a value whose owner has expired", d.sessions.Insert(ctx, &next))
	got, err := d.sessions.One(ctx, repo.Where("token", *old.Token))
	e.OK("one", err)
	rule.Equal(e, "the owner", got.ID, "next")
	d.Pass(-time.Hour)
	rule.Equal(e, "the ways to see the old owner, the clock put back", d.seen(ctx, "old"), nil)
}

func expiredOwnerAtOnce(ctx context.Context, e *env) {
	d := newDesk(ctx, e, false)
	for round := range 5 {
		old := d.login(ctx, fmt.Sprint("old", round), time.Hour)
		d.Pass(time.Hour)
		won := make([]bool, 5)
		e.Parallel(len(won), func(i int) error {
			s := session{User: d.name(fmt.Sprint("user", i)), ID: old.ID, Token: old.Token, State: d.name("on")}
			won[i] = d.sessions.Insert(ctx, &s) == nil
			return nil
		})
		n := 0
		for i := range won {
			if won[i] {
				n++
				got, err := d.sessions.One(ctx, repo.Where("token", *old.Token))
				e.OK("one", err)
				rule.Equal(e, "the owner", got.User, d.name(fmt.Sprint("user", i)))
			}
		}
		rule.Equal(e, "how many took the value", n, 1)
	}
}

func maintain(ctx context.Context, e *env) {
	d := newDesk(ctx, e, true)
	for i := range 30 {
		d.login(ctx, fmt.Sprintf("%02d", i), []time.Duration{time.Hour, 0, 3 * time.Hour}[i%3])
	}
	done, err := d.sessions.Maintain(ctx)
	e.OK("maintain", err)
	rule.Equal(e, "what there was to remove at first", done, repo.Reclaimed{})
	d.Pass(2 * time.Hour)
	done, err = d.sessions.Maintain(ctx)
	e.OK("maintain", err)
	rule.Equal(e, "the number of expired records removed", done.Expired, 10)
	d.Pass(-2 * time.Hour)
	rule.Equal(e, "the counts, the clock put back", d.counts(ctx), "[20 20 20]")
	reports, err := d.sessions.Verify(ctx)
	e.OK("verify", err)
	for _, rep := range reports {
		rule.Equal(e, "the rows of "+rep.Index+" that are left", fmt.Sprint(rep.Rows-rep.Garbage, rep.Missing, rep.Stale), "20 0 0")
	}
	done, err = d.sessions.Maintain(ctx)
	e.That(err == nil && done.Expired == 0, "nothing more to remove", "%+v, %v", done, err)
}
