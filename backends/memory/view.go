package memory

import "github.com/polystore/polystore/repo/driver/frame"

// A view is a table as one driver.Table sees it, whose ordinals are its own.
type view struct {
	*frame.Table
	*table
	native *native // the index by which the table is read
}
