package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
)

// patternRules are fixed examples of data modelling for stores without joins:
// their data, and the answers that they must give.
func patternRules() []entry {
	return []entry{
		{Name: "key and value", Sentence: "A1: a value under a key is put if absent, read, compared and set, and deleted.", Check: keyAndValue},
		{Name: "user and password", Sentence: "A2: of user:1000 the fields username, password and age are read, and one is changed.", Check: columnFamily},
		{Name: "scores", Sentence: "A3: one and uno at 1, two at 2 and three at 3 come in the order of score and name.", Needs: tested.KeepsLocal, Check: scores},
		{Name: "documents", Sentence: "A4: the user Albert, with address and friends, is one document; a part of it is written alone.", Check: documents},
		{Name: "addresses", Sentence: "B2: Kate Monster has her two addresses nested in her record.", Check: addresses},
		{Name: "music by category", Sentence: "C2: the music of a category, with name and artist, is read from its index table.", Needs: tested.KeepsRemote, Check: musicByCategory},
		{Name: "jobs", Sentence: "C4: IT selects the jobs under IT, IT:data those of data, whatever texts the parts hold.", Needs: tested.KeepsLocal, Check: jobTree},
		{Name: "categories of a user", Sentence: "A3: the categories of user:1000, Daily, IT and Life, and not those of user:10001.", Check: categoriesOfUser},
		{Name: "blog by category", Sentence: "C5: of user:1000 the category IT has P0001 and P0003.", Needs: tested.KeepsRemote, Check: blogByCategory},
		{Name: "blog between dates", Sentence: "E7: of user:1000 P0001 and P0002 were posted from 1521080000 to 1521080400.", Needs: tested.KeepsRemote, Check: blogBetween},
		{Name: "blog with names", Sentence: "C2: the posts of user:1000 come newest first, with the name of their category.", Needs: tested.KeepsRemote, Check: blogNewest},
		{Name: "attachments and comments", Sentence: "C1: a post and its nested attachments change together; comments come newest first.", Needs: tested.KeepsRemote, Check: attachments},
		{Name: "e-mail to user", Sentence: "C12: alice@example.com finds 1001; a change frees the address.", Needs: tested.KeepsRemote, Check: emailToUser},
		{Name: "login counter", Sentence: "E2: fields of user:1001 are read, several at once, and loginCount is incremented.", Check: loginCounter},
		{Name: "user for a day", Sentence: "E3: user:1001 lasts for 24 hours, and her index rows with her.", Needs: tested.KeepsRemote, Check: userForADay},
		{Name: "timeline", Sentence: "E5: the timeline is paged 20 posts at a time, newest first, while posts come and go.", Needs: tested.KeepsRemote, Check: timeline},
		{Name: "ages", Sentence: "E7: the users aged 20 to 30, and those who joined between two days.", Needs: tested.KeepsRemote, Check: ages},
		{Name: "orders of a user", Sentence: "C2: user:1001 has the orders 5001, 5002 and 5003, the newest first.", Needs: tested.KeepsLocal, Check: ordersOfUser},
		{Name: "hosts and messages", Sentence: "C2: the host with the address 127.66.66.66 is found, and its newest 5,000 messages of more.", Needs: tested.KeepsLocal, Check: hostMessages},
		{Name: "hard drive", Sentence: "Equality over a list: a hard drive is found in hard drives, memory, and computer parts.", Needs: tested.KeepsRemote, Check: hardDrive},
		{Name: "students and classes", Sentence: "Equality on either side of a link: the classes of a student, the students of a class.", Needs: tested.KeepsRemote, Check: studentsAndClasses},
		{Name: "words", Sentence: "Equality over a list: amazon, nosql and riak are found in the pages that hold them.", Needs: tested.KeepsRemote, Check: words},
		{Name: "tags of users", Sentence: "Equality over a list: kotlin has the users 1001, 1002 and 1003, redis 1001 and 1004.", Needs: tested.KeepsRemote, Check: tagsOfUsers},
		{Name: "smoke shifter", Sentence: "B3: the parts of the left-handed smoke shifter are read at once by the ids that it holds.", Needs: tested.KeepsRemote, Check: smokeShifter},
		{Name: "keys with colons", Sentence: "C4: order:2024-03:user:1001 and its likes are keys whose parts hold any text.", Check: colonKeys},
	}
}

