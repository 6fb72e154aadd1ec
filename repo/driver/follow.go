package driver

import "context"

// A Follower is a Store that follows references between the records of a partition by itself. It is optional, and
// for stores that have native indexes: package repo/tree reads level by level instead.
type Follower interface {
	// Follow calls yield, with 0, for each record that a trail reaches, once and in no order, and with 1 and more
	// for each row of the tables beside it that is in the trail's partition, until yield returns false. Rows have all fields;
	// those that are Dead are not there, and those that expired may be. All are of one instant, at which every commit
	// had ended that was acknowledged before the call. The tables beside are of Class Records, different, and have the
	// partition columns of the trail's Home. Where the store cannot follow this trail, since it is too long or for
	// another reason, it is ErrUnsupported, and yield may have been called. Yield must not call the store. The row
	// and its slices are valid until yield returns, its strings for good.
	Follow(ctx context.Context, trail Trail, beside []*Table, yield func(i int, row *Row) bool) error
}

// A Trail leads from a value to the records that an index has under it, from the values that these have in a field to
// further records, and so on.
type Trail struct {
	// Index is a native table whose partition columns are those of its Home. Its first Sort column, which is of a
	// kind that AppendParts takes and not an element of a list, is where a value leads to.
	Index *Table

	Partition string // of the records
	Start     Value  // of the kind of Index's first Sort column
	From      string // the column of Home, of its key or not, from whose value the trail goes on
	Depth     int    // records that are so many steps from Start at most are reached; 0 is no bound
}
