package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
)

func uniqueRules() []entry {
	list := []entry{
		{Name: "taken", Sentence: "A second record with a unique value is ErrExists, and the error names the index.", Check: takenValue},
		{Name: "nothing of it", Sentence: "A write that is refused for a unique value writes nothing of the record.", Check: nothingOfIt},
		{Name: "every verb", Sentence: "Put, Replace, Update and Patch to a taken value are ErrExists and change nothing.", Check: uniqueVerbs},
		{Name: "lookup", Sentence: "One by a unique value finds its owner, and no one by a value that is free.", Check: uniqueLookup},
		{Name: "freed by change", Sentence: "Changing a unique value frees the old one.", Check: freedByChange},
		{Name: "freed by delete", Sentence: "Deleting a record frees its unique values.", Check: freedByDelete},
		{Name: "absent values", Sentence: "A record in which a field of a unique index is absent claims nothing.", Check: absentUnique},
		{Name: "empty values", Sentence: "A field tagged omitempty that is empty claims nothing, however it came to be empty.", Check: emptyUnique},
		{Name: "own value", Sentence: "A record keeps its value when it is written again.", Check: ownValue},
		{Name: "exact values", Sentence: "Unique values are compared exactly, byte by byte.", Check: exactUnique},
		{Name: "two fields", Sentence: "A unique index of two fields refuses the same pair, and no parts that only join to the same text.", Check: twoFields},
		{Name: "elements of a list", Sentence: "A unique index over a list claims every element.", Check: uniqueElements},
		{Name: "at once", Sentence: "Of inserts at once with the same value one succeeds, and the others leave nothing.", Check: uniqueAtOnce},
		{Name: "moves at once", Sentence: "Of changes at once to one value one succeeds; what was freed can be taken.", Check: uniqueMoves},
		{Name: "passed on", Sentence: "A group may pass a unique value from one record to another.", Needs: tested.ChangesStore, Check: passedOn},
	}
	for i := range list {
		if list[i].Needs == nil {
			list[i].Needs = tested.KeepsRemote
		}
	}
	return list
}

// insertPerson inserts a person with an email, which must succeed.
func insertPerson(ctx context.Context, e *env, id, email string) person {
	p := e.person(id)
	if email != "" {
		p.Email = &email
	}
	e.OK("insert of "+id, e.people(ctx).Insert(ctx, &p))
	return p
}

// ownerOf returns the id of the person with an email, or "".
func ownerOf(ctx context.Context, e *env, email string) string {
	p, err := e.people(ctx).One(ctx, repo.Where("email", email))
	if errors.Is(err, repo.ErrNotFound) {
		return ""
	}
	e.OK("lookup of "+email, err)
	return p.ID
}

// takenBy ends the rule unless err is that of a taken value of an index.
func takenBy(e *env, what string, err error, index string) {
	e.Is(what, err, repo.ErrExists)
	facts, ok := errors.AsType[*repo.Error](err)
	e.That(ok && facts.Index == index, "the error of "+what+" to name the index "+index, "%v", err)
}

func takenValue(ctx context.Context, e *env) {
	mail := e.name("alice@example.com")
	insertPerson(ctx, e, "1", mail)
	second := e.person("2")
	second.Email = &mail
	takenBy(e, "insert with a taken email", e.people(ctx).Insert(ctx, &second), "by_email")
	same := e.person("1")
	err := e.people(ctx).Insert(ctx, &same)
	e.Is("insert of a taken key", err, repo.ErrExists)
	facts, ok := errors.AsType[*repo.Error](err)
	e.That(ok && facts.Index == "", "no index named when the key itself is taken", "%+v", facts)
}

// absentPerson sees that there is no record with an id.
func absentPerson(ctx context.Context, e *env, id string) {
	ok, err := e.people(ctx).Exists(ctx, repo.Key{e.name(id)})
	e.OK("exists", err)
	e.That(!ok, "no record "+id, "one")
}

func nothingOfIt(ctx context.Context, e *env) {
	mail, free := e.name("taken"), e.name("free")
	first := insertPerson(ctx, e, "1", mail)
	second := e.person("2")
	second.Email, second.Aliases, second.Role, second.Joined = &mail, []string{free}, e.name("role"), e.when(1)
	takenBy(e, "insert with a taken email", e.people(ctx).Insert(ctx, &second), "by_email")
	absentPerson(ctx, e, "2")
	for _, q := range []repo.Query{repo.Where("aliases[]", free), repo.Where("role", e.name("role")), repo.All().Range("joined", e.when(0), e.when(9))} {
		rule.Equal(e, "what finds "+q.String(), len(collect(e, "find", e.people(ctx).Find(ctx, q))), 0)
	}
	third := e.person("3")
	third.Aliases = []string{free}
	e.OK("insert with the other value of the refused record", e.people(ctx).Insert(ctx, &third))
	rule.Equal(e, "the owner of the taken value", ownerOf(ctx, e, mail), first.ID)
}

