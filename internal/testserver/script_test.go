//go:build linux && amd64

package testserver_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestDamagedCacheIsNoticed checks a cache of one file with a copy of the script, whose manifest
// knows that file.
func TestDamagedCacheIsNoticed(t *testing.T) {
	const name, content = "mongo-6.0.27/mongod", "the right content"
	scripts, cache := t.TempDir(), t.TempDir()
	copied, file := filepath.Join(scripts, "servers"), filepath.Join(cache, "polystore", name)
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	write(t, copied, string(text))
	write(t, filepath.Join(scripts, "servers.sha256"), fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(content)), name))
	check := func(state, want string, wantExit int) {
		t.Helper()
		cmd := command(t, []string{"XDG_CACHE_HOME=" + cache}, "bash", copied, "check", "mongo")
		out, _ := cmd.Output()
		if exit := cmd.ProcessState.ExitCode(); string(out) != want || exit != wantExit {
			t.Errorf("%s: check said %q, %d, want %q, %d", state, out, exit, want, wantExit)
		}
	}
	check("no cache", "mongo: not installed\n", 1)
	write(t, file, content)
	check("right", "mongo: ready\n", 0)
	write(t, file, "the wrong content")
	check("wrong", "mongo: "+name+" is damaged\n", 1)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	check("missing", "mongo: "+name+" is damaged\n", 1)
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}
