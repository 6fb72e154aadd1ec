// Package wire is how commands get to Redis servers and their answers back. What comes in are commands of
// go-redis: such as only read, and commits, which are sent once. What goes out are replies, which are read where
// they lie, and errors that say whether a server answered.
//
// A [Line] sends the commands of concurrent calls in one pipeline, a [Router] finds the server of a cluster that has
// a key, and a [Waiter] has a commit wait for replicas. The package knows nothing of tables and rows.
package wire
