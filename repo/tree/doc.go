// Package tree keeps hierarchies in a NoSQL store: categories, departments, threads, folders. It stands on package
// repo, so a tree works on every store that has a backend, and every read, write and error of it is one of package
// repo.
//
// A [Forest] is a collection of trees. Its records are structs of the program that embed a [Node]. A [Tree] has one
// root or several; siblings are in the order that the program gives them. The parent of a node and its place among
// the siblings are the truth; what a [Strategy] keeps beside these makes some reads cheaper, and some writes dearer.
// All strategies give the same answers.
//
// What holds on every store, whoever writes at the same time, and whoever is killed at whatever point:
//
//   - No node lies below itself, and none below a node that is not there.
//   - No node is lost or doubled: a move is one step for every reader, also where it writes all that is below the
//     node. Who comes next ends what a killed program has begun.
//   - A read of several nodes (ancestors, descendants) is of one state of the structure. It begins again where a move
//     or a deletion comes in between.
//
// A tree lies in one partition, unless its Schema says Spread: its nodes, and a guard that moves and deletions of
// subtrees write. Inserts do not write the guard: those below different parents do not meet. The partition bounds how
// large and how busy a tree can be; a forest has any number of trees.
//
// Every call begins again when others are faster, for a while; then it is repo.ErrContention, which may be tried
// again. After repo.ErrUnknownOutcome look whether the change is there. The methods of a Forest and of a Tree may be
// called by many goroutines at once.
package tree
