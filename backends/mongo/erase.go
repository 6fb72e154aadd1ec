package mongo

import "context"

// erase removes the database.
func (s *store) erase(ctx context.Context) error {
	w := make(writer, 0, 128)
	w.begin()
	w.int32("dropDatabase", 1)
	return s.alter(ctx, "erase", w, codeNoNamespace)
}