func keyAndValue(ctx context.Context, e *env) {
	things, key := e.things(ctx), repo.Key{e.name("session:abc123:data")}
	v := thing{"id": key[0], "value": "Hello JSON!"}
	e.OK("put if absent", things.Insert(ctx, &v))
	e.Is("put if absent again", things.Insert(ctx, &thing{"id": key[0], "value": "other"}), repo.ErrExists)
	got, err := things.Get(ctx, key)
	e.OK("get", err)
	rule.Equal(e, "the value", got["value"], any("Hello JSON!"))
	next := thing{"id": key[0], "value": int64(42)}
	e.OK("compare and set", things.Put(ctx, &next, repo.IfVersion(got["_version"].(repo.Version))))
	e.Is("compare and set with the old version", things.Put(ctx, &thing{"id": key[0]}, repo.IfVersion(got["_version"].(repo.Version))), repo.ErrConflict)
	got, err = things.Get(ctx, key)
	e.OK("get", err)
	rule.Equal(e, "the value", got["value"], any(int64(42)))
	e.OK("delete", things.Delete(ctx, key))
	_, err = things.Get(ctx, key)
	e.Is("get", err, repo.ErrNotFound)
}

func columnFamily(ctx context.Context, e *env) {
	things, key := e.things(ctx), repo.Key{e.name("user:1000")}
	u := thing{"id": key[0], "username": "antirez", "password": "P1pp0", "age": int64(34)}
	e.OK("insert", things.Insert(ctx, &u))
	_, err := things.Patch(ctx, key, repo.Set("password", "12345"))
	e.OK("patch", err)
	got, err := things.Get(ctx, key)
	e.OK("get", err)
	rule.Equal(e, "the fields", []any{got["username"], got["password"], got["age"]}, []any{"antirez", "12345", int64(34)})
	_, err = things.Patch(ctx, key, repo.Unset("age"), repo.Set("mail", "a@b"))
	e.OK("patch", err)
	got, err = things.Get(ctx, key)
	e.OK("get", err)
	delete(got, "_version")
	rule.Equal(e, "the fields", got, thing{"id": key[0], "username": "antirez", "password": "12345", "mail": "a@b"})
}

func scores(ctx context.Context, e *env) {
	for name, score := range map[string]float64{"uno": 1, "one": 1, "three": 3, "two": 2} {
		insertAll(ctx, e, e.samples(ctx), sample{Scope: e.name("myzset"), ID: name, Ratio: score})
	}
	name := func(s sample) string { return fmt.Sprint(s.ID, " ", s.Ratio) }
	q := repo.Where("scope", e.name("myzset"))
	rule.Equal(e, "the members by score", find(ctx, e, e.samples(ctx), q.Order("ratio"), name), []string{"one 1", "uno 1", "two 2", "three 3"})
	rule.Equal(e, "those from 2 up, the highest first", find(ctx, e, e.samples(ctx), q.Range("ratio", 2, nil).Order("-ratio"), name), []string{"three 3", "two 2"})
}

func documents(ctx context.Context, e *env) {
	things, key := e.things(ctx), repo.Key{e.name("user")}
	albert := thing{"id": key[0], "name": "Albert", "address": map[string]any{"state": "California", "nationality": "USA"}, "friendship": []any{"John", "Geoff"}}
	e.OK("insert", things.Insert(ctx, &albert))
	got, err := things.Get(ctx, key)
	e.OK("get", err)
	rule.Equal(e, "the document", got, albert)
	_, err = things.Patch(ctx, key, repo.Set("friendship", []string{"John"}))
	e.OK("patch", err)
	got, err = things.Get(ctx, key)
	e.OK("get", err)
	rule.Equal(e, "the friends", got["friendship"], any([]any{"John"}))
	rule.Equal(e, "the address", got["address"], albert["address"])
	_, err = things.Patch(ctx, key, repo.Set("address.state", "Nevada"), repo.Unset("address.nationality"))
	e.OK("patch of a path", err)
	got, err = things.Get(ctx, key)
	e.OK("get", err)
	rule.Equal(e, "the address", got["address"], any(map[string]any{"state": "Nevada"}))
}

