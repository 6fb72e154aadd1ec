// Package limit has the bounds that hold on every store: of keys, records, groups and pages, and how long what others may need is kept.
// Nothing comes in; constants go out.
package limit
