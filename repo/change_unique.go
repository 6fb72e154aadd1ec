package repo

import (
	"fmt"

	"github.com/polystore/polystore/repo/driver"
)

// taken returns the error for a unique value that another record has.
func taken(c *layoutC, x *index, owner driver.Key, ch *change) error {
	what := "a value of index " + x.name
	if ch.next != nil && !c.redact {
		what = c.describe(x, ch.next.vals)
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
func (b *builder) sharedClaim(c *layoutC) error {
	if len(b.changes) == 1 {
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
			ch := b.changes[p.owner]
			return ofKey(ch.key, taken(c, p.x, b.changes[b.puts[j].owner].key, ch))
		}
		first[v] = i
	}
	return nil
}
