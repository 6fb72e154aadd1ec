package candidate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/repo"
)

// A brood is what comes into one host, and what leaves it, when many records are written.
type brood struct {
	host    repo.Key
	come    []map[string]any
	removed []repo.Key // without what names the host
}

// embed embeds the records of a part of the loading, many at a time. Nothing can be a first piece: the hosts are loaded
// before.
func (x *part) embed(ctx context.Context, n *nest, records iter.Seq2[map[string]any, error], pause func() bool) error {
	if !pause() {
		return nil
	}
	return n.add(ctx, records, func(some int) { x.n += some })
}

// overfull says that a host is too large for what is to be embedded in it.
func (n *nest) overfull(err error, t *generate.Table) string {
	return fmt.Sprintf("%s: %s; the most in one are %s", n.of.Schema.Collection, strings.TrimSuffix(err.Error(), ": "+repo.ErrTooLarge.Error()),
		format.Count(t.Partitions[strings.Join(n.partition, ",")].Largest))
}

// add embeds records, many at a time, and counts them. Nobody else writes meanwhile.
func (n *nest) add(ctx context.Context, records iter.Seq2[map[string]any, error], count func(int)) error {
	var batch []map[string]any
	flush := func() error {
		err := n.change(ctx, nil, batch)
		if err == nil {
			count(len(batch))
		}
		batch = batch[:0]
		return err
	}
	for rec, err := range records {
		if err != nil {
			return err
		}
		if batch = append(batch, rec); len(batch) == limit.EmbeddedAtOnce {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// change removes records by their keys, and embeds others. Nobody else writes meanwhile.
func (n *nest) change(ctx context.Context, removed []repo.Key, come []map[string]any) error {
	of, list := map[string]*brood{}, []*brood(nil)
	at := func(host repo.Key) *brood {
		id := value.IdentityOf(host)
		if of[id] == nil {
			of[id] = &brood{host: host}
			list = append(list, of[id])
		}
		return of[id]
	}
	for _, key := range removed {
		b := at(key[:len(n.partition)])
		b.removed = append(b.removed, key[len(n.partition):])
	}
	for _, rec := range come {
		b := at(n.hostOf(rec))
		b.come = append(b.come, rec)
	}
	for some := range slices.Chunk(list, limit.HostsAtOnce) {
		if err := n.rewrite(ctx, some); err != nil {
			return n.told(err)
		}
	}
	return nil
}

// rewrite reads some hosts, and puts them with other lists.
func (n *nest) rewrite(ctx context.Context, some []*brood) error {
	keys := make([]repo.Key, len(some))
	for i, b := range some {
		keys[i] = b.host
	}
	hosts, found, err := n.hosts.GetMany(ctx, keys)
	if err != nil {
		return err
	}
	for i, b := range some {
		if !found[i] {
			return fmt.Errorf("%s has no record %s, in which %s are to be embedded: %w", n.in.Schema.Collection, b.host, n.of.Schema.Collection, repo.ErrNotFound)
		}
		list, _ := hosts[i][n.of.List()].([]any)
		for _, rank := range b.removed {
			if at, there := n.place(list, rank); there {
				list = slices.Delete(list, at, at+1)
			}
		}
		for _, rec := range b.come {
			el := n.element(rec)
			at, _ := n.place(list, n.rank(el))
			list = slices.Insert(list, at, any(el))
		}
		n.put(hosts[i], list)
		delete(hosts[i], "_version") // it is put as it is
	}
	_, err = n.hosts.PutAll(ctx, nothingFails(slices.Values(hosts)))
	if batch := (*repo.BatchError)(nil); errors.As(err, &batch) && len(batch.Failed) > 0 {
		return cmp.Or(batch.Failed[0].Err, err)
	}
	return err
}
