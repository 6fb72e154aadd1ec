package store

import "testing"

func TestRedact(t *testing.T) {
	tests := []struct {
		url, redacted string
	}{
		{"memory:", "memory:"},
		{"pebble:/data/x?sync=false", "pebble:/data/x?sync=false"},
		{"redis://localhost:6379/0", "redis://localhost:6379/0"},
		{"redis://user:s3cret@127.0.0.1:6379", "redis://user:***@127.0.0.1:6379"},
		{"redis://:p@s/s?wd@example.org", "redis://:***@example.org"},
		{"redis://127.0.0.1:1@example.org:6379", "redis://127.0.0.1:***@example.org:6379"},
		{"mongodb://localhost,db.example.org/x?password=s3cret&w=1", "mongodb://localhost,db.example.org/x?password=***&w=***"},
		{"redis://s3cret@localhost", "redis://:***@localhost"},
		{"redis:me:s3cret@localhost", "redis:me:***@localhost"},
		{"cassandra://bob:12?s3cret@localhost/k", "cassandra://bob:***@localhost/k"},
		{"redis://s3cret?x:y@localhost", "redis://:***@localhost"},
		{"s3cret@localhost:6379", "***@localhost:6379"},
		{"redis//me:s3cret@localhost", "***@localhost"},
		{"redis://me:s3cretlocalhost:6379/0", "redis://***/0"},
		{"cassandra://me:12/s3cret!localhost/k", "cassandra://me:12/***"},
		{"unix:///run/redis.sock?db=1", "unix:///run/redis.sock?db=1"},
		{"redis://me@localhost?password_env=BLOG_PASSWORD&password_file=/s3cret", "redis://me@localhost?password_env=BLOG_PASSWORD&password_file=***"},
		{"redis://localhost/?pw=s3cret;p%61ss=s3cret#pass=s3cret", "redis://localhost/?pw=***&p%61ss=***&pass=***"},
		{"redis://localhost/?s3cret", "redis://localhost/?***"},
		{"redis://localhost/#s3cret", "redis://localhost/"},
		{"pebble:/data/me@host#1", "pebble:/data/me@host#1"},
		{"redis://localhost/0?db=3&pool_size=20&read_timeout=1.5s&prefix=s3cret", "redis://localhost/0?db=3&pool_size=20&read_timeout=1.5s&prefix=***"},
		{"redis://localhost/0?db=s3cret&read_timeout=3s3cret", "redis://localhost/0?db=***&read_timeout=***"},
		{"pebble:/data/x?sync=s3cret", "pebble:/data/x?sync=***"},
		{"mongodb://localhost/db?directConnection=true&replicaSet=rs0&authSource=s3cret", "mongodb://localhost/db?directConnection=true&replicaSet=rs0&authSource=***"},
		{"cassandra://localhost/ks?replication=1&timeout=5s&dc=s3cret", "cassandra://localhost/ks?replication=1&timeout=5s&dc=***"},
		{"cassandra://localhost/ks?replication=s3cret:1", "cassandra://localhost/ks?replication=***"},
		{"redis://[::1]:6379", "redis://[::1]:6379"},
		{"redis://%2Ftmp%2Fsock", "redis://%2Ftmp%2Fsock"},
		{"redis://127.0.0.1.example.org", "redis://127.0.0.1.example.org"},
	}
	for _, tt := range tests {
		if got := Redact(tt.url); got != tt.redacted {
			t.Errorf("Redact(%s) = %s, want %s", tt.url, got, tt.redacted)
		}
	}
}
