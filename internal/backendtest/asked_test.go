package backendtest

import (
	"testing"

	"github.com/polystore/polystore/repo"
)

// Requests that do not end, or that are others than the operation has, are noticed.
func TestAskedDiffers(t *testing.T) {
	sent := repo.Event{Depth: 2, Requests: 3}
	for name, tt := range map[string]struct {
		requests []repo.Event
		end      bool
		wrong    bool
	}{
		"as they were":       {[]repo.Event{{Batch: 1, Depth: 1, Requests: 1}, {Batch: 2, Depth: 1, Requests: 2}}, true, false},
		"one is left out":    {[]repo.Event{{Batch: 2, Depth: 2, Requests: 2}}, true, true},
		"one is too many":    {[]repo.Event{{Batch: 3, Depth: 2, Requests: 3}, {Batch: 1, Depth: 1, Requests: 1}}, true, true},
		"none ends":          {[]repo.Event{{Batch: 3, Depth: 2, Requests: 3}}, false, true},
		"fewer trips":        {[]repo.Event{{Batch: 3, Depth: 1, Requests: 3}}, true, true},
		"another batch":      {[]repo.Event{{Batch: 1, Depth: 2, Requests: 3}}, true, true},
		"more than was sent": {[]repo.Event{{Depth: 2}, {}, {}, {Batch: 3, Requests: 3}}, true, true},
	} {
		var a asked
		tracer := a.tracer(nil)
		tracer.Begin(t.Context(), repo.Event{})
		for _, e := range tt.requests {
			if end := tracer.Request(t.Context(), e); tt.end {
				end(e)
			}
		}
		if got := a.differ(sent); (got != "") != tt.wrong {
			t.Errorf("%s: %q, want a difference: %v", name, got, tt.wrong)
		}
	}
}