func addresses(ctx context.Context, e *env) {
	kate := e.item("Kate Monster")
	kate.Parts = []part{
		{Name: "123 Sesame St", Props: map[string]any{"city": "Anytown", "cc": "USA"}},
		{Name: "123 Avenue Q", Props: map[string]any{"city": "New York", "cc": "USA"}},
	}
	kate.Extra = map[string]any{"ssn": "123-456-7890"}
	kate = e.insertItem(ctx, kate)
	rule.Equal(e, "Kate Monster", e.getItem(ctx, kate.ID), kate)
	moved, err := e.items(ctx).Update(ctx, e.itemKey(kate.ID), func(it *item) error { it.Parts = it.Parts[1:]; return nil })
	e.OK("update", err)
	rule.Equal(e, "her addresses", e.getItem(ctx, kate.ID).Parts, kate.Parts[1:])
	rule.Equal(e, "what update returned", moved.Parts, kate.Parts[1:])
}

func musicByCategory(ctx context.Context, e *env) {
	products := e.products(ctx)
	for i, m := range [][3]string{{"Yesterday", "Beatles", "pop"}, {"So What", "Davis", "jazz"}, {"Blue in Green", "Davis", "jazz"}} {
		insertAll(ctx, e, products, product{ID: e.name(fmt.Sprint(i)), Name: m[0], Category: m[1], Categories: []string{e.name(m[2])}})
	}
	type entry struct {
		Name   string `repo:"name"`
		Artist string `repo:"category"`
	}
	view, err := repo.ViewOf[entry](products)
	e.OK("view", err)
	q := repo.Where("categories[]", e.name("jazz")).Order("name")
	rule.Equal(e, "the jazz", collect(e, "find", view.Find(ctx, q)), []entry{{"Blue in Green", "Davis"}, {"So What", "Davis"}})
	plan, err := view.Explain(q)
	deep := 1
	if tested.ChangesStore(e.Facts) != "" && !tested.KeepsNative(e.Facts) {
		deep = 2 // the index lies in another partition than its records
	}
	e.That(err == nil && plan.Covered == (deep == 1) && plan.Depth == deep, "as few reads of the index table as the commit scope of the store allows", "%s, %v", plan, err)
}

func jobTree(ctx context.Context, e *env) {
	insertJobs(ctx, e, "IT|data|data_engineer", "IT|data|data_scientist", "IT|mobile", "IT|web|frontend", "IT|web|server", "marketing")
	rule.Equal(e, "the jobs under IT", jobTexts(ctx, e, repo.Where("category", "IT")), []string{"IT|data|data_engineer", "IT|data|data_scientist", "IT|mobile", "IT|web|frontend", "IT|web|server"})
	rule.Equal(e, "the jobs under IT:data", jobTexts(ctx, e, repo.Where("category", "IT").Where("sub", "data")), []string{"IT|data|data_engineer", "IT|data|data_scientist"})
	rule.Equal(e, "the job IT:web:server", jobTexts(ctx, e, repo.Where("category", "IT").Where("sub", "web").Where("position", "server")), []string{"IT|web|server"})
	rule.Equal(e, "the jobs under marketing", jobTexts(ctx, e, repo.Where("category", "marketing")), []string{"marketing"})
	insertJobs(ctx, e, "IT:data|x|y", "IT|data:data|engineer")
	rule.Equal(e, "the jobs under IT:data with colons in other parts", jobTexts(ctx, e, repo.Where("category", "IT").Where("sub", "data")), []string{"IT|data|data_engineer", "IT|data|data_scientist"})
	rule.Equal(e, "the number of jobs under IT", len(jobTexts(ctx, e, repo.Where("category", "IT"))), 6)
}

