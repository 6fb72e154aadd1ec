package workload

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polystore/polystore/loadtest/internal/testload"
)

func TestKindsOfModels(t *testing.T) {
	w := testload.Parsed(t, Parse, testload.Kinds)
	var got []string
	for _, m := range w.Models {
		text := m.Name
		for _, x := range m.Schemas[0].Indexes {
			text += " " + x.Kind + strings.Join(x.Covers, "")
		}
		got = append(got, text)
	}
	if diff := cmp.Diff([]string{"tables table* table", "native native* native", "one native  native", "left open * "}, got); diff != "" {
		t.Errorf("kinds and covers of the indexes (-want +got):\n%s", diff)
	}
}
