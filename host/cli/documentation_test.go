package cli_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/host/consent"
)

var update = flag.Bool("update", false, "write the help of the commands into docs/cli.md")

// commandsHeading is where the help of the commands begins.
const commandsHeading = "## Commands\n\n"

func TestDocumentationHasTheHelpOfEachCommand(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "cli.md")
	document, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(document), commandsHeading)
	if !found {
		t.Fatalf("%s has no heading %q", path, commandsHeading)
	}
	var b strings.Builder
	overview, _, _ := session{}.run(t.Context(), "help")
	overview, _, _ = strings.Cut(overview, "\nexit codes:")
	names := regexp.MustCompile(`(?m)^  ([a-z]+)\b`).FindAllStringSubmatch(overview, -1)
	if len(names) < 15 {
		t.Fatalf("got %s, want all commands", overview)
	}
	for _, name := range names {
		help, _, code := session{}.run(t.Context(), "help", name[1])
		if code != 0 {
			t.Errorf("%s: got exit code %d", name[1], code)
		}
		usage, rest, _ := strings.Cut(help, "\n")
		if _, example, _ := strings.Cut(rest, "\nexample:"); strings.Contains(example, " -- ") && !strings.Contains(usage, "-- COMMAND") {
			t.Errorf("%s: got %q, want the command after -- that its example has", name[1], usage)
		}
		fmt.Fprintf(&b, "### %s\n\n```\n%s```\n\n", name[1], help)
	}
	want := before + commandsHeading + strings.TrimRight(b.String(), "\n") + "\n"
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(document) != want {
		t.Errorf("%s and the help of the commands differ; go test ./host/cli -run Document -update writes it", path)
	}
}

func TestDocumentationHasTheExitCodesOfHelp(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	help, _, _ := session{}.run(t.Context(), "help")
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

func TestDocumentationHasTheMembersOfJSON(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	for command, written := range map[string]reflect.Type{"servers": reflect.TypeFor[host.Status](), "inbox": reflect.TypeFor[consent.Question]()} {
		_, row, _ := strings.Cut(string(document), "\n| `"+command+"` | ")
		row, _, _ = strings.Cut(row, "\n")
		for field := range written.Fields() {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); !strings.Contains(row, "`"+name+"`") {
				t.Errorf("docs/cli.md does not say that the JSON of %s has %q", command, name)
			}
		}
	}
}

func TestHelpOfConnectNamesEachClient(t *testing.T) {
	t.Parallel()
	help, _, _ := session{}.run(t.Context(), "help", "connect")
	for _, c := range config.Clients() {
		if !regexp.MustCompile(`\b` + regexp.QuoteMeta(c.ID) + `\b`).MatchString(help) {
			t.Errorf("got %s, want %s", help, c.ID)
		}
	}
}
