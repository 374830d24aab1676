package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fenced  = regexp.MustCompile("(?sm)^[ \t]*```.*?^[ \t]*```")
	inline  = regexp.MustCompile("`[^`\n]+`")
	unused  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinksOfThePagesLead follows the links between the pages of this directory, README.md
// and the pages of the examples: files and headings must exist.
func TestLinksOfThePagesLead(t *testing.T) {
	t.Parallel()
	followed := 0
	for _, pattern := range []string{"*.md", "../*.md", "../examples/*.md", "../examples/*/*.md"} {
		pages, err := filepath.Glob(pattern)
		if err != nil || len(pages) == 0 {
			t.Fatalf("%s: got %q, %v, want pages", pattern, pages, err)
		}
		for _, page := range pages {
			text := inline.ReplaceAllString(fenced.ReplaceAllString(readPage(t, page), ""), "")
			for _, m := range link.FindAllStringSubmatch(text, -1) {
				if strings.Contains(m[1], ":") {
					continue // another site
				}
				followed++
				if problem := follow(t, page, m[1]); problem != "" {
					t.Errorf("%s: %s: %s", page, m[1], problem)
				}
			}
		}
	}
	if followed < 100 {
		t.Errorf("got %d links, want more", followed)
	}
}

// follow returns what is wrong with a link of a page, or nothing.
func follow(t *testing.T, page, target string) string {
	t.Helper()
	name, anchor, _ := strings.Cut(target, "#")
	file := page
	if name != "" {
		file = filepath.Join(filepath.Dir(page), filepath.FromSlash(name))
	}
	if _, err := os.Stat(file); err != nil {
		return err.Error()
	}
	if anchor == "" || filepath.Ext(file) != ".md" {
		return ""
	}
	for _, h := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(readPage(t, file), ""), -1) {
		words := unused.ReplaceAllString(strings.ToLower(h[1]), "")
		if strings.ReplaceAll(words, " ", "-") == anchor {
			return ""
		}
	}
	return "the page has no such heading"
}
