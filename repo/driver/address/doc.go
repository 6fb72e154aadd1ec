// Package address is for backends on servers that are named by a URL: what its options say, where
// the password is, and how a connection is made. A backend describes its options in one table, [Options],
// by which they are read, refused with the remedy, and documented.
//
// No error quotes a URL, or the name of an option that nobody knows: with a '?' or '@' in a password
// that is not escaped, either can be a part of it.
package address
