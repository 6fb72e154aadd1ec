package layout

import (
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/record"
)

// A namedKind is a field, or a part of one, whose kind the schema names and the type of the records does not.
type namedKind struct {
	name string
	path []string // in the field
	Kind
}

// declares gathers, by position, what has a kind by the schema alone.
func (c *compiler) declares(isMap bool) {
	add := func(name string, k Kind) {
		field, path := record.CutPath(name)
		at := c.At(field)
		if at < 0 || path == nil && k.Elem <= driver.None {
			return
		}
		if c.fits == nil {
			c.fits = make([][]namedKind, len(c.Cols))
		}
		c.fits[at] = append(c.fits[at], namedKind{name, path, k})
	}
	for name, k := range c.Parts {
		add(name, k)
	}
	for i, col := range c.Cols {
		if isMap && col.Kind == driver.List {
			add(col.Name, Kind{Kind: col.Kind, Elem: c.Elems[i]})
		}
	}
}

// FitAll is Fit of all values of a record.
func (c *Layout) FitAll(vals []driver.Value) (err error) {
	for at := range c.fits {
		if len(c.fits[at]) > 0 && err == nil {
			vals[at], err = c.Fit(vals[at], at)
		}
	}
	return err
}

// Fit returns a value of the field at a position with what the schema declares of its parts, and of the elements of
// lists, made of their kinds: an integer is taken for a float, and another kind is ErrInvalid.
func (c *Layout) Fit(v driver.Value, at int) (driver.Value, error) {
	if c.fits == nil {
		return v, nil
	}
	for _, d := range c.fits[at] {
		fit, err := d.fit(v, d.path)
		if err != nil {
			return v, err
		}
		v = fit
	}
	return v, nil
}

// fit makes what lies at a path in a value of the kind that is declared.
func (d *namedKind) fit(v driver.Value, path []string) (driver.Value, error) {
	if len(path) == 0 {
		return d.take(v)
	}
	list, at, ok := v.List(), 0, false
	switch v.Kind() {
	case driver.Map:
		for ; at < len(list) && list[at].Str() != path[0]; at += 2 {
		}
		ok = at < len(list)
		at++
	case driver.List:
		at, ok = record.ElementAt(path[0])
		ok = ok && at < len(list)
	}
	if !ok {
		return v, nil
	}
	fit, err := d.fit(list[at], path[1:])
	if err != nil || fit.Equal(list[at]) {
		return v, err
	}
	list = slices.Clone(list)
	list[at] = fit
	if v.Kind() == driver.Map {
		return driver.MapValue(list), nil
	}
	return driver.ListValue(list), nil
}

// take returns a value as one of the declared kind. The elements of what is declared as a list of no kind may be of any.
func (d *namedKind) take(v driver.Value) (driver.Value, error) {
	switch {
	case v.Kind() == driver.Int && d.Kind.Kind == driver.Float:
		return driver.FloatValue(float64(v.Int())), nil
	case !v.IsNone() && v.Kind() != d.Kind.Kind:
		return v, failure.Invalid("%s is of kind %s, not %s", d.name, d.Kind.Kind, v.Kind())
	case v.Kind() != driver.List || d.Elem == driver.String || d.Elem == driver.None:
		return v, nil
	}
	list := slices.Clone(v.List())
	for i, of := 0, (&namedKind{name: "an element of " + d.name, Kind: Kind{Kind: d.Elem, Elem: driver.String}}); i < len(list); i++ {
		var err error
		if list[i], err = of.take(list[i]); err != nil {
			return v, err
		}
	}
	return driver.ListValue(list), nil
}
