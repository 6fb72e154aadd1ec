package candidate

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
)

// all yields what is embedded in all hosts, host by host in no order.
func (n *nest) all(ctx context.Context) iter.Seq2[map[string]any, error] {
	return func(yield func(map[string]any, error) bool) {
		largest := 0
		for chunk, err := range n.hosts.Walk(ctx, "") {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, host := range chunk.Items {
				list := n.records(host)
				largest = max(largest, len(list))
				for _, rec := range list {
					if !yield(rec, nil) {
						return
					}
				}
			}
		}
		n.largest.Store(int64(largest))
	}
}

// named returns the key of the one host in which a call finds records.
func (n *nest) named(conds []operation.Condition) (key repo.Key, ok bool) {
	for _, f := range n.partition {
		at := slices.IndexFunc(conds, func(c operation.Condition) bool { return c.Way == "any_of" && c.Field == f && len(c.Values) == 1 })
		if at < 0 {
			return nil, false
		}
		key = append(key, conds[at].Values[0])
	}
	return key, true
}

// An unindexed query is one that no index answers.
type unindexed string

func (u unindexed) Error() string { return string(u) }

// Is reports whether it is another name of the error.
func (u unindexed) Is(err error) bool { return err == repo.ErrNoIndex }

// explain says why a call reads every host, nil if it reads one.
func (n *nest) explain(k *operation.Call) error {
	if slices.ContainsFunc(k.Q.By, isElement) {
		return errors.New("groups of elements need an index, and what is embedded has none; let the model have no embed")
	}
	if _, ok := n.named(k.Conds); ok {
		return nil
	}
	return unindexed(fmt.Sprintf("%s are embedded in %s, and no condition names one of these; add %s to where, or let the model scan (scan: true)",
		n.of.Schema.Collection, n.in.Schema.Collection, strings.Join(n.partition, ", ")))
}

// search finds records in the one host that a call names, or else in all.
func (n *nest) search(ctx context.Context, k *operation.Call, g *gatherer) error {
	if k.Q.Kind == "page" {
		return n.pages(ctx, k, g)
	}
	list, err := n.matching(ctx, k)
	if err != nil {
		return err
	}
	switch k.Q.Kind {
	case "near":
		return scanNear(nothingFails(slices.Values(list)), k, g)
	case "groups", "distinct", "firsts":
		return scanGroups(nothingFails(slices.Values(list)), k, g)
	case "one":
		if len(list) == 0 {
			return repo.ErrNotFound
		}
	}
	for _, rec := range cut(list, k.Limit) {
		g.one(rec)
	}
	return nil
}

// cut returns the first records of a list, all if the limit is 0.
func cut(list []map[string]any, limit int) []map[string]any {
	if limit > 0 {
		return list[:min(limit, len(list))]
	}
	return list
}

// pages reads a host again for each page, which begins behind the last record of the page before.
func (n *nest) pages(ctx context.Context, k *operation.Call, g *gatherer) error {
	var last map[string]any
	for range k.Q.Pages {
		list, err := n.matching(ctx, k)
		if err != nil {
			return err
		}
		if last != nil {
			list = slices.DeleteFunc(list, func(rec map[string]any) bool { return n.order(k, rec, last) <= 0 })
		}
		for _, rec := range cut(list, k.Q.Limit) {
			g.one(rec)
			last = rec
		}
		if len(list) <= k.Q.Limit {
			break
		}
	}
	return nil
}

// matching returns what a call finds, in its order and without its limit.
func (n *nest) matching(ctx context.Context, k *operation.Call) ([]map[string]any, error) {
	key, ok := n.named(k.Conds)
	if !ok {
		list, err := repo.Collect(n.all(ctx))
		return n.pick(list, k), err
	}
	host, err := n.lists.Get(ctx, key)
	if errors.Is(err, repo.ErrNotFound) {
		return nil, nil
	}
	return n.pick(n.records(host), k), err
}

// pick returns those of some records that a call finds, in its order. What lacks a field of the order is not found.
func (n *nest) pick(list []map[string]any, k *operation.Call) []map[string]any {
	list = slices.DeleteFunc(list, func(rec map[string]any) bool {
		at := func(f string) any { return rec[f] }
		return slices.ContainsFunc(k.Conds, func(c operation.Condition) bool { return !c.Holds(at) }) ||
			slices.ContainsFunc(k.Q.Order, func(f string) bool { return rec[strings.TrimPrefix(f, "-")] == nil })
	})
	slices.SortFunc(list, func(a, b map[string]any) int { return n.order(k, a, b) })
	return list
}

// order compares two records by the order of a call and, where that says nothing, by their keys.
func (n *nest) order(k *operation.Call, a, b map[string]any) int {
	for _, f := range slices.Concat(k.Q.Order, n.partition, n.sort) {
		bare, down := strings.CutPrefix(f, "-")
		if by, _ := value.Compare(a[bare], b[bare]); by != 0 && down {
			return -by
		} else if by != 0 {
			return by
		}
	}
	return 0
}

// holds reports whether the records that a query finds are in the host from whose key it draws.
func (n *nest) holds(k *operation.Call) bool {
	for i, f := range n.partition {
		from := n.hostKey[i]
		if !slices.ContainsFunc(k.Q.Where, func(c workload.Condition) bool { return c.Field == f && c.From == from }) {
			return false
		}
	}
	return true
}

// verify makes sure that all lists are in order, and have no element twice.
func (n *nest) verify(ctx context.Context, label string) error {
	for chunk, err := range n.hosts.Walk(ctx, "") {
		if err != nil {
			return err
		}
		for _, host := range chunk.Items {
			list := n.records(host)
			for i := 1; i < len(list); i++ {
				if n.compare(n.rank(list[i-1]), n.rank(list[i])) >= 0 {
					return &failure.WrongAnswers{Text: fmt.Sprintf("after the run the %s of %s in %s are not in order, or one is there twice: %s and %s",
						n.of.List(), value.Key(host, n.hostKey), label, value.Key(list[i-1], n.of.Key()), value.Key(list[i], n.of.Key()))}
				}
			}
		}
	}
	return nil
}
