// Package store is a backend with the options under which it is used. All that is sent to a backend goes through it, and is counted.
// Calls come in; rows and refusals go out.
package store
