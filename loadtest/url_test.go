package loadtest

import "testing"

func TestRedactAndLocal(t *testing.T) {
	tests := []struct {
		url, redacted string
		local         bool
	}{
		{"memory:", "memory:", true},
		{"pebble:/data/x?sync=false", "pebble:/data/x?sync=false", true},
		{"redis://localhost:6379/0", "redis://localhost:6379/0", true},
		{"redis://user:s3cret@127.0.0.1:6379", "redis://user:***@127.0.0.1:6379", true},
		{"redis://:p@s/s?wd@example.org", "redis://:***@example.org", false},
		{"redis://127.0.0.1:1@example.org:6379", "redis://127.0.0.1:***@example.org:6379", false},
		{"mongodb://localhost,db.example.org/x?password=s3cret&w=1", "mongodb://localhost,db.example.org/x?password=***&w=***", false},
		{"redis://s3cret@localhost", "redis://:***@localhost", true},
		{"redis:me:s3cret@localhost", "redis:me:***@localhost", true},
		{"redis://localhost/?pw=s3cret;p%61ss=s3cret#pass=s3cret", "redis://localhost/?pw=***&p%61ss=***&pass=***", true},
		{"redis://localhost/?s3cret", "redis://localhost/?***", true},
		{"redis://localhost/#s3cret", "redis://localhost/", true},
		{"pebble:/data/me@host#1", "pebble:/data/me@host#1", true},
		{"redis://localhost/0?db=3&pool_size=20&read_timeout=1.5s&prefix=s3cret", "redis://localhost/0?db=3&pool_size=20&read_timeout=1.5s&prefix=***", true},
		{"redis://localhost/0?db=s3cret&read_timeout=3s3cret", "redis://localhost/0?db=***&read_timeout=***", true},
		{"pebble:/data/x?sync=s3cret", "pebble:/data/x?sync=***", true},
		{"mongodb://localhost/db?directConnection=true&replicaSet=rs0&authSource=s3cret", "mongodb://localhost/db?directConnection=true&replicaSet=rs0&authSource=***", true},
		{"cassandra://localhost/ks?replication=1&timeout=5s&dc=s3cret", "cassandra://localhost/ks?replication=1&timeout=5s&dc=***", true},
		{"cassandra://localhost/ks?replication=s3cret:1", "cassandra://localhost/ks?replication=***", true},
		{"redis://[::1]:6379", "redis://[::1]:6379", true},
		{"redis://%2Ftmp%2Fsock", "redis://%2Ftmp%2Fsock", true},
		{"redis://127.0.0.1.example.org", "redis://127.0.0.1.example.org", false},
	}
	for _, tt := range tests {
		if got := Redact(tt.url); got != tt.redacted {
			t.Errorf("Redact(%s) = %s, want %s", tt.url, got, tt.redacted)
		}
		if got := Local(tt.url); got != tt.local {
			t.Errorf("Local(%s) = %v, want %v", tt.url, got, tt.local)
		}
	}
}
