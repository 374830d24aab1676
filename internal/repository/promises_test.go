package repository_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

const promises = "docs/security/promises.md"

// A promise is a sentence, or the first cell of a row of a table, of one page.
type promise struct {
	page, text string
	tests      []string // as package.TestName
	reason     string   // why no test shows it, or empty
}

// A failure means that the page of promises names a test that does not exist, or quotes what
// no page says.
func TestPromisesAreQuotedAndNameTestsThatExist(t *testing.T) {
	claim.Shows(t, "R-360")
	tests, pages := testNames(t), make(map[string]string)
	for _, p := range readPromises(t) {
		if _, ok := pages[p.page]; !ok {
			pages[p.page] = oneLine(readPage(t, p.page))
		}
		if !strings.Contains(pages[p.page], oneLine(p.text)) {
			t.Errorf("%s does not say %q", p.page, p.text)
		}
		if len(p.tests) == 0 && p.reason == "" {
			t.Errorf("%s: %q: want a test, or not tested: and the reason", p.page, p.text)
		}
		for _, name := range p.tests {
			if !tests[name] {
				t.Errorf("%s: %q: there is no test %s", p.page, p.text, name)
			}
		}
	}
}

// A failure means that docs/limits.md has a limit and the page of promises does not say which
// test shows it.
func TestEachLimitIsAPromise(t *testing.T) {
	var shown []string
	for _, p := range readPromises(t) {
		if p.page == "docs/limits.md" {
			shown = append(shown, p.text)
		}
	}
	for line := range strings.SplitSeq(readPage(t, "docs/limits.md"), "\n") {
		cells := cellsOf(line)
		if len(cells) < 3 || cells[0] == "what" || strings.HasPrefix(cells[0], "---") {
			continue
		}
		if !slices.Contains(shown, cells[0]) {
			t.Errorf("docs/limits.md: %q is not in %s", cells[0], promises)
		}
	}
}

// A failure means that a page names a test that does not exist, or that a row of the threat
// model in SECURITY.md names none.
func TestPagesNameTestsThatExist(t *testing.T) {
	tests := testNames(t)
	alone := make(map[string]bool)
	for name := range tests {
		_, test, _ := strings.Cut(name, ".")
		alone[test] = true
	}
	for _, page := range []string{"SECURITY.md", "docs/hosting.md", "docs/approvals.md", "docs/host-access.md", "docs/host-store.md", "docs/relaying.md", "docs/aggregation.md", "docs/consent.md", "docs/audit.md", "docs/policy.md", "docs/limits.md", "docs/compatibility.md"} {
		for _, m := range namedTest.FindAllStringSubmatch(readPage(t, page), -1) {
			if !tests[m[1]] && !alone[m[1]] {
				t.Errorf("%s: there is no test %s", page, m[1])
			}
		}
	}
	_, model, _ := strings.Cut(readPage(t, "SECURITY.md"), "## Threat model")
	rows := 0
	for line := range strings.SplitSeq(model, "\n") {
		cells := cellsOf(line)
		if len(cells) != 3 || cells[0] == "who" || strings.HasPrefix(cells[0], "---") {
			continue
		}
		rows++
		if !namedTest.MatchString(cells[2]) {
			t.Errorf("SECURITY.md: what stands against %q names no test", cells[0])
		}
	}
	if rows < 20 {
		t.Errorf("got %d rows, want the threat model", rows)
	}
}

// namedTest matches a test, with or without its package.
var namedTest = regexp.MustCompile("`((?:\\w+\\.)?Test[A-Z]\\w+)`")

// readPromises reads the tables of the page of promises. Each heading names a page.
func readPromises(t *testing.T) (list []promise) {
	t.Helper()
	var page string
	for line := range strings.SplitSeq(readPage(t, promises), "\n") {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			page = name
		}
		cells := cellsOf(line)
		if len(cells) != 2 || cells[0] == "promise" || strings.HasPrefix(cells[0], "---") {
			continue
		}
		p := promise{page: page, text: cells[0]}
		for _, name := range shownBy.FindAllStringSubmatch(cells[1], -1) {
			p.tests = append(p.tests, name[1])
		}
		_, p.reason, _ = strings.Cut(cells[1], "not tested: ")
		list = append(list, p)
	}
	if len(list) < 100 {
		t.Fatalf("%s has %d promises, want those of all pages", promises, len(list))
	}
	return list
}

// cellsOf returns the cells of a line of a table, nil for another line.
func cellsOf(line string) []string {
	if !strings.HasPrefix(line, "| ") {
		return nil
	}
	cells := strings.Split(strings.Trim(line, "| "), " | ")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

func readPage(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

var blanks = regexp.MustCompile(`\s+`)

func oneLine(text string) string { return blanks.ReplaceAllString(text, " ") }
