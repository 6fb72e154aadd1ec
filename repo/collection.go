package repo

import (
	"errors"
	"time"
)

// A collection is what a Repo is about, and what it does, whatever its records are.
type collection struct {
	*keeper
	of *Store
}

// begin begins an operation.
func (c *collection) begin(op string) call {
	c.renew()
	k := c.store.begin(op)
	k.tick(c.store)
	return k
}

// end reports the call to the observer and makes err an *Error.
func (c *collection) end(k *call, key Key, err error) error {
	if err != nil {
		if gone := c.gone(); gone != nil && errors.Is(err, ErrInvalid) {
			err = gone // the backend does not know the tables any more
		}
		err = c.annotate(k.op, key, err)
	}
	if observe := c.of.observe; observe != nil {
		depth, requests := k.sent()
		observe(Event{Op: k.op, Collection: c.name, Depth: depth, Requests: requests,
			Rows: k.rows, Err: err, Took: time.Since(k.began)})
	}
	return err
}
