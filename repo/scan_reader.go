package repo

// A reader reads the records of a collection.
type reader struct {
	*catalogC
	keyAccess []access // for reads that want keys only
}

// planner returns what plans queries by what is known now.
func (c *reader) planner() *planner { return &planner{c.layoutC, c.known()} }
