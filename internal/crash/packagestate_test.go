package crash_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/copies"
)

// upkeep does what the next program does after a stop, and says what is wrong then. It is done in turn by a follower
// that is stopped itself, which stopped does.
func (k *kit) upkeep(ctx context.Context, stopped func() error) (faults []string, err error) {
	differ, err := k.differing(ctx)
	if err != nil {
		return nil, err
	}
	due, err := k.owners.Due(ctx)
	if err != nil {
		return nil, err
	}
	if len(differ) > 0 && due.Count == 0 {
		faults = append(faults, fmt.Sprintf("the copies of %v differ, and nothing is due", differ))
	}
	for _, name := range k.collections() {
		r, err := records(ctx, k.store, name)
		if err != nil {
			return nil, err
		}
		if _, err := r.Maintain(ctx); err != nil {
			return nil, err
		}
	}
	if err := stopped(); err != nil {
		return nil, err
	}
	if _, err := k.owners.Follow(ctx); err != nil {
		return nil, err
	}
	more, err := k.verify(ctx)
	return append(faults, more...), err
}

// verify says what is wrong with any collection.
func (k *kit) verify(ctx context.Context) (faults []string, err error) {
	for _, name := range k.collections() {
		r, err := records(ctx, k.store, name)
		if err != nil {
			return nil, err
		}
		reports, err := r.Verify(ctx)
		if err != nil {
			return nil, err
		}
		for _, rep := range reports {
			if !rep.Clean() {
				faults = append(faults, fmt.Sprintf("%s: index %s: %d rows missing, %d stale", name, rep.Index, rep.Missing, rep.Stale))
			}
		}
	}
	differ, err := k.differing(ctx)
	if err != nil {
		return nil, err
	}
	due, err := k.owners.Due(ctx)
	if len(differ) > 0 || due.Count > 0 {
		faults = append(faults, fmt.Sprintf("after all was followed the copies of %v differ, and %d are due", differ, due.Count))
	}
	return faults, err
}

// differing returns the keys of the records whose copies differ.
func (k *kit) differing(ctx context.Context) (keys []repo.Key, err error) {
	for _, target := range []*copies.Target[owned]{k.near, k.far} {
		for c, err := range target.Verify(ctx, "") {
			if err != nil {
				return nil, err
			}
			keys = append(keys, c.Differ...)
		}
	}
	return keys, nil
}

// state returns what is there of the home of an act, and what is wrong with it.
func (a *act) state(ctx context.Context, k *kit, home string) (state string, faults []string, err error) {
	read := map[string]func(context.Context, *kit, string) (string, []string, error){"link": links, "history": revisions, "copies": copied}[a.of()]
	state, faults, err = read(ctx, k, home)
	return strings.ReplaceAll(state, home, ""), faults, err
}

// links returns the links as the ends find them from which they go, and says where the others find something else.
func links(ctx context.Context, k *kit, home string) (state string, faults []string, err error) {
	side := func(ends ...repo.Query) string {
		var list []string
		for _, q := range ends {
			found, failed := repo.Collect(k.links.Find(ctx, q))
			err = errors.Join(err, failed)
			for _, m := range found {
				list = append(list, fmt.Sprint(m))
			}
		}
		slices.Sort(list)
		return strings.Join(list, " ")
	}
	from, to := side(k.links.From(home+"a"), k.links.From(home+"b")), side(k.links.To(home+"x"), k.links.To(home+"y"))
	if from != to {
		faults = append(faults, fmt.Sprintf("the links are %s from one side, and %s from the other", from, to))
	}
	return from, faults, err
}

// revisions returns the revisions of the pages, and says what is wrong with them: gaps, and a record that is not at
// the newest of them.
func revisions(ctx context.Context, k *kit, home string) (state string, faults []string, err error) {
	for _, id := range []string{"p", "new"} {
		key := repo.Key{home, id}
		for range 2 {
			list, err := k.pages.Revisions(ctx, key, 10, "")
			if err != nil {
				return "", nil, err
			}
			now, err := k.pages.Records().Get(ctx, key)
			there := err == nil
			if err != nil && !errors.Is(err, repo.ErrNotFound) {
				return "", nil, err
			}
			is, last := "", int64(0)
			for i, r := range list.Items {
				if is += fmt.Sprint(r.Number, ":", r.Record.Note, r.Deleted, r.Outside, " "); i == 0 && (there == r.Deleted || there && r.Record != now) {
					faults = append(faults, fmt.Sprintf("the record is %v, and the newest revision %+v", now, r))
				}
				if r.Outside || i > 0 && r.Number != last-1 {
					faults = append(faults, "the revisions are "+is)
				}
				last = r.Number
			}
			if there && last == 0 {
				faults = append(faults, fmt.Sprintf("%v has no revision", now))
			}
			state = id + " " + is + state
			if err := k.pages.Adopt(ctx, key); err != nil { // which finds what the next look sees
				return "", nil, err
			}
		}
	}
	return state, faults, nil
}

// copied returns the records with copies.
func copied(ctx context.Context, k *kit, home string) (state string, _ []string, err error) {
	for i := range 3 {
		id := fmt.Sprint(home, i+1)
		for key, target := range map[*repo.Key]*copies.Target[owned]{{home, id}: k.near, {id, home}: k.far} {
			o, err := target.Records().Get(ctx, *key)
			if err != nil && !errors.Is(err, repo.ErrNotFound) {
				return "", nil, err
			}
			if err == nil {
				state += fmt.Sprintln(target == k.near, i, o.Owner, o.Name)
			}
		}
	}
	lines := strings.Split(state, "\n")
	slices.Sort(lines)
	ann, err := k.owners.Records().Get(ctx, repo.Key{home, "ann"})
	if errors.Is(err, repo.ErrNotFound) {
		err = nil
	}
	return ann.Name + strings.Join(lines, " "), nil, err
}
