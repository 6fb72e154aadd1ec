// Package everystore has tests of packages on top of repo, which run on every store: in memory, on Pebble, and on real
// servers of Redis, MongoDB and Cassandra.
package everystore
