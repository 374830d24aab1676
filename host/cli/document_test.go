package cli_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the help of the verbs into docs/cli.md")

// verbsHeading is where the help of the verbs begins.
const verbsHeading = "## Verbs\n\n"

func TestDocumentHoldsTheHelpOfEachVerb(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "cli.md")
	document, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(document), verbsHeading)
	if !found {
		t.Fatalf("%s has no heading %q", path, verbsHeading)
	}
	var b strings.Builder
	overview, _, _ := session{}.run(t.Context(), "help")
	verbs := regexp.MustCompile(`(?m)^  ([a-z]+)\b`).FindAllStringSubmatch(overview, -1)
	if len(verbs) < 15 {
		t.Fatalf("got %s, want all verbs", overview)
	}
	for _, verb := range verbs {
		help, _, code := session{}.run(t.Context(), "help", verb[1])
		help, _, _ = strings.Cut(help, "\nexit codes:")
		if code != 0 {
			t.Errorf("%s: got exit code %d", verb[1], code)
		}
		fmt.Fprintf(&b, "### %s\n\n```\n%s```\n\n", verb[1], help)
	}
	want := before + verbsHeading + strings.TrimRight(b.String(), "\n") + "\n"
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(document) != want {
		t.Errorf("%s and the help of the verbs differ; go test ./host/cli -run Document -update writes it", path)
	}
}

func TestDocumentHoldsTheExitCodesOfHelp(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	help, _, _ := session{}.run(t.Context(), "help", "call")
	_, codes, found := strings.Cut(help, "exit codes: ")
	inHelp := regexp.MustCompile(`\b\d+\b`).FindAllString(codes, -1)
	if !found || len(inHelp) != 11 {
		t.Fatalf("got %q, want eleven codes", inHelp)
	}
	for _, code := range inHelp {
		if !strings.Contains(string(document), "\n| "+code+" | ") {
			t.Errorf("docs/cli.md does not explain exit code %s", code)
		}
	}
}
