package conformance

import "testing"

// A rule that says behind which one it stands, stands there.
func TestPlaces(t *testing.T) {
	all, placed := rules(), 0
	for i, r := range all {
		if r.After == "" {
			continue
		}
		placed++
		if i == 0 || all[i-1].ID() != r.Group+"/"+r.After {
			t.Errorf("%s does not stand behind %q", r.ID(), r.After)
		}
	}
	if placed == 0 {
		t.Error("no rule says where it stands, so this tests nothing")
	}
}
