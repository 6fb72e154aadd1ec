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
	s.db, s.prefix, s.ferret = o.Database, o.Prefix, o.AllowFerretDB
	if s.db == "" {
		s.db = defaultDatabase
	}
	switch s.db {
	case "admin", "local", "config":
		return who.Invalid("open: the database %s is the server's own: name another", s.db)
	}
	if len(s.db) > 63 || strings.ContainsAny(s.db, "/\\. \"$*<>:|?\x00") {
		return who.Invalid("open: the database %.100q: want a name of at most 63 bytes without any of / \\ . $ * < > : | ? space and quotes", s.db)
	}
	if s.prefix == "" {
		return nil
	}
	if len(s.prefix) > 40 || strings.Trim(strings.ToLower(s.prefix), "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
		return who.Invalid("open: the prefix %.100q; want at most 40 letters, digits, '_' and '-'", s.prefix)
	}
	s.prefix += ":"
	return nil
}
