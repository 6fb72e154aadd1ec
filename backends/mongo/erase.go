package mongo

import (
	"context"

	"github.com/polystore/polystore/backends/mongo/internal/bson"
)

// erase removes the database.
func (s *store) erase(ctx context.Context) error {
	w := make(bson.Writer, 0, 128)
	w.Begin()
	w.Int32("dropDatabase", 1)
	return s.alter(ctx, "erase", w, codeNoNamespace)
}