func emailToUser(ctx context.Context, e *env) {
	alice := insertPerson(ctx, e, "1001", e.name("alice@example.com"))
	insertPerson(ctx, e, "1002", e.name("bob@example.com"))
	rule.Equal(e, "the user of alice@example.com", ownerOf(ctx, e, e.name("alice@example.com")), alice.ID)
	mail := e.name("alice@new.example.com")
	_, err := e.people(ctx).Update(ctx, repo.Key{alice.ID}, func(p *person) error { p.Email = &mail; return nil })
	e.OK("update", err)
	rule.Equal(e, "the users of the old and the new address", []string{ownerOf(ctx, e, e.name("alice@example.com")), ownerOf(ctx, e, mail)}, []string{"", alice.ID})
	insertPerson(ctx, e, "1003", e.name("alice@example.com"))
}

func loginCounter(ctx context.Context, e *env) {
	things, key := e.things(ctx), repo.Key{e.name("user:1001")}
	u := thing{"id": key[0], "name": "Alice", "email": "alice@example.com", "age": 30, "role": "ADMIN"}
	e.OK("insert", things.Insert(ctx, &u))
	for range 3 {
		_, err := things.Patch(ctx, key, repo.Add("loginCount", 1))
		e.OK("increment", err)
		_, err = things.PatchBlind(ctx, key, repo.Add("loginCount", 2))
		e.OK("increment without a look", err)
	}
	got, err := things.Get(ctx, key)
	e.OK("get", err)
	rule.Equal(e, "email, name, role and logins", []any{got["email"], got["name"], got["role"], got["loginCount"]}, []any{"alice@example.com", "Alice", "ADMIN", int64(9)})
}

func userForADay(ctx context.Context, e *env) {
	d := newDesk(ctx, e, false)
	alice := d.login(ctx, "user:1001", 24*time.Hour)
	d.Pass(23 * time.Hour)
	rule.Equal(e, "the ways to see her after 23 hours", len(d.seen(ctx, alice.ID)), waysToSee)
	alice.Until = d.Now().Add(24 * time.Hour)
	e.OK("replace", d.sessions.Replace(ctx, &alice))
	d.Pass(23 * time.Hour)
	rule.Equal(e, "the ways to see her after she was renewed", len(d.seen(ctx, alice.ID)), waysToSee)
	d.Pass(time.Hour)
	rule.Equal(e, "the ways to see her after 24 hours more", d.seen(ctx, alice.ID), nil)
	rule.Equal(e, "the counts", d.counts(ctx), "[0 0 0]")
}

func ages(ctx context.Context, e *env) {
	people := e.people(ctx)
	for i := range 20 {
		p := e.person(fmt.Sprintf("%02d", i))
		p.Age, p.Joined = e.Base+int64(15+i), e.when(i*86400/1000)
		insertAll(ctx, e, people, p)
	}
	id := func(p person) string { return strings.TrimPrefix(p.ID, e.Tag+".") }
	rule.Equal(e, "the users from 20 to 23, youngest first", find(ctx, e, people, repo.All().Range("age", e.Base+20, e.Base+23).Order("age"), id), []string{"05", "06", "07"})
	rule.Equal(e, "the oldest two up to 30", find(ctx, e, people, repo.All().Range("age", e.Base+20, e.Base+31).Order("-age").Limit(2), id), []string{"15", "14"})
	rule.Equal(e, "the users of a role from 20 to 23", find(ctx, e, people, repo.Where("role", e.name("USER")).Range("age", e.Base+20, e.Base+23), id), []string{"05", "06", "07"})
	joined := repo.All().Range("joined", e.when(3*86), e.when(6*86))
	rule.Equal(e, "those who joined between two days, newest first", find(ctx, e, people, joined.Order("-joined"), id), []string{"05", "04", "03"})
	n, err := people.Count(ctx, joined)
	e.That(err == nil && n == 3, "a count of 3", "%d, %v", n, err)
}

func ordersOfUser(ctx context.Context, e *env) {
	for i, order := range []string{"5001", "5002", "5003"} {
		insertAll(ctx, e, e.messages(ctx), message{Host: e.name("user:1001:orders"), Time: e.when(i), Level: []string{"PAID", "OPEN"}[i%2], Text: order})
	}
	q := repo.Where("host", e.name("user:1001:orders"))
	rule.Equal(e, "the orders, newest first", messageTexts(ctx, e, q), []string{"5003", "5002", "5001"})
	rule.Equal(e, "the newest two", messageTexts(ctx, e, q.Limit(2)), []string{"5003", "5002"})
	rule.Equal(e, "those that are paid", messageTexts(ctx, e, q.Where("level", "PAID")), []string{"5003", "5001"})
}

