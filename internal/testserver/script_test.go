//go:build linux && amd64

package testserver_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// A fakeJava is a Java 17 that is a server and, told to end, takes some seconds and then writes
// its class archive, or none.
const fakeJava = `#!/usr/bin/env bash
if [[ $1 == -version ]]; then echo 'openjdk version "17.0.1"' >&2; exit; fi
for word; do case $word in
  -XX:ArchiveClassesAtExit=*) archive=${word#*=} ;;
  -XX:SharedArchiveFile=*) echo "with $(<"${word#*=}")" ;;
esac; done
trap 'sleep %s; if [[ -n "%s" ]]; then echo "%[2]s" >"$archive"; fi; exit' TERM
echo "Starting listening for CQL clients"
if [[ -z ${archive:-} ]]; then exit; fi
while :; do sleep 0.05; done
`

// TestClassArchive installs Cassandra with a Java that takes longer to write its class archive
// than an idle machine would, and with one that writes none.
func TestClassArchive(t *testing.T) {
	const jar = "cassandra-5.0.9/jamm-1.jar"
	const none = "wrote no class archive; servers start without it"
	for _, tt := range []struct{ name, takes, archive, started string }{
		{"at once", "0", "classes", "with classes\nStarting listening for CQL clients\n"},
		{"slowly", "12", "classes", "with classes\nStarting listening for CQL clients\n"},
		{"none", "0", "", "Starting listening for CQL clients\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			scripts, cache, home := t.TempDir(), t.TempDir(), t.TempDir()
			text, err := os.ReadFile(script)
			if err != nil {
				t.Fatal(err)
			}
			copied := filepath.Join(scripts, "servers")
			write(t, copied, string(text))
			write(t, filepath.Join(scripts, "servers.sha256"), fmt.Sprintf("%x  %s\n", sha256.Sum256(nil), jar))
			write(t, filepath.Join(scripts, "cassandra", "cassandra.yaml"), "")
			write(t, filepath.Join(cache, "polystore", jar), "")
			write(t, filepath.Join(home, "bin", "java"), fmt.Sprintf(fakeJava, tt.takes, tt.archive))
			run := func(args ...string) string {
				cmd := command(t, []string{"XDG_CACHE_HOME=" + cache, "JAVA_HOME=" + home}, "bash", append([]string{copied}, args...)...)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Errorf("%q: %v\n%s", args, err, out)
				}
				return string(out)
			}
			if out := run("install", "cassandra"); !strings.Contains(out, "cassandra: installed\n") || strings.Contains(out, none) != (tt.archive == "") {
				t.Errorf("install said %q", out)
			}
			if out := run("check", "cassandra"); out != "cassandra: ready\n" {
				t.Errorf("check said %q", out)
			}
			if out := run("install", "cassandra"); out != "" {
				t.Errorf("the second install does something: %q", out)
			}
			if out := run("exec", "cassandra", filepath.Join(t.TempDir(), "data"), "127.0.0.1", "9042"); out != tt.started {
				t.Errorf("a server said %q, want %q", out, tt.started)
			}
		})
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
