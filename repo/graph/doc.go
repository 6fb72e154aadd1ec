// Package graph follows edges that are records of package repo: who follows whom, what needs what. It reads in
// batches, level by level, on every store that has a backend.
//
// A [Graph] is directed and has no weights. Its edges have one of two shapes. [OfEdges] takes a collection with a
// record for each edge. [OfLists] takes a collection with a record for each node, which has the list of its
// neighbours. The package only reads: the program writes the records with its own [repo.Repo].
//
// The ID of a node is any text, "" included. With edges, a node is whatever an edge names. With lists, a node is a
// record or whatever a list names. A start without edges is a node without neighbours, whether or not it has a
// record. Several edges between the same two nodes count as one. An edge from a node to itself is a cycle, and
// changes nothing else.
//
// A level is the nodes at the same distance. With edges, the neighbours of a level are one range for each node, 16
// ranges at the same time. With lists, they are one request for each 1,000 nodes, 4 requests at the same time. The
// neighbours of one node are read in pages, so a node may have any number of them.
//
// What holds while others write: every batch is read on its own. An edge that is written or deleted meanwhile may or
// may not be seen, so a path or a cycle may have edges that were never there at the same time. No node is yielded
// twice, and every call ends: [MaxNodes] bounds the nodes that a call holds, and a graph that is larger is an error.
// If nobody writes, the same call gives the same answer, in the same order; only the order of [repo.Repo.Walk], on
// which the choice of the cycle by [Graph.Cycle] depends, is the store's own.
//
// Errors are those of package repo. Texts of errors that this package makes hold no IDs.
package graph
