package candidate

import (
	"context"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/store"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// Through returns the candidate as a client has it that reaches the store on another way.
func (c *Candidate) Through(ctx context.Context, w *workload.Workload, s *store.Store) (*Candidate, error) {
	own := *c
	own.Store = s
	own.forget()
	prefix := strings.TrimSuffix(c.Names[0], w.Collections[0].Schema.Collection)
	for _, of := range w.Collections {
		if _, err := own.openOne(ctx, of, prefix); err != nil {
			return nil, err
		}
	}
	return &own, connect(&own, w)
}
