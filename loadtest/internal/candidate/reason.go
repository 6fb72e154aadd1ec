package candidate

import (
	"errors"
	"regexp"
	"strings"

	"github.com/polystore/polystore/repo"
)

// orderCall is how the library spells an order.
var orderCall = regexp.MustCompile(`Order\(([^)]*)\)`)

// reason returns what the library says is wrong, with the remedy of a workload
// file instead of that of a program.
func reason(err error) string {
	var e *repo.Error
	if errors.As(err, &e) {
		err = e.Err
	}
	text := strings.TrimSuffix(err.Error(), ": "+repo.ErrInvalid.Error())
	text = orderCall.ReplaceAllString(text, "order: [$1]")
	return strings.NewReplacer(
		"Partition:", "partition:", "Sort:", "sort:", "Unique:", "unique:", "Buckets:", "buckets:",
		"use Walk, or Scan", "add conditions, or let the model scan (scan: true)",
		"or use Scan", "or let the model scan (scan: true)").Replace(text)
}