func hostMessages(ctx context.Context, e *env) {
	const n, newest = 5200, 5000
	host := e.item("goofy.example.com")
	host.Extra = map[string]any{"ipaddr": "127.66.66.66"}
	e.insertItem(ctx, host)
	found := collect(e, "scan", e.items(ctx).Scan(ctx, repo.Where("shelf", host.Shelf)))
	e.That(len(found) == 1 && found[0].Extra["ipaddr"] == "127.66.66.66", "the host with that address", "%s", rule.Brief(found))
	list := make([]message, n)
	for i := range list {
		list[i] = message{Host: e.name(found[0].ID), Time: e.when(i), ID: int64(i), Text: fmt.Sprint("cpu is on fire! ", i)}
	}
	_, err := e.messages(ctx).InsertAll(ctx, double.Sequence(list, nil))
	e.OK("insert all", err)
	got := messageTexts(ctx, e, repo.Where("host", e.name(found[0].ID)).Order("-time").Limit(newest))
	rule.Equal(e, "the number of messages", len(got), newest)
	rule.Equal(e, "the newest and the oldest of them", []string{got[0], got[newest-1]}, []string{list[n-1].Text, list[n-newest].Text})
}

func hardDrive(ctx context.Context, e *env) {
	products := e.products(ctx)
	in := func(names ...string) []string {
		for i := range names {
			names[i] = e.name(names[i])
		}
		return names
	}
	insertAll(ctx, e, products,
		product{ID: e.name("1"), Name: "hard drive 1 TB", Category: e.name("hard drives"), Categories: in("hard drives", "memory", "computer parts", "electronics")},
		product{ID: e.name("2"), Name: "RAM", Category: e.name("RAM"), Categories: in("RAM", "memory", "computer parts", "electronics")},
		product{ID: e.name("3"), Name: "fan", Category: e.name("fans"), Categories: in("fans", "computer parts", "electronics")})
	name := func(p product) string { return p.Name }
	for category, want := range map[string][]string{"hard drives": {"hard drive 1 TB"}, "memory": {"RAM", "hard drive 1 TB"}, "computer parts": {"RAM", "fan", "hard drive 1 TB"}, "books": {}} {
		rule.Equal(e, "the products under "+category, find(ctx, e, products, repo.Where("categories[]", e.name(category)).Order("name"), name), want)
	}
	clean(ctx, e, products)
}

func studentsAndClasses(ctx context.Context, e *env) {
	links := e.links(ctx)
	for _, l := range []string{"John Doe|physics", "John Doe|trigonometry", "Jane|physics", "Jane|women in literature"} {
		student, class, _ := strings.Cut(l, "|")
		insertAll(ctx, e, links, link{Student: e.name(student), Class: e.name(class), Credits: 3})
	}
	class := func(l link) string { return strings.TrimPrefix(l.Class, e.Tag+".") }
	student := func(l link) string { return strings.TrimPrefix(l.Student, e.Tag+".") }
	rule.Equal(e, "the classes of John Doe", find(ctx, e, links, repo.Where("student", e.name("John Doe")), class), []string{"physics", "trigonometry"})
	rule.Equal(e, "the students of physics", find(ctx, e, links, repo.Where("class", e.name("physics")), student), []string{"Jane", "John Doe"})
	e.OK("delete", links.Delete(ctx, repo.Key{e.name("Jane"), e.name("physics")}))
	rule.Equal(e, "the students of physics", find(ctx, e, links, repo.Where("class", e.name("physics")), student), []string{"John Doe"})
	_, err := links.Patch(ctx, repo.Key{e.name("John Doe"), e.name("physics")}, repo.Set("credits", 4))
	e.OK("patch", err)
	got, err := links.One(ctx, repo.Where("class", e.name("physics")))
	e.That(err == nil && got.Credits == 4, "physics with 4 credits", "%+v, %v", got, err)
	clean(ctx, e, links)
}

