package conformance

import (
	"context"
	"fmt"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// WithKind returns an Open of the same store whose indexes are of one kind, "table" or
// "native", where a schema leaves that open. Another kind, or native on a store that
// keeps no index by itself, is ErrInvalid when it opens.
func WithKind(open Open, kind string) Open {
	return func(ctx context.Context) (driver.Store, error) {
		if kind != "table" && kind != "native" {
			return nil, fmt.Errorf("kind %q is neither table nor native: %w", kind, driver.ErrInvalid)
		}
		s, err := open.sound()(ctx)
		if err != nil {
			return nil, err
		}
		if f := s.Facts(); kind == "native" && !f.Native.Has {
			return nil, fmt.Errorf("kind native: %s keeps no index by itself: %s: %w", f.Name, f.Native.Reason, closedAfter(s, driver.ErrInvalid))
		}
		in := &inKind{s, kind == "native"}
		gatherer, gathers := s.(driver.Gatherer)
		sweeper, sweeps := s.(driver.Sweeper)
		switch {
		case gathers && sweeps:
			return struct {
				*inKind
				driver.Gatherer
				driver.Sweeper
			}{in, gatherer, sweeper}, nil
		case gathers:
			return struct {
				*inKind
				driver.Gatherer
			}{in, gatherer}, nil
		case sweeps:
			return struct {
				*inKind
				driver.Sweeper
			}{in, sweeper}, nil
		}
		return in, nil
	}
}

// closedAfter closes s and returns err.
func closedAfter(s driver.Store, err error) error {
	if other := s.Close(); other != nil {
		return fmt.Errorf("%w; and close: %w", err, other)
	}
	return err
}

// An inKind is a store that prefers indexes of one kind. It has the abilities of the store within; those that package
// repo takes for granted where they are there, to gather and to sweep, are added where they are.
type inKind struct {
	driver.Store
	native bool
}

func (s *inKind) Facts() driver.Facts {
	f := s.Store.Facts()
	f.PrefersNative = s.native
	return f
}

func (s *inKind) Count(ctx context.Context, span driver.Span) (int, error) {
	if c, ok := s.Store.(driver.Counter); ok {
		return c.Count(ctx, span)
	}
	return 0, s.lacks("counts no rows")
}

func (s *inKind) Size(ctx context.Context, t *driver.Table) (int64, error) {
	if z, ok := s.Store.(driver.Sizer); ok {
		return z.Size(ctx, t)
	}
	return 0, s.lacks("knows no sizes")
}

func (s *inKind) Follow(ctx context.Context, trail driver.Trail, beside []*driver.Table, yield func(i int, row *driver.Row) bool) error {
	if f, ok := s.Store.(driver.Follower); ok {
		return f.Follow(ctx, trail, beside, yield)
	}
	return s.lacks("follows nothing")
}

func (s *inKind) Group(ctx context.Context, g driver.Grouping, yield func(*driver.Group) bool) error {
	if o, ok := s.Store.(driver.Grouper); ok {
		return o.Group(ctx, g, yield)
	}
	return s.lacks("groups nothing")
}

func (s *inKind) Ranges(ctx context.Context, spans []driver.Span, yield func(i int, row *driver.Row) bool) error {
	if r, ok := s.Store.(driver.Ranger); ok {
		return r.Ranges(ctx, spans, yield)
	}
	return s.lacks("reads one range at a time")
}

func (s *inKind) CPU(ctx context.Context) (time.Duration, error) {
	if m, ok := s.Store.(driver.Meter); ok {
		return m.CPU(ctx)
	}
	return 0, s.lacks("tells no processor time")
}

func (s *inKind) Time(ctx context.Context) (time.Time, error) {
	if c, ok := s.Store.(driver.Clock); ok {
		return c.Time(ctx)
	}
	return time.Time{}, s.lacks("has no clock")
}

func (s *inKind) lacks(what string) error {
	return fmt.Errorf("%s %s: %w", s.Store.Facts().Name, what, driver.ErrUnsupported)
}
