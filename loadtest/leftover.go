package loadtest

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/internal/process"
	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/repo"
)

// Each run has a collection of its own in each store, made before all others and removed after
// them. Its one record says whose the others are, so that what a killed run left can be found,
// and told from what anybody else put into the store. The names of all begin alike.

// namespace returns the beginning of collection names that nobody has.
func namespace() string { return "load_" + strings.ToLower(rand.Text()[:10]) }

// candidateSpace returns the beginning of the collection names of the n-th candidate of a run.
func candidateSpace(run string, n int) string { return fmt.Sprintf("%s%02d_", run, n) }

const tagSuffix = "_run"

var (
	tagName   = regexp.MustCompile(`^load_[a-z2-7]{10}` + tagSuffix + `$`)
	spaceTail = regexp.MustCompile(`^[0-9]{2,}_`)
)

func tagSchema(name string) repo.Schema {
	return repo.Schema{Collection: name, Partition: []string{"run"},
		Fields: map[string]string{"run": "string", "host": "string", "process": "int", "mark": "string", "began": "time"}}
}

// tag says in the store whose the collections of this run are.
func (s *store) tag(ctx context.Context, run string, began time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // close knows what was made, so that is made to the end
	s.tagged = run + tagSuffix
	r, err := repo.Open[map[string]any](ctx, s.repo, tagSchema(s.tagged))
	if err != nil {
		return err
	}
	host, _ := os.Hostname() // without a name it is that of nobody
	return r.Insert(ctx, &map[string]any{"run": run, "host": host, "process": os.Getpid(), "mark": process.Mark(os.Getpid()), "began": began})
}

// untag removes what says whose the collections of this run are, after those that were not made
// to the end unless all are kept.
func (s *store) untag(ctx context.Context, keep bool) error {
	names := []string{s.tagged}
	if !keep {
		all, err := repo.Collections(ctx, s.repo)
		if err != nil {
			return err
		}
		names = collectionsOf(strings.TrimSuffix(s.tagged, tagSuffix), all)
	}
	return s.dropRun(ctx, names)
}

// dropRun removes the collections of a run, and its tag when the others are gone.
func (s *store) dropRun(ctx context.Context, names []string) error {
	tag := len(names) - 1
	if _, err := s.drop(ctx, names[:tag]); err != nil {
		return err
	}
	_, err := s.drop(ctx, names[tag:])
	return err
}

// collectionsOf returns those of the collections that a run made, its tag last.
func collectionsOf(run string, all []string) []string {
	var names []string
	for _, name := range all {
		if tail, ok := strings.CutPrefix(name, run); ok && spaceTail.MatchString(tail) {
			names = append(names, name)
		}
	}
	return append(names, run+tagSuffix)
}

// A leftover is what the store has of another run.
type leftover struct {
	run     string
	names   []string // of its collections; the last one is the tag
	host    string
	process int
	mark    string // of the process
	began   time.Time
}

// leftovers returns what the store has of other runs.
func (s *store) leftovers(ctx context.Context) ([]leftover, error) {
	names, err := repo.Collections(ctx, s.repo)
	if err != nil {
		return nil, err
	}
	var list []leftover
	for _, tag := range names {
		if !tagName.MatchString(tag) {
			continue
		}
		l := leftover{run: strings.TrimSuffix(tag, tagSuffix)}
		ours, err := l.read(ctx, s.repo, tag)
		if err != nil {
			return list, err
		}
		if !ours || l.own() {
			continue
		}
		l.names = collectionsOf(l.run, names)
		list = append(list, l)
	}
	return list, nil
}

