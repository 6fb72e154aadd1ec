// Package versions lets programs of three versions write to a collection of a genuine server, each in a process of its
// own, while an index is added, changed, dropped and taken back, and programs and fillers are killed and stopped for
// longer than the lease. A changed index is two others in its place, one of them unique, and a third one that MongoDB
// keeps. Each writer knows its own records, so it knows at every moment what an answer must have. Whenever an index is
// ready or dropped, the rows of all indexes are read by the store's own driver, and compared with the records.
//
// See internal/live for the same in simulated time, with each place where a program may stop.
//
//	scripts/servers run -- go test ./internal/versions
//	scripts/servers run -- go test ./internal/versions -v -parallel 4 -timeout 0 -args -for 10m -servers-die
package versions
