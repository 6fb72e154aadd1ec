// Package copies keeps copies of fields in step with the records that they are from: a post has the name of its author,
// so one read shows both, and the name follows when the author takes another one. It is the extended reference, and
// with sums in the place of copies the computed pattern, on every store that has a backend. It stands on package repo.
//
// A [Source] is the records that are copied from, a [Target] those with the copies. [Declare] says which copies a
// target has. A write of a source also writes, in its commit, that copies are due. Up to 50 copies change in the same
// commit where the store can change them together. [Source.Follow] brings all others up to date, in the background or
// at once, and may be killed at any point: what is due stays due until it is done.
//
// What holds on every store:
//
//   - A copy that differs from its source is due: [Source.Follow] finds it. That holds also while records of both sides
//     are written, after a crash of any program, and where an answer was lost.
//   - So a copy that was made from an old read does not stay. A target is written on condition that its sources have
//     not changed since they were read. Where no commit has both, the target is written with a note that it is to be
//     looked at, and the note is removed after the sources were read once more.
//   - [Target.Verify] finds copies that differ, whatever wrote them.
//
// This is about writes by a Source and a Target. A write by the plain repository, of the fields that are copied or of
// whole records with copies, and a source that expires, leave nothing due: Verify finds their copies, and
// [Target.Refresh] mends them.
//
// Errors are those of package repo.
package copies