// read reads the record of a tag, and reports whether that is what it is. The run that made it
// may have been killed before there was a record.
func (l *leftover) read(ctx context.Context, store *repo.Store, tag string) (bool, error) {
	schema, err := repo.SchemaOf(ctx, store, tag)
	if errors.Is(err, repo.ErrNotFound) {
		return false, nil // it was removed meanwhile
	}
	want := tagSchema(tag)
	if err != nil || !slices.Equal(schema.Partition, want.Partition) || len(schema.Sort)+len(schema.Indexes) > 0 || !maps.Equal(schema.Fields, want.Fields) {
		return false, err
	}
	r, err := repo.Open[map[string]any](ctx, store, schema, repo.WithoutDefine())
	if errors.Is(err, repo.ErrSchema) {
		return true, nil // it was not made to the end
	}
	if err != nil {
		return false, err
	}
	rec, err := r.Get(ctx, repo.Key{l.run})
	if errors.Is(err, repo.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	l.host, _ = rec["host"].(string)
	pid, _ := rec["process"].(int64)
	l.process = int(pid)
	l.mark, _ = rec["mark"].(string)
	l.began, _ = rec["began"].(time.Time)
	return true, nil
}

// own reports whether the run is one of this process.
func (l *leftover) own() bool {
	return l.here() && l.process == os.Getpid() && process.Same(l.process, l.mark)
}

func (l *leftover) here() bool {
	host, err := os.Hostname()
	return err == nil && host == l.host
}

// underWay says why the run may be still at work, "" if it is not.
func (l *leftover) underWay(now time.Time) string {
	switch {
	case l.host == "":
		return ""
	case l.here() && process.Same(l.process, l.mark):
		return fmt.Sprintf("process %d is at work", l.process)
	case !l.here() && now.Sub(l.began) < limit.LongestRun:
		return fmt.Sprintf("process %d of %s may be at work; clean there, or a day after it began", l.process, l.host)
	}
	return ""
}

// String says which run it is.
func (l *leftover) String() string {
	text := "run " + l.run
	if !l.began.IsZero() {
		text += fmt.Sprintf(" of %s on %s", l.began.Local().Format("2006-01-02 15:04"), cmp.Or(l.host, "a machine without a name"))
	}
	return text
}

// tellLeftovers names what other runs left in a store. What cannot be found out is no reason
// not to measure.
func (r *run) tellLeftovers(ctx context.Context, s *store) {
	list, err := s.leftovers(ctx)
	for _, l := range list {
		if why := l.underWay(time.Now()); why != "" {
			r.progress.say("note: %s is on %s, too (%s); two at a time disturb each other", &l, s.url, why)
		} else {
			r.progress.say("note: %s has %s of %s, which was killed; polystore load --clean %s removes them", s.url, format.Plural(len(l.names), "collection"), &l, s.url)
		}
	}
	if err != nil && ctx.Err() == nil {
		r.progress.say("note: what earlier runs left on %s cannot be told: %v", s.url, err)
	}
}

// Clean removes from a store what runs left that were killed, and nothing else: collections
// that such a run made. It says by tell what it removes, and which runs it leaves alone because
// they may be at work. What Keep left stays. A nil tell tells nobody.
func Clean(ctx context.Context, opts Options, tell func(string)) error {
	if len(opts.On) != 1 {
		return errors.New("clean one store at a time")
	}
	if err := sound(ctx, opts.Open); err != nil {
		return err
	}
	if tell == nil {
		tell = func(string) {}
	}
	s, err := openStore(ctx, opts.On[0], Redact(opts.On[0]), opts.Open)
	if err != nil {
		return err
	}
	return errors.Join(s.clean(ctx, tell), s.repo.Close())
}

func (s *store) clean(ctx context.Context, tell func(string)) error {
	ctx, cancel := context.WithTimeout(ctx, limit.LeftoverTime)
	defer cancel()
	list, err := s.leftovers(ctx)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		tell(s.url + " has nothing of a killed run")
	}
	for _, l := range list {
		if why := l.underWay(time.Now()); why != "" {
			tell(fmt.Sprintf("left alone: %s: %s", &l, why))
			continue
		}
		if err := s.dropRun(ctx, l.names); err != nil {
			return err
		}
		tell(fmt.Sprintf("removed: %s: %s", &l, strings.Join(l.names, ", ")))
	}
	return nil
}
