package repository_test

import (
	"go/ast"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

const advisories = "docs/security/advisories.md"

// A failure means that the page names a test that does not exist, or that a row has no
// result.
func TestAdvisoriesNameTestsThatExist(t *testing.T) {
	page, err := os.ReadFile(advisories)
	if err != nil {
		t.Fatal(err)
	}
	tests, rows := testNames(t), 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !advisoryID.MatchString(cells[1]) {
			continue
		}
		rows++
		shown := shownBy.FindAllStringSubmatch(cells[4], -1)
		if shown == nil && !strings.Contains(cells[4], "open: ") && !strings.Contains(cells[4], "no such part: ") {
			t.Errorf("%s: want a test, open: a topic, or no such part: a name; got %q", strings.TrimSpace(cells[1]), cells[4])
		}
		for _, name := range shown {
			if !tests[name[1]] {
				t.Errorf("%s: there is no test %s", strings.TrimSpace(cells[1]), name[1])
			}
		}
	}
	if rows < 40 {
		t.Errorf("got %d rows, want what is known", rows)
	}
}

var (
	advisoryID = regexp.MustCompile(`(CVE-\d{4}-\d+|GHSA(-\w{4}){3})`)
	shownBy    = regexp.MustCompile("`(\\w+\\.Test\\w+)`")
)

// testNames returns the tests of this module as package.TestName.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	for _, s := range parseSources(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.isTest() && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names[path.Base(path.Dir(s.path))+"."+f.Name.Name] = true
			}
		}
	}
	return names
}
