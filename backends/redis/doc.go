// Package redis is a backend on one Redis server, version 7.0 or later, or on a Redis
// Cluster. It uses the client of github.com/redis/go-redis/v9: [New] takes the
// program's own, [Open] makes one from a URL.
//
// # Promises
//
// A commit with all its index rows is one script, which the server runs alone: all
// or nothing, in one round trip, and what it must refuse it refuses before it
// writes. What an acknowledged commit survives is a matter of the server's
// configuration, and stands in Facts:
//
//	appendonly no          driver.Memory: a server that is killed loses what came after its last snapshot
//	appendfsync everysec   driver.Delayed: a server that is killed loses up to the last two seconds
//	appendfsync no         driver.Process: a loss of power loses the last half minute or more
//	appendfsync always     driver.Power
//
// With everysec the server puts off the write of its log while a sync of it lasts, for two
// seconds at most, and acknowledges commits meanwhile. A server that is killed at that
// moment loses them: on a busy disk that is more than half of the commits of some seconds.
// Replicas follow later than a commit is acknowledged, so a
// failover can lose the last ones.
//
// With Options.MinReplicas a commit is acknowledged when so many replicas have it, by
// WAIT on the same connection. If fewer have it in time, it is done and
// ErrUnknownOutcome; Resolve of package repo says that it was committed when enough
// replicas have it, and not before. What promotes a replica can still choose one that
// lacks it, so the class of durability stays that of the servers' logs. Give the
// servers min-replicas-to-write as well: then they refuse what they could not pass on.
//
// A commit is sent once, whatever MaxRetries of the client is. If it may have left
// and the server did not answer, it is ErrUnknownOutcome, also when the context
// ended. The deadline of a context is heeded while an answer is awaited; a
// cancellation is noticed at once where calls share a pipeline, else before and after
// each round trip, so that at the latest the client's ReadTimeout ends a call.
//
// When eight calls or more are under way on one server they share four pipelines. A
// lone call has a connection to itself. In a cluster, and with MinReplicas, all have.
//
// # Cluster
//
// Keys of one partition have one hash tag, and so one slot: a commit changes records of
// one partition of a table and the indexes of that partition, and Facts.Scope says so.
// The rows of an index with another partition are put before the commit of their record
// and dropped after it (Facts.Remote). A commit goes to the master of its slot and
// follows MOVED and ASK; a server that answers TRYAGAIN, CLUSTERDOWN, LOADING or
// READONLY has done nothing, so it is asked again, for as long as ReadTimeout. After any
// other end it is not sent again. Durability and version are those of the weakest and
// oldest master when the store was opened.
//
// Walk, Drop and Size ask each of the 16,384 slots for the names of a table's keys, some
// thousands at once: that takes some hundredths of a second, however much there is. While a
// slot moves, the commits in it wait. Hooks of the client's servers see what is sent, those of
// the cluster client do not.
//
// # Server
//
// The server must not remove keys by itself: maxmemory-policy is noeviction, or one
// of the volatile ones. With noeviction deleted records go by themselves when they are needed
// no more; with a volatile one, which could take them before, Maintain of package repo must
// remove them. A user needs the commands
// INFO, EVALSHA, SCRIPT LOAD, HGETALL, HMGET, HSETNX, ZRANGE, ZLEXCOUNT, TYPE
// and UNLINK; CLUSTER SLOTS of a cluster; WAIT for MinReplicas; what
// the scripts call, which is HGET, HSET, HLEN, HDEL, HINCRBY, DEL, EXISTS, PEXPIRE, ZADD, ZREM,
// ZCARD and ZREMRANGEBYLEX beside these; MEMORY USAGE for sizes; SELECT for a database but 0;
// PING to find a primary that has moved; TIME, without which nobody sees that the clock of
// the program is wrong; and CONFIG GET, without which the durability
// is taken to be that of appendfsync everysec. The keys that it may use are those of its
// prefix, ~PREFIX:*, or all.
//
// # Layout
//
// P and S are the texts of a key's partition and sort columns, PREFIX is
// Options.Prefix with a colon after it, or nothing. The braces make what belongs
// together lie together in a cluster.
//
//	PREFIX TABLE:{P}S    of records: a hash, one for each
//	PREFIX TABLE:{P}:    of records with sort columns: a sorted set of the S of those that are not
//	                     dead, all with score 0
//	PREFIX TABLE:{N}:    of records without sort columns: a sorted set of the P of those that are
//	                     not dead and lie in one slot, in which N is the least number
//	PREFIX TABLE:{P}     of rows and claims: a sorted set with a member for each: S, 16 bytes of Rev,
//	                     then its fields; of rows of indexes that cover nothing, where no record
//	                     expires: S alone
//	PREFIX _keys         a sorted set of the names of all these sets, and of dead records that do not
//	                     go by themselves; in a cluster there is one in each slot, PREFIX _keys{N}
//	PREFIX _table:TABLE  a hash that describes a table: ".key" has its key columns, and the layout
//	                     number, as JSON, each other field the kind of a field of the table, and
//	                     "later" if the table was there before it
//
// In the hash of a record a declared field has its own name, and one that was not
// declared when it was written has a dot before it. Text and bytes are as they are,
// an int and a time (Unix milliseconds) are decimal digits, a float the fewest
// digits that read back the same, a bool is true or false; lists, maps and
// undeclared fields are tagged JSON. What begins with '_' is the library's: _rev,
// 16 bytes; _ring, 16 bytes for each token; _expires in Unix milliseconds; _dead,
// which is 1; _note.
//
// The fields of rows and claims are one object of tagged JSON, with _expires and
// _note if they have them, or nothing where there are none. Tagged JSON keeps kinds
// apart: an int has digits only, a float a '.' or an exponent, and {"$time": ms},
// {"$bytes": "base64"} and {"$float": "+Inf"} stand for what JSON lacks; a key that
// begins with '$' has one more.
package redis
