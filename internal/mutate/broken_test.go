package mutate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// variantVariable is the number of the variant that a test binary with all of them is.
const variantVariable = "POLYSTORE_TEST_VARIANT"

const (
	patient   = 8 * time.Minute // of the build, and of a proof
	mostSeeds = 20_000          // that a variant may need
)

// A variant is package repo with some texts replaced.
type variant struct {
	name  string
	edits []edit
	proof proof  // that notices it
	want  string // what that says then: a regular expression
}

// A proof is what TestProof looks at, and its flags.
type proof struct{ by, flags string } // the flags with line ends between

// bySeeds is runs at random, until one of them notices.
func bySeeds() proof { return seedsTo(mostSeeds) }

func seedsTo(most int) proof { return proof{"seeds", fmt.Sprint("-seeds=", most)} }

// byScenario is all runs of a scenario, remote indexes and all, in which clients that could
// go on lose their turn so often at most.
func byScenario(name string, faults, switches int) proof {
	return proof{"scenario", fmt.Sprintf("-scenario=%s\n-faults=%d\n-switches=%d", name, faults, switches)}
}

func byRule(name string) proof { return proof{"rules", "-rules=" + name} }

// byOthers is byRule on a store that other programs may have open.
func byOthers(name string) proof { return proof{"others", "-rules=" + name} }

// build makes the test binary that has all variants.
func build(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	list, err := overlay(root, dir, variants())
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "variants.test")
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", list, "-o", bin, ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the variants cannot be built: %v\n%s", err, out)
	}
	return bin
}

// prove makes a proof of a variant, 0 being the code as it is, and returns what it said.
// Broken says that it failed.
func prove(t *testing.T, bin string, number int, p proof) (said string, broken bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	args := []string{"-test.v", "-test.run=^TestProof$", "-by=" + p.by}
	cmd := exec.CommandContext(ctx, bin, append(args, strings.Split(p.flags, "\n")...)...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", variantVariable, number))
	out, err := cmd.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed || ctx.Err() != nil {
		t.Fatalf("the proof does not end: %v\n%s", err, out)
	}
	if !strings.Contains(string(out), "=== RUN   TestProof") {
		t.Fatalf("there is no proof:\n%s", out)
	}
	return string(out), err != nil
}

// Each variant breaks what it should, and the proof that is about it says so; where nothing
// is broken, no proof says anything, in as many runs as the variants needed.
func TestVariants(t *testing.T) {
	bin := build(t)
	var mu sync.Mutex
	needed := 0 // seeds
	t.Run("broken", func(t *testing.T) {
		for i, v := range variants() {
			t.Run(v.name, func(t *testing.T) {
				t.Parallel()
				said, broken := prove(t, bin, 1+i, v.proof)
				found := regexp.MustCompile(`(?:seed (\d+) )?` + v.want).FindStringSubmatch(said)
				if !broken || found == nil {
					t.Fatalf("the proof fails: %v; it should, and say %q:\n%.6000s", broken, v.want, said)
				}
				t.Log(strings.TrimSpace(found[0]))
				seed, _ := strconv.Atoi(found[1]) // none where that is not the proof
				mu.Lock()
				defer mu.Unlock()
				needed = max(needed, seed)
			})
		}
	})
	t.Run("whole", func(t *testing.T) {
		for _, p := range proofs(needed) {
			t.Run(p.by, func(t *testing.T) {
				t.Parallel()
				if said, broken := prove(t, bin, 0, p); broken {
					t.Errorf("%q fails:\n%.6000s", p, said)
				}
			})
		}
	})
}

// proofs returns each proof once, with so many seeds.
func proofs(seeds int) []proof {
	list := []proof{seedsTo(seeds)}
	for _, v := range variants() {
		if v.proof.by != "seeds" && !slices.Contains(list, v.proof) {
			list = append(list, v.proof)
		}
	}
	return list
}

// A text that is not there, or is there twice, is told by name, and so is a variant that
// changes more than functions.
func TestTextsMustFit(t *testing.T) {
	for _, tt := range []struct {
		text string
		ok   bool
	}{{"a b", true}, {"a a b", false}, {"b", false}} {
		got, err := edit{"x.go", "a", "c"}.apply(tt.text)
		if (err == nil) != tt.ok || tt.ok && got != "c b" || err != nil && !strings.Contains(err.Error(), "x.go") {
			t.Errorf("%q becomes %q, %v", tt.text, got, err)
		}
	}
	for _, e := range []edit{{"commit.go", "no such text", ""}, {"commit.go", "const maxAttempts = 50", "const maxAttempts = 51"}} {
		_, err := blended("../../repo", []variant{{name: "odd", edits: []edit{e}}})
		if err == nil || !strings.Contains(err.Error(), "commit.go") || !strings.Contains(err.Error(), `"odd"`) {
			t.Errorf("an edit that does not fit: %v", err)
		}
	}
}

// A function goes on to that of the variant that is chosen, with what it was given.
func TestFunctionsGoOn(t *testing.T) {
	const text = "package p\n\nfunc (t *T) f(a, b int, c ...string) (int, error) {\n\treturn a, nil\n}\n\nfunc g() {\n\tx()\n}\n"
	own, err := parse("p.go", text)
	if err != nil {
		t.Fatal(err)
	}
	b := &blend{file: "p.go", own: own, chosen: map[string][]int{}}
	err1 := b.add(7, strings.Replace(text, "return a", "return b", 1))
	err2 := b.add(8, strings.Replace(text, "x()", "y()", 1))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	want := "package p\n\nfunc (t *T) f(a, b int, c ...string) (int, error) {\n\tif brokenVariant == 7 {\n\t\treturn t.fVariant7(a, b, c...)\n\t}\n\treturn a, nil\n}\n\n" +
		"func g() {\n\tif brokenVariant == 8 {\n\t\tgVariant8()\n\t\treturn\n\t}\n\tx()\n}\n" +
		"\nfunc (t *T) fVariant7(a, b int, c ...string) (int, error) {\n\treturn b, nil\n}\n\nfunc gVariant8() {\n\ty()\n}\n"
	if got := b.text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
