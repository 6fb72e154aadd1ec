package redis_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/redis"
)

var block = regexp.MustCompile("(?ms)^```lua ([a-z]+/[a-z-]+)\n(.*?)^```$")

// The scripts are those that internal/gate/statements.md explains and internal/gate proves.
func TestScriptsAreThoseOfTheDesign(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../internal/gate/statements.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := block.FindAllStringSubmatch(string(text), -1)
	for _, m := range blocks {
		if got := redis.Texts[m[1]]; got != strings.TrimSpace(m[2]) {
			t.Errorf("the script %s differs from the block of internal/gate/statements.md", m[1])
		}
	}
	if len(blocks) != len(redis.Texts) {
		t.Errorf("%d blocks of Lua in internal/gate/statements.md, %d scripts", len(blocks), len(redis.Texts))
	}
}
