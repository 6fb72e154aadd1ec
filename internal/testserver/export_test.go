package testserver

// Open is what Shared does without a test.
var Open = openShared

// Dir is the folder that holds all that the server left on disk.
func (s *Server) Dir() string { return s.guard.dir }

// Variable names the variable that names a server.
func (s Store) Variable() string { return s.kind().variable }
