package driver

import "context"

// A Grouper is a Store that groups the rows of a native index by itself. It is optional, and for stores that have
// native indexes: package repo reads the rows instead.
type Grouper interface {
	// Group calls yield for each group of some rows, those with the same values of some columns, until yield returns
	// false. The groups come in the order of the rows. A row that is there during the whole call counts once, as it was
	// at some time of it. Where the store cannot group these rows, or cannot tell a sum, such as one that no int64
	// holds, it is ErrUnsupported, and yield may have been called. Yield must not call the store. The group is valid
	// until yield returns, the strings in it for good.
	Group(ctx context.Context, g Grouping, yield func(*Group) bool) error
}

// A Grouping says which rows are grouped by what.
type Grouping struct {
	// Span is of a native table. Its Limit is how many groups there are to be, 0 for all, and its Mask is nil.
	Span Span

	// Columns is how many of the table's Sort, from the first, the rows are grouped by. One of them that is an element
	// of a list has one value in the span.
	Columns int

	Sums []string // fields of the records, of kind Int, that are added up; an absent one adds nothing
	Now  int64    // a row is not there if its Expires is not 0, and not after this
}

// A Group is what there is to tell of the rows that have the same values.
type Group struct {
	Values []Value // of the columns
	Count  int64   // of the rows, never 0
	Sums   []int64
}