func uniqueVerbs(ctx context.Context, e *env) {
	mail, own := e.name("taken"), e.name("own")
	insertPerson(ctx, e, "1", mail)
	second := insertPerson(ctx, e, "2", own)
	key, people := repo.Key{second.ID}, e.people(ctx)
	change := func(p person) person { p.Email, p.Role, p.Version = &mail, e.name("new"), repo.Version{}; return p }
	put, replace := change(second), change(second)
	_, updated := people.Update(ctx, key, func(p *person) error { *p = change(*p); return nil })
	_, patched := people.Patch(ctx, key, repo.Set("email", mail), repo.Set("role", e.name("new")))
	fresh := change(e.person("3"))
	for what, err := range map[string]error{"put": people.Put(ctx, &put), "replace": people.Replace(ctx, &replace), "update": updated, "patch": patched, "put of a new record": people.Put(ctx, &fresh)} {
		takenBy(e, what+" to a taken email", err, "by_email")
	}
	got, err := people.Get(ctx, key)
	e.OK("get", err)
	rule.Equal(e, "the record", got, second)
	rule.Equal(e, "the owners", []string{ownerOf(ctx, e, mail), ownerOf(ctx, e, own)}, []string{e.name("1"), second.ID})
	rule.Equal(e, "the people of the new role", len(collect(e, "find", people.Find(ctx, repo.Where("role", e.name("new"))))), 0)
}

func uniqueLookup(ctx context.Context, e *env) {
	alice := insertPerson(ctx, e, "1001", e.name("alice@example.com"))
	bob := insertPerson(ctx, e, "1002", e.name("bob@example.com"))
	for _, want := range []person{alice, bob} {
		got, err := e.people(ctx).One(ctx, repo.Where("email", *want.Email))
		e.OK("lookup", err)
		rule.Equal(e, "the owner of "+*want.Email, got, want)
	}
	for _, mail := range []string{"nobody", "alice", "alice@example.comm", "ALICE@example.com", ""} {
		rule.Equal(e, "the owner of "+mail, ownerOf(ctx, e, e.name(mail)), "")
	}
	n, err := e.people(ctx).Count(ctx, repo.Where("email", *bob.Email))
	e.That(err == nil && n == 1, "a count of 1", "%d, %v", n, err)
}

func freedByChange(ctx context.Context, e *env) {
	a, b, people := e.name("a"), e.name("b"), e.people(ctx)
	first := insertPerson(ctx, e, "1", a)
	_, err := people.Update(ctx, repo.Key{first.ID}, func(p *person) error { p.Email = &b; return nil })
	e.OK("update", err)
	rule.Equal(e, "the owners after a change", []string{ownerOf(ctx, e, a), ownerOf(ctx, e, b)}, []string{"", first.ID})
	second := insertPerson(ctx, e, "2", a)
	_, err = people.Patch(ctx, repo.Key{first.ID}, repo.Unset("email"))
	e.OK("patch", err)
	_, err = people.Patch(ctx, repo.Key{second.ID}, repo.Set("email", b))
	e.OK("patch to the value that was freed", err)
	rule.Equal(e, "the owners at last", []string{ownerOf(ctx, e, a), ownerOf(ctx, e, b)}, []string{"", second.ID})
	clean(ctx, e, people)
}

func freedByDelete(ctx context.Context, e *env) {
	mail := e.name("mail")
	for i := range 4 {
		p := insertPerson(ctx, e, fmt.Sprint(i), mail)
		rule.Equal(e, "the owner", ownerOf(ctx, e, mail), p.ID)
		var opts []repo.WriteOption
		if i%2 == 1 {
			opts = append(opts, repo.IfVersion(p.Version))
		}
		e.OK("delete", e.people(ctx).Delete(ctx, repo.Key{p.ID}, opts...))
		rule.Equal(e, "the owner after the delete", ownerOf(ctx, e, mail), "")
	}
	clean(ctx, e, e.people(ctx))
}

func absentUnique(ctx context.Context, e *env) {
	insertPerson(ctx, e, "1", "")
	insertPerson(ctx, e, "2", "")
	last := e.name("last")
	for _, id := range []string{"3", "4"} {
		p := e.person(id)
		p.Last = &last // without First there is no pair
		e.OK("insert", e.people(ctx).Insert(ctx, &p))
	}
	for _, id := range []string{"1", "2", "3", "4"} {
		ok, err := e.people(ctx).Exists(ctx, repo.Key{e.name(id)})
		e.That(err == nil && ok, "the record "+id, "%v %v", ok, err)
	}
	empty := e.Tag // a value that is there
	p := insertPerson(ctx, e, "5", empty)
	rule.Equal(e, "the owner of a value that is there", ownerOf(ctx, e, empty), p.ID)
}

