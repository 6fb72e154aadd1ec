package repo

import (
	"fmt"

	"github.com/polystore/polystore/repo/driver"
)

// taken returns the error for a unique value that another record has.
func (c *collection) taken(x *index, owner driver.Key, w *write) error {
	what := "a value of index " + x.name
	if w.next != nil && !c.store.opts.Redact {
		what = c.describe(x, w.next.vals)
	}
	who := "another record"
	if vals, err := c.partsOf(nil, owner); err == nil {
		who = c.printKey(vals)
	}
	return &indexTaken{index: x.name, text: fmt.Sprintf("%s is taken by %s", what, who)}
}

// An indexTaken is ErrExists because of a unique index.
type indexTaken struct{ index, text string }

func (e *indexTaken) Error() string { return e.text + ": " + driver.ErrExists.Error() }

func (e *indexTaken) Unwrap() error { return driver.ErrExists }

// sharedClaim returns the error for a unique value that two records of a group want.
// Their claims would have the same token, so that each would pass for the other's.
func (c *collection) sharedClaim(b *builder, writes []write) error {
	if len(writes) == 1 {
		return nil // one record names each value once
	}
	type value struct {
		x   *index
		key driver.Key
	}
	first := map[value]int{}
	for i := range b.puts {
		p := &b.puts[i]
		if !p.x.Unique {
			continue
		}
		v := value{p.x, p.Row.Key}
		if j, ok := first[v]; ok {
			w := &writes[p.owner]
			return ofKey(w.key, c.taken(p.x, writes[b.puts[j].owner].key, w))
		}
		first[v] = i
	}
	return nil
}
