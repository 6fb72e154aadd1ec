package archtest_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo/driver"
)

const (
	longestLine        = 120 // of Markdown, but for tables and code
	longestReadme      = 130
	longestExplanation = 200
)

var (
	mdLink  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	notWord = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// pages returns the texts of the Markdown files below the root, by path from there.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		all[filepath.ToSlash(path[len("../../"):])] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Every relative link of a page leads to a file, and to a heading of it.
func TestLinks(t *testing.T) {
	all := pages(t)
	links := 0
	for path, text := range all {
		for _, m := range mdLink.FindAllStringSubmatch(withoutCode(text), -1) {
			if links++; !strings.Contains(m[1], "://") {
				if err := leads(all, path, m[1]); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
		}
	}
	if links < 40 {
		t.Errorf("%d links were looked at", links)
	}
	for _, link := range []string{"nowhere.md", "README.md#no-such-heading"} {
		if leads(all, "README.md", link) == nil {
			t.Errorf("the link %s leads somewhere", link)
		}
	}
}

// Every file of the code that an explanation names is there.
func TestFilesInDocs(t *testing.T) {
	named := regexp.MustCompile("`((?:repo|loadtest|backends|internal|conformance)/[a-z/]+\\.go)`")
	found := 0
	for path, text := range pages(t) {
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			found++
			if _, err := os.Stat(filepath.Join("../..", m[1])); err != nil {
				t.Errorf("%s names %s, which is not there", path, m[1])
			}
		}
	}
	if found < 4 {
		t.Errorf("%d names of files were looked at", found)
	}
}

// leads says what is wrong with a link of a page.
func leads(all map[string]string, path, link string) error {
	file, heading, _ := strings.Cut(link, "#")
	to := path
	if file != "" {
		to = filepath.ToSlash(filepath.Join(filepath.Dir(path), file))
	}
	if _, err := os.Stat(filepath.Join("../..", to)); err != nil {
		return fmt.Errorf("the link %s leads nowhere", link)
	}
	if heading == "" {
		return nil
	}
	for line := range strings.Lines(all[to]) {
		if title := strings.TrimLeft(line, "#"); title != line && anchor(title) == heading {
			return nil
		}
	}
	return fmt.Errorf("the link %s leads to no heading", link)
}

// anchor returns the name of a heading in links.
func anchor(title string) string {
	return strings.ReplaceAll(notWord.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), ""), " ", "-")
}

// withoutCode leaves blocks of code, and code in lines, out.
func withoutCode(text string) string {
	var out strings.Builder
	for i, part := range strings.Split(text, "```") {
		if i%2 == 0 {
			out.WriteString(part)
		}
	}
	return regexp.MustCompile("`[^`\n]*`").ReplaceAllString(out.String(), "")
}

// Pages are short, and so are their lines.
func TestLengthOfPages(t *testing.T) {
	for path, text := range pages(t) {
		if err := tooLong(path, text); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	for path, text := range map[string]string{
		"README.md":             strings.Repeat("a\n", longestReadme+1),
		"docs/explanation/a.md": strings.Repeat("a\n", longestExplanation+1),
		"docs/a.md":             strings.Repeat("a", longestLine+1),
	} {
		if tooLong(path, text) == nil {
			t.Errorf("nothing of %s is too long", path)
		}
	}
}

// tooLong says what of a page is.
func tooLong(path, text string) error {
	most := map[string]int{"README.md": longestReadme, "docs/explanation": longestExplanation}
	for _, name := range []string{path, filepath.ToSlash(filepath.Dir(path))} {
		if n := strings.Count(text, "\n"); most[name] > 0 && n > most[name] {
			return fmt.Errorf("%d lines, at most %d", n, most[name])
		}
	}
	code := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		if !code && len([]rune(line)) > longestLine && !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "    ") {
			return fmt.Errorf("a line has more than %d columns: %.60s…", longestLine, line)
		}
	}
	return nil
}

// Every kind of a value has a line in the reference.
func TestKindsInReference(t *testing.T) {
	text := pages(t)["docs/reference/records.md"]
	has := func(k driver.Kind) bool { return strings.Contains(text, "\n| `"+k.String()+"` |") }
	for k := driver.Bool; k <= driver.Map; k++ {
		if !has(k) {
			t.Errorf("docs/reference/records.md has no line of the kind %s", k)
		}
	}
	if has(driver.Map + 1) {
		t.Error("docs/reference/records.md has a kind that there is not")
	}
}
