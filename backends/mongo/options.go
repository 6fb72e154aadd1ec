package mongo

import (
	"strings"
)

// defaultDatabase is the database where neither a URL nor Options name one.
const defaultDatabase = "polystore"

// Options are the choices of New. The zero Options are good.
type Options struct {
	// Database is the name of the database; "" is "polystore".
	Database string

	// Prefix begins the names of all collections, followed by a colon, so that several
	// programs can share a database. It is made of letters, digits, '_' and '-' and has
	// at most 40 bytes; "" is none.
	Prefix string

	// AllowFerretDB takes a server that is FerretDB, which is refused otherwise: it looks
	// for a row and changes it in two steps, so that of two programs which change it
	// at once both are told that they did. Only for programs that write alone.
	AllowFerretDB bool
}

// use makes the store one of the database and prefix of o.
func (s *store) use(o *Options) error {
	s.conn.db, s.catalog.prefix = o.Database, o.Prefix
	if s.conn.db == "" {
		s.conn.db = defaultDatabase
	}
	switch s.conn.db {
	case "admin", "local", "config":
		return who.Invalid("open: the database %s is the server's own: name another", s.conn.db)
	}
	if len(s.conn.db) > 63 || strings.ContainsAny(s.conn.db, "/\\. \"$*<>:|?\x00") {
		return who.Invalid("open: the database %.100q: want a name of at most 63 bytes without any of / \\ . $ * < > : | ? space and quotes", s.conn.db)
	}
	if s.catalog.prefix == "" {
		return nil
	}
	if len(s.catalog.prefix) > 40 || strings.Trim(strings.ToLower(s.catalog.prefix), "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
		return who.Invalid("open: the prefix %.100q; want at most 40 letters, digits, '_' and '-'", s.catalog.prefix)
	}
	s.catalog.prefix += ":"
	return nil
}
