package repo

import "sync/atomic"

// A following reads records by the newest of the collections that follow one another.
type following[T any] struct {
	now atomic.Pointer[reads[T]]
	of  func(*collection) (reads[T], error)
}

// follow makes f read by a collection and those that follow it; of says how.
func (f *following[T]) follow(c *collection, of func(*collection) (reads[T], error)) error {
	first, err := of(c)
	if err == nil {
		f.of, first.f = of, f
		f.now.Store(&first)
	}
	return err
}

// on returns how f reads now, and on what.
func (f *following[T]) on() *reads[T] {
	now := f.now.Load()
	if now == nil {
		return onNothing[T]()
	}
	if now.c.next.Load() == nil {
		return now
	}
	next, err := f.of(now.c.newest())
	if err != nil {
		return now // it has lost a field, which its reads will say
	}
	next.f = f
	f.now.Store(&next)
	return &next
}
