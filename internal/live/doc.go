// Package live runs package repo itself while an index is added to a collection that is being written, filled, dropped
// and added again, by programs of several versions, in simulated time (testing/synctest). The protocol that it
// follows is that of internal/evolution.
//
// The sleepers are calls that stop at one place on their way (before a read, after it, before a row in another
// partition, before the commit), in one state of the index, and go on in a later one. There is one for each pair of
// stages, each kind of call and each place, and each has records of its own. Others are a filler that stops and goes on
// after another one took over, and a DropIndex that stops at each of its steps, or sleeps there.
//
// In each stage a program that has just been started, and so knows the newest state, and one that still goes by the
// state before write the same records in turn, and a reader asks the index after each write. An answer has exactly the
// records of that moment, or says that the index cannot be asked. When the index is ready, Verify compares it with the
// records.
//
// Left out are inserts of new keys and patches that read nothing which are sent late: those are the late
// sleepers. Of them, and of no others, an index may lack rows. Verify says so, and Maintain adds them.
package live
