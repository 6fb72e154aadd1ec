package random

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/record"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A side is one of the two stores that are compared: it does operations and says
// what came of them, in words that do not depend on the store.
type side interface {
	do(ctx context.Context, op operation) string
	passesOn(ctx context.Context, op operation) bool
	clear(ctx context.Context) error
}

// A typed is a side whose records are of a type.
type typed[T any] struct {
	name     string // of the collection, another one on each side
	repo     *repo.Repo[T]
	view     *repo.View[record.Glance]
	versions map[string][]repo.Version // of each key, as the caller has seen them
	looks    bool                      // answers are compared with a look at all records
	to       func(record.Entry) T
	from     func(T) record.Entry
}

// A lasting is an entry that cannot expire. Package repo reads and writes such
// records in ways of their own.
type lasting struct {
	Part    string         `repo:"part"`
	ID      int64          `repo:"id"`
	Name    *string        `repo:"name"`
	Kind    string         `repo:"kind"`
	Score   int64          `repo:"score"`
	Tags    []string       `repo:"tags"`
	Note    string         `repo:"note"`
	Place   record.Place   `repo:"place"`
	Extra   map[string]any `repo:",extra"`
	Version repo.Version   `repo:",version"`
}

func toLasting(e record.Entry) lasting {
	return lasting{e.Part, e.ID, e.Name, e.Kind, e.Score, e.Tags, e.Note, e.Place, e.Extra, e.Version}
}

func fromLasting(l lasting) record.Entry {
	return record.Entry{Part: l.Part, ID: l.ID, Name: l.Name, Kind: l.Kind, Score: l.Score, Tags: l.Tags, Note: l.Note, Place: l.Place, Extra: l.Extra, Version: l.Version}
}

func same(e record.Entry) record.Entry { return e }

// openSide opens a collection of entries that may expire, or not.
func openSide(ctx context.Context, store *repo.Store, name string, f driver.Facts, expires bool) (side, error) {
	if expires {
		return openTyped(ctx, store, name, record.Schema(f, true), same, same)
	}
	return openTyped(ctx, store, name, record.Schema(f, false), toLasting, fromLasting)
}

func openTyped[T any](ctx context.Context, store *repo.Store, name string, schema repo.Schema, to func(record.Entry) T, from func(T) record.Entry) (side, error) {
	schema.Collection = name
	r, err := repo.Open[T](ctx, store, schema)
	if err != nil {
		return nil, err
	}
	view, err := repo.ViewOf[record.Glance](r)
	return &typed[T]{name: name, looks: name == referenceName, repo: r, view: view, versions: map[string][]repo.Version{}, to: to, from: from}, err
}

// clear deletes all records.
func (s *typed[T]) clear(ctx context.Context) error {
	for part := range record.Parts {
		for id := range record.IdsOfPart {
			if err := s.repo.Delete(ctx, repo.Key{record.PartName(part), int64(id)}); err != nil {
				return err
			}
		}
	}
	s.versions = map[string][]repo.Version{}
	return nil
}

// saw notes a version of a record.
func (s *typed[T]) saw(e record.Entry) {
	list := s.versions[record.KeyText(e)]
	if !e.Version.IsZero() && !slices.Contains(list, e.Version) {
		s.versions[record.KeyText(e)] = append(list, e.Version)
	}
}

// version returns the version that an operation expects.
func (s *typed[T]) version(op operation) repo.Version {
	list := s.versions[record.KeyText(op.rec)]
	switch {
	case op.expect == "current" && len(list) > 0:
		return list[len(list)-1]
	case op.expect == "old" && len(list) > 1:
		return list[len(list)-2]
	}
	return repo.Version{}
}

// text returns a record in words: its version by how often it was seen to change.
func (s *typed[T]) text(rec T) string {
	e := s.from(rec)
	s.saw(e)
	return fmt.Sprintf("%s v%d", e, slices.Index(s.versions[record.KeyText(e)], e.Version))
}

