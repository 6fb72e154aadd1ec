package backendtest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo/driver/address"
)

// URLOptions sees that the page of the reference has, under the heading of a backend, each option
// of its URLs and none else. Tables of packages of backends lie two folders below the root.
func URLOptions(t *testing.T, backend string, options address.Options) {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/urls.md")
	if err != nil {
		t.Fatal(err)
	}
	if err := optionsIn(string(page), backend, options); err != nil {
		t.Error(err)
	}
	if optionsIn(string(page), backend, options[1:]) == nil || optionsIn(string(page), backend, append(options, address.Option{Name: "x"})) == nil {
		t.Error("an option less, or more, is not noticed")
	}
}

// optionsIn says how the table of a page differs from that of options.
func optionsIn(page, backend string, options address.Options) error {
	_, section, found := strings.Cut(page, "\n## "+backend+"\n")
	if !found {
		return fmt.Errorf("docs/reference/urls.md has no heading %q", backend)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var have strings.Builder
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "| `") {
			have.WriteString(line)
		}
	}
	var want strings.Builder
	for i := range options {
		o := &options[i]
		name := o.Name
		if _, many := o.To.(*[]string); many {
			name += " …"
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", name, o.Takes(), o.Default, o.Does)
	}
	if have.String() != want.String() {
		return fmt.Errorf("docs/reference/urls.md: the table of %s is to be\n%s", backend, want.String())
	}
	return nil
}
