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

// TestScriptAnywhere runs a copy of the script by a relative name in a folder whose name has
// spaces and signs, for a user who has set CDPATH.
func TestScriptAnywhere(t *testing.T) {
	const name, content = "mongo-6.0.27/mongod", "the right content"
	clone, cache := filepath.Join(t.TempDir(), "a clone (1) of 'mine' & $HOME"), t.TempDir()
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(clone, "scripts", "servers"), string(text))
	write(t, filepath.Join(clone, "scripts", "servers.sha256"), fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(content)), name))
	write(t, filepath.Join(cache, "polystore", name), content)
	for _, paths := range []string{"", ".", "..:."} {
		cmd := command(t, []string{"XDG_CACHE_HOME=" + cache, "CDPATH=" + paths}, "bash", "scripts/servers", "check", "mongo")
		cmd.Dir = clone
		if out, err := cmd.CombinedOutput(); string(out) != "mongo: ready\n" || err != nil {
			t.Errorf("CDPATH=%s: check said %q, %v", paths, out, err)
		}
	}
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