// kind returns the condition of an error in words.
func kind(err error) string {
	if err == nil {
		return "done"
	}
	facts, _ := errors.AsType[*repo.Error](err)
	for _, s := range finding.Sentinels() {
		if errors.Is(err, s) {
			if facts != nil && facts.Index != "" {
				return s.Error() + " in " + facts.Index
			}
			return s.Error()
		}
	}
	return "an error that is no sentinel: " + err.Error()
}

// do does an operation and says what came of it.
func (s *typed[T]) do(ctx context.Context, op operation) string {
	switch op.verb {
	case "insert", "put", "replace", "delete":
		return s.write(ctx, op)
	case "patch", "update":
		return s.change(ctx, op)
	case "group":
		return s.group(ctx, op)
	case "insert all", "put all", "delete all", "patch all":
		return s.bulk(ctx, op)
	case "get", "exists", "get many":
		return s.read(ctx, op)
	case "maintain", "walk", "verify":
		return s.whole(ctx, op)
	}
	return s.query(ctx, op)
}

func (s *typed[T]) write(ctx context.Context, op operation) string {
	rec, opts := s.to(op.rec), []repo.WriteOption{repo.IfVersion(s.version(op))}
	var err error
	switch op.verb {
	case "insert":
		err = s.repo.Insert(ctx, &rec)
	case "put":
		err = s.repo.Put(ctx, &rec, opts...)
	case "replace":
		err = s.repo.Replace(ctx, &rec, opts...)
	case "delete":
		return kind(s.repo.Delete(ctx, record.KeyOf(op.rec), opts...))
	}
	if err == nil {
		s.saw(s.from(rec))
	}
	return kind(err)
}

func (s *typed[T]) change(ctx context.Context, op operation) string {
	if op.verb == "update" {
		rec, err := s.repo.Update(ctx, record.KeyOf(op.rec), func(rec *T) error {
			e := s.from(*rec)
			e.Kind, e.Score, e.Tags, e.Name, e.Place, e.Until = op.rec.Kind, e.Score+op.rec.Score, op.rec.Tags, op.rec.Name, op.rec.Place, op.rec.Until
			*rec = s.to(e)
			return nil
		}, repo.IfVersion(s.version(op)))
		if err != nil {
			return kind(err)
		}
		return s.text(rec)
	}
	before := s.before(ctx, op.rec)
	v, err := s.repo.PatchIf(ctx, record.KeyOf(op.rec), s.version(op), editsOf(op.edits)...)
	if err != nil {
		return kind(err)
	}
	s.saw(record.Entry{Part: op.rec.Part, ID: op.rec.ID, Version: v})
	return kind(nil) + s.patched(ctx, before, op.edits)
}

func (s *typed[T]) group(ctx context.Context, op operation) string {
	g := s.repo.Store().Group()
	in := s.repo.In(g)
	records := make([]T, len(op.list))
	for i, w := range op.list {
		records[i] = s.to(w.rec)
		option := repo.IfVersion(s.version(w))
		switch w.verb {
		case "insert":
			in.Insert(&records[i])
		case "put":
			in.Put(&records[i], option)
		case "replace":
			in.Replace(&records[i], option)
		case "delete":
			in.Delete(record.KeyOf(w.rec), option)
		}
	}
	err := g.Commit(ctx)
	for i := range records {
		if err == nil && op.list[i].verb != "delete" {
			s.saw(s.from(records[i]))
		}
	}
	return kind(err)
}

func (s *typed[T]) read(ctx context.Context, op operation) string {
	switch op.verb {
	case "exists":
		ok, err := s.repo.Exists(ctx, record.KeyOf(op.rec))
		return fmt.Sprint(ok, " ", kind(err))
	case "get":
		e, err := s.repo.Get(ctx, record.KeyOf(op.rec))
		if err != nil {
			return kind(err)
		}
		return s.text(e)
	}
	var keys []repo.Key
	for i := range int64(3) {
		keys = append(keys, repo.Key{op.rec.Part, (op.rec.ID + 2*i) % record.IdsOfPart})
	}
	list, found, err := s.repo.GetMany(ctx, keys)
	return fmt.Sprint(s.texts(list), found, kind(err))
}

