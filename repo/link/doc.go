// Package link keeps links between records: users and their tags, followers and those whom they follow (N:M). It stands
// on package repo, so it works on every store that has a backend.
//
// A link is a record of two fields, which name its ends, and of any others: since when, by whom. [Links] finds it from
// both ends, on each side in the order that the [Schema] states. [Set] finds the ends that are linked with all, any or
// none of some others. [Join] fetches the records that others name, at once.
//
// What holds on every store:
//
//   - A link is there for both ends or for neither. It is one record, and package repo keeps the rows by which its ends
//     find it in step with it: also while several programs add and remove it, after a crash, and where an answer is lost.
//   - Between two ends there is one link in each direction. Of several callers that add the same link one succeeds, and
//     the others get ErrExists. Of several that remove it one succeeds, and the others get ErrNotFound.
//   - The ends need not be records. A link to what is not there is a link all the same, and who deletes an end removes
//     its links by [Links.RemoveAll].
//
// Many goroutines may use a Links and a Set at once. Errors are those of package repo.
package link
