package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/internal/process"
	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/repo"
)

// A Leftover is what the store has of another run.
type Leftover struct {
	run     string
	Names   []string // of its collections; the last one is the tag
	Host    string
	Process int
	Mark    string // of the process
	Began   time.Time
}

// Leftovers returns what the store has of other runs.
func (s *Store) Leftovers(ctx context.Context) ([]Leftover, error) {
	names, err := repo.Collections(ctx, s.Repo)
	if err != nil {
		return nil, err
	}
	var list []Leftover
	for _, tag := range names {
		if !tagName.MatchString(tag) {
			continue
		}
		l := Leftover{run: strings.TrimSuffix(tag, TagSuffix)}
		ours, err := l.read(ctx, s.Repo, tag)
		if err != nil {
			return list, err
		}
		if !ours || l.own() {
			continue
		}
		l.Names = collectionsOf(l.run, names)
		list = append(list, l)
	}
	return list, nil
}

// read reads the record of a tag, and reports whether that is what it is. The run that made it
// may have been killed before there was a record.
func (l *Leftover) read(ctx context.Context, store *repo.Store, tag string) (bool, error) {
	schema, err := repo.SchemaOf(ctx, store, tag)
	if errors.Is(err, repo.ErrNotFound) {
		return false, nil // it was removed meanwhile
	}
	want := TagSchema(tag)
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
	*l = leftoverOf(l.run, rec)
	return true, nil
}

// leftoverOf returns what the record of a tag says.
func leftoverOf(run string, rec map[string]any) Leftover {
	l := Leftover{run: run}
	l.Host, _ = rec["host"].(string)
	pid, _ := rec["process"].(int64)
	l.Process = int(pid)
	l.Mark, _ = rec["mark"].(string)
	l.Began, _ = rec["began"].(time.Time)
	return l
}

// own reports whether the run is one of this process.
func (l *Leftover) own() bool {
	return l.here() && l.Process == os.Getpid() && process.Same(l.Process, l.Mark)
}

func (l *Leftover) here() bool {
	host, err := os.Hostname()
	return err == nil && host == l.Host
}

// UnderWay says why the run may be still at work, "" if it is not.
func (l *Leftover) UnderWay(now time.Time) string {
	switch {
	case l.Host == "":
		return ""
	case l.here() && process.Same(l.Process, l.Mark):
		return fmt.Sprintf("process %d is at work", l.Process)
	case !l.here() && now.Sub(l.Began) < limit.LongestRun:
		return fmt.Sprintf("process %d of %s may be at work; clean there, or a day after it began", l.Process, l.Host)
	}
	return ""
}

// String says which run it is.
func (l *Leftover) String() string {
	text := "run " + l.run
	if !l.Began.IsZero() {
		text += fmt.Sprintf(" of %s on %s", l.Began.Local().Format("2006-01-02 15:04"), cmp.Or(l.Host, "a machine without a name"))
	}
	return text
}

// Clean removes what killed runs left in the store, and says so by tell. What was kept and is as it was loaded stays, unless
// all is to go.
func (s *Store) Clean(ctx context.Context, all bool, tell func(string)) error {
	ctx, cancel := context.WithTimeout(ctx, limit.LeftoverTime)
	defer cancel()
	list, err := s.Leftovers(ctx)
	if err != nil {
		return err
	}
	kept, err := s.Kept(ctx)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		tell(s.URL + " has nothing of a killed run")
	}
	for _, l := range list {
		if why := l.UnderWay(time.Now()); why != "" {
			tell(fmt.Sprintf("left alone: %s: %s", &l, why))
			continue
		}
		names := l.Names
		if !all {
			names = without(names, l.run, kept)
		}
		if err := s.dropRun(ctx, names); err != nil {
			return err
		}
		tell(fmt.Sprintf("removed: %s: %s", &l, strings.Join(names, ", ")))
	}
	return s.cleanKept(ctx, all, tell)
}

// without returns the collections of a run that was killed without those that an earlier one kept and that are still as they
// were loaded.
func without(names []string, run string, kept []Kept) []string {
	for _, k := range kept {
		if k.Run == run && k.Whole {
			names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
				return name == run+KeptSuffix || strings.HasPrefix(name, k.Space)
			})
		}
	}
	return names
}

// cleanKept says what was kept or, if that is to go, removes it, but for what a run is using.
func (s *Store) cleanKept(ctx context.Context, all bool, tell func(string)) error {
	names, err := repo.Collections(ctx, s.Repo)
	if err != nil {
		return err
	}
	for _, name := range names {
		run, ok := strings.CutSuffix(name, KeptSuffix)
		if !ok || !keptName.MatchString(name) || slices.Contains(names, run+TagSuffix) {
			continue
		}
		of := collectionsOf(run, names)
		of = of[:len(of)-1] // it has no tag
		if !all {
			tell(fmt.Sprintf("kept: run %s: %s; polystore load --clean --kept %s removes them, too", run, format.Plural(len(of)-1, "collection"), s.URL))
			continue
		}
		if err := s.dropRun(ctx, of); err != nil {
			return err
		}
		tell(fmt.Sprintf("removed: what run %s kept: %s", run, strings.Join(of, ", ")))
	}
	return nil
}
