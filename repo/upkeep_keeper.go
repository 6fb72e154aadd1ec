package repo

// A keeper opens a collection, and keeps its indexes and what was deleted in order.
type keeper struct {
	*writer
}
