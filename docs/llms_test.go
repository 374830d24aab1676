package docs_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write llms.txt")

// indexEntry matches a line of README.md of this directory: the title of a page, its file, and what it is about.
var indexEntry = regexp.MustCompile(`(?m)^- \[([^\]]+)\]\(([\w-]+\.md)\): (.+)$`)

// TestEachGuideIsInTheIndexAndInLLMsTxt: llms.txt is the index of the guides for programs, made from the one for people.
// Spec: https://llmstxt.org
func TestEachGuideIsInTheIndexAndInLLMsTxt(t *testing.T) {
	t.Parallel()
	var want strings.Builder
	want.WriteString(`# Fondaco

> A Go library to write servers and clients of the Model Context Protocol (MCP) in all five of its revisions, and a host that brings many
> servers to many clients.

Each page is plain Markdown. Start with [README.md](README.md); [examples](examples/README.md) are whole
programs; [AGENTS.md](AGENTS.md) is for those who change the code.
`)
	indexed := make(map[string]int)
	for section := range strings.SplitSeq(readPage(t, "README.md"), "\n## ") {
		title, lines, _ := strings.Cut(section, "\n")
		entries := indexEntry.FindAllStringSubmatch(lines, -1)
		if len(entries) == 0 {
			continue
		}
		fmt.Fprintf(&want, "\n## %s\n\n", title)
		for _, m := range entries {
			indexed[m[2]]++
			fmt.Fprintf(&want, "- [%s](docs/%s): %s\n", m[1], m[2], m[3])
		}
	}
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if n := indexed[page]; n != 1 && page != "README.md" {
			t.Errorf("docs/README.md has %d lines for %s, want one: - [TITLE](%s): what it is about", n, page, page)
		}
	}
	if *update {
		if err := os.WriteFile("../llms.txt", []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if readPage(t, "../llms.txt") != want.String() {
		t.Error("llms.txt does not have the lines of docs/README.md: run go test ./docs -run LLMs -update")
	}
}