func ownValue(ctx context.Context, e *env) {
	mail, people := e.name("mail"), e.people(ctx)
	p := insertPerson(ctx, e, "1", mail)
	key := repo.Key{p.ID}
	for i := range 3 {
		p.Age++
		e.OK("replace", people.Replace(ctx, &p))
		p.Version = repo.Version{}
		e.OK("put", people.Put(ctx, &p))
		_, err := people.Patch(ctx, key, repo.Set("email", mail), repo.Add("logins", 1))
		e.OK("patch to the same value", err)
		p, err = people.Update(ctx, key, func(p *person) error { p.Role = e.name(fmt.Sprint(i)); return nil })
		e.OK("update", err)
	}
	rule.Equal(e, "the owner", ownerOf(ctx, e, mail), p.ID)
	other := e.person("2")
	other.Email = &mail
	takenBy(e, "insert with that email", people.Insert(ctx, &other), "by_email")
}

func exactUnique(ctx context.Context, e *env) {
	var ids []string
	values := append(rule.Separators(), "", "AB", "ab ", "ab\x00", "é", "e\u0301", "\ud7ff", "\ue000", "\U0010ffff")
	for i, v := range values {
		ids = append(ids, insertPerson(ctx, e, fmt.Sprint(i), e.name(v)).ID)
	}
	for i, v := range values {
		rule.Equal(e, "the owner of "+rule.Brief(v), ownerOf(ctx, e, e.name(v)), ids[i])
	}
}

func twoFields(ctx context.Context, e *env) {
	people := e.people(ctx)
	insert := func(id, last, first string) error {
		p := e.person(id)
		last = e.name(last)
		p.Last, p.First = &last, &first
		return people.Insert(ctx, &p)
	}
	pairs := [][2]string{{"ab", "c"}, {"a", "bc"}, {"abc", ""}, {"a#b", "c"}, {"a", "b#c"}, {"AB", "c"}, {"ab", "C"}}
	for i, pair := range pairs {
		e.OK("insert of "+rule.Brief(pair[:]), insert(fmt.Sprint(i), pair[0], pair[1]))
	}
	for i, pair := range pairs {
		takenBy(e, "insert of "+rule.Brief(pair[:])+" again", insert("again", pair[0], pair[1]), "by_last_first")
		got, err := people.One(ctx, repo.Where("last", e.name(pair[0])).Where("first", pair[1]))
		e.OK("lookup", err)
		rule.Equal(e, "the owner", got.ID, e.name(fmt.Sprint(i)))
	}
	firsts := find(ctx, e, people, repo.Where("last", e.name("a")).Order("first"), func(p person) string { return *p.First })
	rule.Equal(e, "the first names of one last name", firsts, []string{"b#c", "bc"})
}

func uniqueElements(ctx context.Context, e *env) {
	people := e.people(ctx)
	insert := func(id string, aliases ...string) error {
		p := e.person(id)
		for _, a := range aliases {
			p.Aliases = append(p.Aliases, e.name(a))
		}
		return people.Insert(ctx, &p)
	}
	e.OK("insert of two aliases, one of them twice", insert("1", "a", "b", "a"))
	takenBy(e, "insert of an alias that is taken", insert("2", "c", "b"), "by_aliases")
	e.OK("insert of the alias that was not", insert("3", "c"))
	_, err := people.Update(ctx, repo.Key{e.name("1")}, func(p *person) error { p.Aliases = p.Aliases[:1]; return nil })
	e.OK("update", err)
	e.OK("insert of the alias that was freed", insert("4", "b"))
	for alias, id := range map[string]string{"a": "1", "b": "4", "c": "3"} {
		got, err := people.One(ctx, repo.Where("aliases[]", e.name(alias)))
		e.OK("lookup", err)
		rule.Equal(e, "the owner of "+alias, got.ID, e.name(id))
	}
	clean(ctx, e, people)
}

func uniqueAtOnce(ctx context.Context, e *env) {
	for round := range 8 {
		mail := e.name(fmt.Sprint("mail", round))
		won := make([]bool, 6)
		e.Parallel(len(won), func(i int) error {
			p := e.person(fmt.Sprint(round, "-", i))
			p.Email = &mail
			err := e.people(ctx).Insert(ctx, &p)
			won[i] = err == nil
			if err != nil && !errors.Is(err, repo.ErrExists) {
				return err
			}
			return nil
		})
		winners := 0
		for i := range won {
			id := fmt.Sprint(round, "-", i)
			if !won[i] {
				absentPerson(ctx, e, id)
				continue
			}
			winners++
			rule.Equal(e, "the owner of the value", ownerOf(ctx, e, mail), e.name(id))
		}
		rule.Equal(e, "the number of inserts that succeeded", winners, 1)
	}
}

