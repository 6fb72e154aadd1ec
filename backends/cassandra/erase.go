package cassandra

import "context"

// erase removes the keyspace.
func (s *store) erase(ctx context.Context) error {
	return s.change(ctx, "erase", "DROP KEYSPACE IF EXISTS "+quoted(s.keyspace))
}