func (s *typed[T]) texts(list []T) []string {
	texts := []string{}
	for _, e := range list {
		texts = append(texts, s.text(e))
	}
	return texts
}

// whole does what reads the whole collection.
func (s *typed[T]) whole(ctx context.Context, op operation) string {
	switch op.verb {
	case "maintain":
		done, err := s.repo.Maintain(ctx)
		return fmt.Sprint(done.Expired, " removed, ", kind(err))
	case "walk":
		var texts []string
		for chunk, err := range s.repo.Walk(ctx, "") {
			if err != nil {
				return kind(err)
			}
			texts = append(texts, s.texts(chunk.Items)...)
		}
		sort.Strings(texts)
		return counted(texts)
	}
	reports, err := s.repo.Verify(ctx)
	text := kind(err)
	for _, rep := range reports {
		if !rep.Clean() {
			text += fmt.Sprintf("; index %s: %d missing, %d stale", rep.Index, rep.Missing, rep.Stale)
		}
	}
	return text
}

// list joins what a sequence yielded.
func list[T any](seq func(func(T, error) bool), text func(T) string) string {
	var texts []string
	for x, err := range seq {
		if err != nil {
			return kind(err)
		}
		texts = append(texts, text(x))
	}
	return counted(texts)
}

// counted joins texts, with their number: so there is a text where nothing was found.
func counted(texts []string) string {
	return fmt.Sprintf("%d found: %s", len(texts), strings.Join(texts, "; "))
}

func (s *typed[T]) query(ctx context.Context, op operation) string {
	q := op.q.repo()
	switch op.verb {
	case "keys":
		return list(s.repo.Keys(ctx, q), func(k repo.Key) string { return fmt.Sprint(k...) })
	case "count":
		n, err := s.repo.Count(ctx, q)
		return fmt.Sprint(n, " ", kind(err))
	case "view":
		return list(s.view.Find(ctx, q), func(g record.Glance) string { return fmt.Sprintf("%+v", g) })
	case "one", "first":
		ask := map[string]func(context.Context, repo.Query) (T, error){"one": s.repo.One, "first": s.repo.First}[op.verb]
		e, err := ask(ctx, q)
		if err != nil {
			return kind(err)
		}
		return s.text(e)
	case "page":
		return s.pages(ctx, q.Limit(op.n))
	case "scan":
		return s.scan(ctx, op.q)
	case "best":
		return s.best(ctx, op.q)
	case "groups":
		return s.groups(ctx, op.q)
	}
	return s.find(ctx, append([]query{op.q}, op.more...))
}

// pages goes to the last page and back.
func (s *typed[T]) pages(ctx context.Context, q repo.Query) string {
	var texts []string
	cursor, back := "", false
	for range 60 {
		p, err := s.repo.Page(ctx, q, cursor)
		if err != nil {
			return kind(err)
		}
		texts = append(texts, fmt.Sprintf("[%s]", strings.Join(s.texts(p.Items), "; ")))
		if back = back || p.Next == ""; back {
			cursor = p.Prev
		} else {
			cursor = p.Next
		}
		if cursor == "" {
			break
		}
	}
	return strings.Join(texts, " ")
}

// scan reads all and sorts what comes in no order.
func (s *typed[T]) scan(ctx context.Context, q query) string {
	var texts []string
	for e, err := range s.repo.Scan(ctx, q.repo()) {
		if err != nil {
			return kind(err)
		}
		texts = append(texts, s.text(e))
	}
	if len(q.order) == 0 {
		sort.Strings(texts)
		if q.limit > 0 || q.offset > 0 {
			return fmt.Sprint(len(texts), " found")
		}
	}
	return counted(texts)
}
