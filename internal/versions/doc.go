// Package versions lets programs of two versions write to a collection of a genuine server, each in a process of its
// own, while an index is added, filled and dropped, and programs are killed and stopped for longer than the lease. Each
// writer knows its own records, so it knows at every moment what an answer must have. See internal/live for the same in
// simulated time, with each place where a program may stop.
package versions