func words(ctx context.Context, e *env) {
	products := e.products(ctx)
	for url, list := range map[string]string{
		"bcho.tistory.com/nosql": "nosql cassandra riak", "bcho.tistory.com/cloud": "amazon azure google", "facebook.com/group/serverside": "amazon google riak",
		"highscalability.com/bigdata": "nosql riak", "www.basho.com/riak": "riak",
	} {
		p := product{ID: e.name(url), Name: url}
		for word := range strings.FieldsSeq(list) {
			p.Categories = append(p.Categories, e.name(word))
		}
		insertAll(ctx, e, products, p)
	}
	name := func(p product) string { return p.Name }
	for word, want := range map[string][]string{
		"amazon": {"bcho.tistory.com/cloud", "facebook.com/group/serverside"},
		"nosql":  {"bcho.tistory.com/nosql", "highscalability.com/bigdata"},
		"riak":   {"bcho.tistory.com/nosql", "facebook.com/group/serverside", "highscalability.com/bigdata", "www.basho.com/riak"},
	} {
		rule.Equal(e, "the pages with "+word, find(ctx, e, products, repo.Where("categories[]", e.name(word)), name), want)
	}
}

func tagsOfUsers(ctx context.Context, e *env) {
	products := e.products(ctx)
	for id, tags := range map[string][]string{"1001": {"kotlin", "redis", "spring"}, "1002": {"kotlin"}, "1003": {"kotlin"}, "1004": {"redis"}} {
		p := product{ID: e.name(id), Name: id}
		for _, tag := range tags {
			p.Categories = append(p.Categories, e.name(tag))
		}
		insertAll(ctx, e, products, p)
	}
	name := func(p product) string { return p.Name }
	kotlin := find(ctx, e, products, repo.Where("categories[]", e.name("kotlin")), name)
	redis := find(ctx, e, products, repo.Where("categories[]", e.name("redis")), name)
	rule.Equal(e, "the users of kotlin and of redis", [][]string{kotlin, redis}, [][]string{{"1001", "1002", "1003"}, {"1001", "1004"}})
	e.That(slices.Contains(kotlin, "1001") && slices.Contains(redis, "1001"), "1001 in both", "%v %v", kotlin, redis)
}

func smokeShifter(ctx context.Context, e *env) {
	products := e.products(ctx)
	var keys []repo.Key
	shifter := product{ID: e.name("1234"), Name: "left-handed smoke shifter", Category: "Acme Corp"}
	for _, p := range [][2]string{{"AAAA", "#4 grommet"}, {"F17C", "fan blade assembly"}, {"D2AA", "power switch"}} {
		insertAll(ctx, e, products, product{ID: e.name(p[0]), Name: p[1]})
		shifter.Parts = append(shifter.Parts, e.name(p[0]))
	}
	insertAll(ctx, e, products, shifter)
	got, err := products.Get(ctx, repo.Key{e.name("1234")})
	e.OK("get", err)
	for _, id := range got.Parts {
		keys = append(keys, repo.Key{id})
	}
	parts, found, err := products.GetMany(ctx, keys)
	e.OK("get many", err)
	var names []string
	for _, p := range parts {
		names = append(names, p.Name)
	}
	rule.Equal(e, "its parts", append(names, fmt.Sprint(found)), []string{"#4 grommet", "fan blade assembly", "power switch", "[true true true]"})
}

func colonKeys(ctx context.Context, e *env) {
	keys := []string{"user:1001", "user:1001:profile", "user:1001:sessions", "order:2024-03:user:1001", "session:abc123:data", "cache:user:1001", "lock:order:5001", "queue:email", "rate:api:user:1001", "stats:dau:2024-03-15", "{user:1001}:cart"}
	for _, k := range keys {
		v := thing{"id": e.name(k), "value": k}
		e.OK("insert", e.things(ctx).Insert(ctx, &v))
	}
	for _, k := range keys {
		got, err := e.things(ctx).Get(ctx, repo.Key{e.name(k)})
		e.That(err == nil && got["value"] == k, "the value "+k, "%v, %v", got["value"], err)
	}
	_, err := e.things(ctx).Get(ctx, repo.Key{e.name("user")})
	e.That(errors.Is(err, repo.ErrNotFound), "nothing under the beginning of a key", "%v", err)
}
