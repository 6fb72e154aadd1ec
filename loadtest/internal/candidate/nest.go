package candidate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync/atomic"

	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
)

// A nest is a collection whose records are embedded in those of another one, their hosts: they are elements of a list, in
// the order of their keys. An element has the fields of its record but for those that name the host.
type nest struct {
	model     *workload.Model
	of, in    *workload.Collection
	hosts     *repo.Repo[map[string]any]
	lists     *repo.View[map[string]any] // of the hosts: their keys and the list
	hostKey   []string
	partition []string // of the records: the fields that name the host, as hostKey does
	sort      []string // of the records, with its directions
	largest   atomic.Int64
}

// openNest returns what a model embeds in a collection that is open.
func openNest(m *workload.Model, of *workload.Collection, hosts *repo.Repo[map[string]any]) (*nest, error) {
	in, s := m.Hosts[of.At], &m.Schemas[of.At]
	n := &nest{model: m, of: of, in: in, hosts: hosts, hostKey: in.Keys[m.KeyAt[in.At]], partition: s.Partition, sort: s.Sort}
	var err error
	n.lists, err = repo.FieldsOf(hosts, append(slices.Clone(n.hostKey), of.List())...)
	return n, err
}

// element returns a record as it is embedded. What is empty is absent there, as in a record.
func (n *nest) element(rec map[string]any) map[string]any {
	el := make(map[string]any, len(rec))
	for f, v := range rec {
		if !slices.Contains(n.partition, f) && !value.IsEmpty(v) {
			el[f] = v
		}
	}
	return el
}

// records returns what is embedded in a host, and makes records of the elements in it.
func (n *nest) records(host map[string]any) []map[string]any {
	list, _ := host[n.of.List()].([]any)
	out := make([]map[string]any, len(list))
	for i := range list {
		if out[i], _ = list[i].(map[string]any); out[i] == nil {
			out[i] = map[string]any{} // another program wrote it
		}
		for j, f := range n.partition {
			out[i][f] = host[n.hostKey[j]]
		}
	}
	return out
}

// hostOf returns the key of a record's host.
func (n *nest) hostOf(rec map[string]any) (key repo.Key) {
	for _, f := range n.partition {
		key = append(key, rec[f])
	}
	return key
}

// rank returns what orders an element among others.
func (n *nest) rank(el map[string]any) (key []any) {
	for _, f := range n.sort {
		key = append(key, el[strings.TrimPrefix(f, "-")])
	}
	return key
}

// compare compares two elements by what orders them.
func (n *nest) compare(a, b []any) int {
	for i, f := range n.sort {
		if by, _ := value.Compare(a[i], b[i]); by != 0 && strings.HasPrefix(f, "-") {
			return -by
		} else if by != 0 {
			return by
		}
	}
	return 0
}

// place returns where in a list the element is that has a rank, or would be.
func (n *nest) place(list []any, rank []any) (at int, there bool) {
	return sort.Find(len(list), func(i int) int {
		el, _ := list[i].(map[string]any)
		return n.compare(rank, n.rank(el))
	})
}

// written returns a list after a write of one of its elements.
func (n *nest) written(list []any, k *operation.Call, m *workload.Model) ([]any, error) {
	rank := n.rank(k.Record)
	if k.Record == nil {
		rank = k.KeyIn(m)[len(n.partition):]
	}
	at, there := n.place(list, rank)
	switch {
	case k.Q.Kind == "insert" && there:
		return nil, fmt.Errorf("%s is in %s already: %w", n.of.Schema.Collection, n.in.Schema.Collection, repo.ErrExists)
	case k.Record != nil && there:
		list[at] = n.element(k.Record)
		return list, nil
	case k.Record != nil:
		return slices.Insert(list, at, any(n.element(k.Record))), nil
	case !there:
		return nil, fmt.Errorf("it is not among its %s: %w", n.of.List(), repo.ErrNotFound)
	case k.Q.Kind == "delete":
		return slices.Delete(list, at, at+1), nil
	}
	old, _ := list[at].(map[string]any)
	el := maps.Clone(old)
	k.Change(el)
	list[at] = n.element(el)
	return list, nil
}

// write changes the list of a host, if nobody else changes the host meanwhile; else it begins again.
func (n *nest) write(ctx context.Context, host repo.Key, calls []operation.Call, m *workload.Model) error {
	_, err := n.hosts.Update(ctx, host, func(rec *map[string]any) (err error) {
		list, _ := (*rec)[n.of.List()].([]any)
		for i := range calls {
			if list, err = n.written(list, &calls[i], m); err != nil {
				return err
			}
		}
		n.put(*rec, list)
		return nil
	})
	return n.told(err)
}

// put gives a host a list.
func (n *nest) put(host map[string]any, list []any) {
	if host[n.of.List()] = list; len(list) == 0 {
		delete(host, n.of.List())
	}
}

// told says what helps where a host has become too large.
func (n *nest) told(err error) error {
	if !errors.Is(err, repo.ErrTooLarge) {
		return err
	}
	return fmt.Errorf("a record of %s is too large with all its %s in it: %s; let a model have no embed, or the data fewer of them: %w",
		n.in.Schema.Collection, n.of.Schema.Collection, strings.TrimSuffix(reason(err), ": "+repo.ErrTooLarge.Error()), repo.ErrTooLarge)
}

// do sends an operation to what is embedded.
func (n *nest) do(ctx context.Context, k *operation.Call, g *gatherer) error {
	switch k.Q.Kind {
	case "insert", "put":
		return n.write(ctx, n.hostOf(k.Record), []operation.Call{*k}, n.model)
	case "update", "move", "modify", "delete":
		return n.write(ctx, k.KeyIn(n.model)[:len(n.partition)], []operation.Call{*k}, n.model)
	case "group":
		return n.write(ctx, k.Parts[0].KeyIn(n.model)[:len(n.partition)], k.Parts, n.model)
	case "get", "exists":
		rec, err := n.get(ctx, k.KeyIn(n.model))
		switch {
		case err == nil:
			g.one(rec)
		case k.Q.Kind == "exists" && errors.Is(err, repo.ErrNotFound):
			return nil
		}
		return err
	}
	return n.search(ctx, k, g)
}

// get returns the record of a key.
func (n *nest) get(ctx context.Context, key repo.Key) (map[string]any, error) {
	host, err := n.lists.Get(ctx, key[:len(n.partition)])
	if err != nil {
		return nil, err
	}
	list, _ := host[n.of.List()].([]any)
	at, there := n.place(list, key[len(n.partition):])
	if !there {
		return nil, fmt.Errorf("it is not among its %s: %w", n.of.List(), repo.ErrNotFound)
	}
	host[n.of.List()] = list[at : at+1]
	return n.records(host)[0], nil
}
