package upkeep

import (
	"github.com/polystore/polystore/repo/internal/commit"
)

// A Keeper opens a collection, and keeps its indexes and what was deleted in order.
type Keeper struct {
	*commit.Writer
}
