package change

import (
	"fmt"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
)

// Taken returns the error for a unique value that another record has.
func Taken(c *layout.Layout, x *layout.Index, owner driver.Key, ch *Change) error {
	what := "a value of index " + x.ID
	if ch.Next != nil && !c.Redact {
		what = c.Describe(x, ch.Next.Vals)
	}
	who := "another record"
	if vals, err := c.PartsOf(nil, owner); err == nil {
		who = c.PrintKey(vals)
	}
	return &IndexTaken{Index: x.ID, Text: fmt.Sprintf("%s is taken by %s", what, who)}
}

// An IndexTaken is ErrExists because of a unique index.
type IndexTaken struct{ Index, Text string }

func (e *IndexTaken) Error() string { return e.Text + ": " + driver.ErrExists.Error() }

func (e *IndexTaken) Unwrap() error { return driver.ErrExists }

// shared returns the error for a value that two changes want, of which the first one has it.
func (b *Builder) shared(x *layout.Index, first, second int) error {
	c, ch := b.layouts[second], b.Changes[second]
	return failure.OfRecord(c.Name, ch.Key, Taken(c, x, b.Changes[first].Key, ch))
}

// SharedClaim returns the error for a unique value that two records of a group want.
// Their claims would have the same token, so that each would pass for the other's.
func (b *Builder) SharedClaim() error {
	if len(b.Changes) == 1 {
		return nil // one record names each value once
	}
	type value struct {
		x   *layout.Index
		key driver.Key
	}
	first := map[value]int{}
	for i := range b.Puts {
		p := &b.Puts[i]
		if !p.X.Unique {
			continue
		}
		v := value{p.X, p.Row.Key}
		if j, ok := first[v]; ok {
			return b.shared(p.X, b.Puts[j].Owner, p.Owner)
		}
		first[v] = i
	}
	return nil
}
