package repository_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEachLimitIsInTheTables compares the names of limits with the last column of
// docs/limits.md.
func TestEachLimitIsInTheTables(t *testing.T) {
	t.Parallel()
	code, err := os.ReadFile("mcp/limit.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	var defined, listed []string
	for _, m := range regexp.MustCompile(`Limit += "([^"]+)"`).FindAllSubmatch(code, -1) {
		defined = append(defined, string(m[1]))
	}
	servers := string(page)[strings.Index(string(page), "## Servers"):]
	for line := range strings.SplitSeq(servers, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), "|")
		if len(cells) != 5 {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[4], -1) {
			listed = append(listed, m[1])
		}
	}
	slices.Sort(defined)
	slices.Sort(listed)
	if listed = slices.Compact(listed); len(defined) == 0 || !slices.Equal(defined, listed) {
		t.Errorf("defined %q\nlisted  %q\nwant the same", defined, listed)
	}
}
