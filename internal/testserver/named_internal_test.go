package testserver

import (
	"strings"
	"testing"
)

func TestAddressAndRedact(t *testing.T) {
	for url, want := range map[string]string{
		"redis://127.0.0.1:6379/0":                             "127.0.0.1:6379",
		"redis://s3cret:s3cret@127.0.0.1:6379":                 "127.0.0.1:6379",
		"mongodb://u:s3cr%40et@a:1,b:2/db?replicaSet=s3cret":   "a:1,b:2",
		"mongodb://u:p@s3cret@a:1/?x=y@z":                      "a:1",
		"cassandra://u:s3cret@[::1]:9042/?password=s3cret#s3c": "[::1]:9042",
		"nonsense": "",
	} {
		if got := address(url); got != want {
			t.Errorf("address(%q) = %q, want %q", url, got, want)
		}
		text := redact("cannot use "+url+" as u:s3cr%40et, s3cr@et, password=s3cret", url)
		if !strings.HasPrefix(text, "cannot use …") {
			t.Errorf("redact left %q of %q", text, url)
		}
	}
	url := "mongodb://u:s3cr%40et@a:1"
	if got, want := redact("u:s3cr%40et@ and s3cr%40et and s3cr@et at a:1", url), "… and … and … at a:1"; got != want {
		t.Errorf("redact = %q, want %q", got, want)
	}
}
