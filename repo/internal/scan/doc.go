// Package scan does plans: it reads pages, matches, merges and verifies rows, and leaves out what has expired.
// A plan comes in; records, keys, counts or pages go out.
package scan
