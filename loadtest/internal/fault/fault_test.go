package fault_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/polystore/polystore/loadtest/internal/fault"
)

func TestParse(t *testing.T) {
	got, err := fault.Parse("slow@3s:1s:20ms, cut@0s:1s,freeze@1s:500ms,pause@9s:1s,kill@8s,kill@10s:1s")
	want := []fault.Fault{
		{Kind: "cut", For: time.Second}, {Kind: "freeze", At: time.Second, For: 500 * time.Millisecond},
		{Kind: "slow", At: 3 * time.Second, For: time.Second, Delay: 20 * time.Millisecond},
		{Kind: "kill", At: 8 * time.Second}, {Kind: "pause", At: 9 * time.Second, For: time.Second},
		{Kind: "kill", At: 10 * time.Second, For: time.Second},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	for i, want := range map[int]string{2: "slow@3s:1s:20ms", 3: "kill@8s", 5: "kill@10s:1s"} {
		if text := got[i].String(); text != want || got[i].OfServer() != (i > 2) {
			t.Errorf("it is written as %s, want %s", text, want)
		}
	}
	for _, tt := range []struct{ list, want string }{
		{"", "want cut@AT:FOR"},
		{"burn@1s:1s", `there is no fault "burn@1s:1s"; want cut@AT:FOR, freeze@AT:FOR, slow@AT:FOR:DELAY, kill@AT or pause@AT:FOR`},
		{"kill@1s:1s:1s", "want kill@AT or kill@AT:FOR"},
		{"kill@1s:0s", "less than it can be"},
		{"pause@1s", "want pause@AT:FOR"},
		{"cut", "want cut@AT:FOR"},
		{"cut@1s", "want cut@AT:FOR"},
		{"cut@1s:1s:1s", "want cut@AT:FOR"},
		{"slow@1s:1s", "want slow@AT:FOR:DELAY"},
		{"cut@1:1s", `"1" in the fault "cut@1:1s" is no time`},
		{"cut@-1s:1s", "none is negative"},
		{"cut@1s:0s", "less than it can be"},
		{"slow@1s:1s:-5ms", "none is negative"},
		{"cut@1s:100h", "more than 4h0m0s"},
		{"cut@1s:2s,freeze@2s:1s", "freeze@2s:1s begins before cut@1s:2s has ended, at 3s"},
		{"cut@1s:2s,", "there is no fault"},
	} {
		if list, err := fault.Parse(tt.list); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, %v; want %q", tt.list, list, err, tt.want)
		}
	}
}

func TestLength(t *testing.T) {
	list := []fault.Fault{{Kind: "cut", At: time.Second, For: time.Second}}
	for _, tt := range []struct {
		given, want time.Duration
		fails       string
	}{
		{0, 12 * time.Second, ""}, {3 * time.Second, 3 * time.Second, ""},
		{2 * time.Second, 0, "as by --for 12s"}, {-time.Second, 0, "cannot last -1s"},
	} {
		got, err := fault.Length(list, tt.given)
		if got != tt.want || (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%v: %v, %v", tt.given, got, err)
		}
	}
}

// The URL of a client that goes through a proxy is the same but for the address; a server of MongoDB is not asked where
// it is. Nothing that is wrong with a URL quotes it.
func TestDetour(t *testing.T) {
	for url, want := range map[string]string{
		"redis://:s3cret@localhost/2?prefix=a":       "redis://:s3cret@ADDR/2?prefix=a",
		"mongodb://127.0.0.1:9/db?replicaSet=rs0":    "mongodb://ADDR/db?directConnection=true&replicaSet=rs0",
		"mongodb://127.0.0.1":                        "mongodb://ADDR/?directConnection=true",
		"cassandra://[::1]:9042/space?replication=1": "cassandra://ADDR/space?replication=1",
	} {
		got, p, err := fault.Detour(url)
		if err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		p.Close()
		if want = strings.Replace(want, "ADDR", p.Addr(), 1); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
	for url, want := range map[string]string{
		"memory:": "no network", "pebble:/tmp/a,b": "no network", "unix:///s3cret": "socket", "mongodb+srv://a:s3cret@b": "DNS",
		"mongodb://a:s3cret@b,c/db": "several", "redis://:s3cret@%": "no host", "redis:": "no host",
	} {
		if err := fault.Possible(url); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, want %s", url, err, want)
		}
	}
}
