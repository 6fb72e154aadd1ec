// Package crash kills a writer after each call that a write makes of its store, on every
// kind of store, and looks at what is left: with the store's own driver, without any code
// of this module between, and with a new repository. A record must be as before the write
// or as after it, and so must be all that are written together; every index row belongs to
// its record, or is one that no reader returns and Maintain removes; unique values can be
// taken again; Resolve says what happened.
//
// The writers are processes of their own, this test binary once more, and die by SIGKILL.
// One process has a write of each path under way, and dies when each has made n calls and
// is about to make the next; there is one for every n. The control are writers whose
// commits are torn apart: the same checks must find what they leave.
//
// Programs with packages on the public API of repo are killed likewise, and stopped after
// each change on stores that one process has: links, histories and copies are read by
// these packages and by package repo.
//
//	scripts/servers run redis mongo cassandra -- go test ./internal/crash
package crash
