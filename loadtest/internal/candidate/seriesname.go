package candidate

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/polystore/polystore/loadtest/internal/value"
)

// nameOf returns the name of the series of the records with some values in the fields of their partition: the text of one
// value, or those of several, escaped as parts of a path. Values of one kind have different texts.
func nameOf(values []any) string {
	if len(values) == 1 {
		return textOf(values[0])
	}
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = url.PathEscape(textOf(v))
	}
	return strings.Join(parts, "/")
}

// textOf returns a value as the text that value.FromText reads.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return base64.StdEncoding.EncodeToString(v)
	case time.Time:
		return strconv.FormatInt(v.UnixMilli(), 10)
	}
	return fmt.Sprint(v)
}

// namedBy returns the values, of some kinds, of which nameOf made a name.
func namedBy(name string, kinds []string) ([]any, error) {
	parts := []string{name}
	if len(kinds) > 1 {
		parts = strings.Split(name, "/")
	}
	if len(parts) != len(kinds) {
		return nil, fmt.Errorf("it has %d parts, and its fields are %d", len(parts), len(kinds))
	}
	values := make([]any, len(kinds))
	for i, part := range parts {
		text, err := part, error(nil)
		if len(kinds) > 1 {
			text, err = url.PathUnescape(part)
		}
		if err == nil {
			values[i], err = value.FromText(kinds[i], text, "unix_ms")
		}
		if err != nil {
			return nil, err
		}
	}
	return values, nil
}
