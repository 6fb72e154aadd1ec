package repo

import (
	"errors"
	"time"

	"github.com/polystore/polystore/repo/internal/store"
	"github.com/polystore/polystore/repo/internal/upkeep"
)

// A collection is what a Repo is about, and what it does, whatever its records are.
type collection struct {
	*upkeep.Keeper
	of *Store
}

// begin begins an operation.
func (c *collection) begin(op string) store.Call {
	c.Renew()
	k := c.Store.Begin(op)
	k.Tick(c.Store)
	return k
}

// end reports the call to the observer and makes err an *Error.
func (c *collection) end(k *store.Call, key Key, err error) error {
	if err != nil {
		if gone := c.Gone(); gone != nil && errors.Is(err, ErrInvalid) {
			err = gone // the backend does not know the tables any more
		}
		err = c.annotate(k.Op, key, err)
	}
	if c.of.observe != nil {
		c.of.tell(k, c.Name, err)
	}
	return err
}

// tell tells the observer of an operation on a collection, or on some.
func (s *Store) tell(k *store.Call, collection string, err error) {
	depth, requests := k.Sent()
	s.observe(Event{Op: k.Op, Collection: collection, Depth: depth, Requests: requests,
		Rows: k.Rows, Err: err, Took: time.Since(k.Began)})
}