func uniqueMoves(ctx context.Context, e *env) {
	const n = 5
	people := e.people(ctx)
	for i := range n {
		insertPerson(ctx, e, fmt.Sprint(i), e.name(fmt.Sprint("start", i)))
	}
	e.Parallel(n, func(i int) error {
		for round := range 12 {
			mail := e.name(fmt.Sprint("v", (i+round)%3))
			_, err := people.Update(ctx, repo.Key{e.name(fmt.Sprint(i))}, func(p *person) error { p.Email = &mail; return nil })
			if err != nil && !errors.Is(err, repo.ErrExists) {
				return err
			}
		}
		return nil
	})
	owners := map[string]string{}
	for i := range n {
		p, err := people.Get(ctx, repo.Key{e.name(fmt.Sprint(i))})
		e.OK("get", err)
		e.That(owners[*p.Email] == "", "one owner of "+*p.Email, "%s and %s", owners[*p.Email], p.ID)
		owners[*p.Email] = p.ID
		rule.Equal(e, "the owner of "+*p.Email, ownerOf(ctx, e, *p.Email), p.ID)
	}
	clean(ctx, e, people)
}

func passedOn(ctx context.Context, e *env) {
	posts := e.posts(ctx)
	a, b := e.post("a", "IT", 1).with(e.name("one")), e.post("b", "IT", 2).with(e.name("two"))
	insertAll(ctx, e, posts, a, b)
	a.Slug, b.Slug = b.Slug, a.Slug
	g := posts.Store().Group()
	in := posts.In(g)
	in.Replace(&a)
	in.Replace(&b)
	e.OK("group that exchanges two values", g.Commit(ctx))
	rule.Equal(e, "the owners", [][]string{e.ids(ctx, repo.Where("slug", e.name("one"))), e.ids(ctx, repo.Where("slug", e.name("two")))}, [][]string{{"b"}, {"a"}})
	c := e.post("c", "IT", 3).with(e.name("one"))
	g = posts.Store().Group()
	in = posts.In(g)
	in.Delete(e.postKey("b"))
	in.Insert(&c)
	e.OK("group that deletes the owner and inserts another", g.Commit(ctx))
	rule.Equal(e, "the owner", e.ids(ctx, repo.Where("slug", e.name("one"))), []string{"c"})
	d := e.post("d", "IT", 4).with(e.name("two"))
	g = posts.Store().Group()
	in = posts.In(g)
	in.Insert(&d)
	in.Replace(&c)
	takenBy(e, "group with a value that another record has", g.Commit(ctx), "by_slug")
	clean(ctx, e, posts)
}

// A subscriber may have no address.
type subscriber struct {
	ID   string `repo:"id"`
	Mail string `repo:"mail,omitempty"`
}

func emptyUnique(ctx context.Context, e *env) {
	schema := repo.Schema{Collection: "subscribers", Partition: []string{"id"}, Indexes: []repo.Index{{Partition: []string{"mail"}, Unique: true}}}
	all := rule.Shared[subscriber](ctx, e, schema)
	insert := func(id, mail string) error {
		return all.Insert(ctx, &subscriber{ID: e.name(id), Mail: mail})
	}
	for _, id := range []string{"a", "b", "c"} {
		e.OK("insert without an address", insert(id, ""))
	}
	mail := e.name("alice@example.com")
	for i, empty := range []func(key repo.Key) error{
		func(key repo.Key) error { _, err := all.Patch(ctx, key, repo.Set("mail", "")); return err },
		func(key repo.Key) error { return all.Put(ctx, &subscriber{ID: key[0].(string)}) },
		func(key repo.Key) error {
			_, err := all.Update(ctx, key, func(s *subscriber) error { s.Mail = ""; return nil })
			return err
		},
	} {
		id := fmt.Sprint("owner", i)
		e.OK("insert with an address", insert(id, mail))
		e.Is("insert of another with it", insert("other", mail), repo.ErrExists)
		e.OK("emptying", empty(repo.Key{e.name(id)}))
		_, err := all.One(ctx, repo.Where("mail", mail))
		e.Is("who has the address", err, repo.ErrNotFound)
		got, err := all.Get(ctx, repo.Key{e.name(id)})
		e.OK("get", err)
		rule.Equal(e, "the address", got.Mail, "")
	}
}
