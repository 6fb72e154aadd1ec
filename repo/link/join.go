package link

import (
	"context"

	"github.com/polystore/polystore/repo"
)

// A Getter reads records by their keys: a [repo.Repo] or a [repo.View].
type Getter[R any] interface {
	GetMany(ctx context.Context, keys []repo.Key) (records []R, found []bool, err error)
}

// mostKeys is how many keys a request has.
const mostKeys = 1000

// Join fetches what records refer to: for each record the records under the keys that keys returns, in the order of the
// keys, nil where there is none. Records that refer to the same one share it, so change none of them.
//
// All records together cost one GetMany of the different keys, however many records there are, and without keys none.
// Over 1,000 keys cost one for each 1,000. The result can be the records of another Join, which costs one GetMany
// more: a level of references is a Join. Keys whose parts are texts and integers are asked for once, others each time.
//
// Each record was there when it was read, not all at one instant. If a request fails Join returns its error alone.
func Join[T, R any](ctx context.Context, records []T, keys func(record T) []repo.Key, from Getter[R]) ([][]*R, error) {
	switch {
	case ctx == nil:
		return nil, &repo.Error{Op: "join", Err: invalid("the context is nil")}
	case keys == nil || from == nil:
		return nil, &repo.Error{Op: "join", Err: invalid("Join needs a function and a repository")}
	}
	var all []repo.Key
	known := map[string]int{}
	at := make([][]int, len(records)) // of the keys of each record among all
	for i, record := range records {
		for _, key := range keys(record) {
			text, ok := textOf(key)
			n, there := known[text]
			if !ok || !there {
				n = len(all)
				all = append(all, key)
			}
			if ok {
				known[text] = n
			}
			at[i] = append(at[i], n)
		}
	}
	got, err := getAll(ctx, all, from)
	if err != nil {
		return nil, err
	}
	lists := make([][]*R, len(records))
	for i, list := range at {
		lists[i] = make([]*R, len(list))
		for j, n := range list {
			lists[i][j] = got[n]
		}
	}
	return lists, nil
}

// getAll returns the records under keys, nil where there is none.
func getAll[R any](ctx context.Context, keys []repo.Key, from Getter[R]) ([]*R, error) {
	all := make([]*R, 0, len(keys))
	for len(all) < len(keys) {
		part := keys[len(all):min(len(all)+mostKeys, len(keys))]
		records, found, err := from.GetMany(ctx, part)
		if err != nil {
			return nil, err
		}
		for i := range part {
			var one *R
			if found[i] {
				one = &records[i]
			}
			all = append(all, one)
		}
	}
	return all, nil
}
