// Package frame has what is the same in every backend, so that an author writes only what is his store's own.
//
// A backend implements [Backend], a smaller interface than driver.Store, and asks [New] for a [Frame] and
// [Frame.Store] for the store itself. The store calls it with a context that goes on, while nobody closes it, with
// tables that it knows, masks that fit, and ops that can be done. What comes in is what package repo, or any other
// caller, asks of a driver.Store; what goes out is the part of it that a store must decide.
//
// Beside it are the parts that stores on servers have in common: errors ([Name]), pages of a range ([Pager]),
// marks of a walk ([Mark]), what a catalog says of tables ([Entry]), and fields that were declared late ([Table]).
package frame
