// Package plan decides how a query is answered. It reads nothing: no context and no store are known here.
// A query, a layout and what the catalog knows come in; a Plan goes out, or an error that names the index to add.
package plan
