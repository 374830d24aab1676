package mcpcheck_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpcheck"
)

// good is a tool without findings.
func good(change func(*mcp.Tool)) mcp.Surface {
	t := mcp.Tool{
		Name: "add_note", Description: "Add a note to the shelf",
		InputSchema: []byte(`{"type":"object","properties":{"text":{"type":"string","description":"the note"}},"required":["text"]}`),
		Annotations: &mcp.ToolAnnotations{DestructiveHint: new(bool)},
	}
	if change != nil {
		change(&t)
	}
	return mcp.Surface{Tools: []mcp.Tool{t}}
}

func yes() *bool {
	y := true
	return &y
}

// several returns tools of the names.
func several(names ...string) (s mcp.Surface) {
	for _, name := range names {
		s.Tools = append(s.Tools, good(func(t *mcp.Tool) { t.Name = name }).Tools...)
	}
	return s
}

func numbered(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("tool%d", i))
	}
	return names
}

type flaw struct {
	name    string
	surface mcp.Surface
	rule    mcpcheck.Rule
	fault   bool
	want    string // a part of the finding
}

// flaws are surfaces with one thing to change.
var flaws = []flaw{
	{"a space in a name", good(func(t *mcp.Tool) { t.Name = "add note" }), mcpcheck.RuleName, true, `tool "add note" /name: want 1 to 128`},
	{"two tools of a name", several("add", "add"), mcpcheck.RuleDuplicate, true, `tool "add": it is listed twice`},
	{"two resources of a URI", mcp.Surface{Resources: []mcp.Resource{{URI: "n://a", Name: "a"}, {URI: "n://a", Name: "b"}}}, mcpcheck.RuleDuplicate, true, `resource "n://a"`},
	{
		"an argument of a prompt twice",
		mcp.Surface{Prompts: []mcp.Prompt{{Name: "p", Description: "d", Arguments: []mcp.PromptArgument{{Name: "a"}, {Name: "a"}}}}},
		mcpcheck.RuleDuplicate, true, `"a" is there twice`,
	},
	{"names that look alike", several("add-note", "addNote"), mcpcheck.RuleSimilarNames, false, `tool "addNote" /name: a model mistakes it for "add-note"`},
	{"no description", good(func(t *mcp.Tool) { t.Description = " " }), mcpcheck.RuleDescription, false, "the description is missing"},
	{"a prompt without a description", mcp.Surface{Prompts: []mcp.Prompt{{Name: "p"}}}, mcpcheck.RuleDescription, false, `prompt "p"`},
	{"a long description", good(func(t *mcp.Tool) { t.Description = strings.Repeat("x", 5000) }), mcpcheck.RuleDescriptionLength, false, "5000 characters, want 4096"},
	{"a description that OpenAI refuses", good(func(t *mcp.Tool) { t.Description = strings.Repeat("x", 1025) }), mcpcheck.RuleModel, true, "refused by OpenAI Chat Completions"},
	{
		"a parameter without a description", good(func(t *mcp.Tool) {
			t.InputSchema = []byte(`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"string"}}}`)
		}),
		mcpcheck.RuleParameter, false, "without a description: a, b",
	},
	{"no schema", good(func(t *mcp.Tool) { t.InputSchema = nil }), mcpcheck.RuleSchema, true, "found no object"},
	{"a schema for anything", good(func(t *mcp.Tool) { t.InputSchema = []byte(`{}`) }), mcpcheck.RuleSchema, true, `"type": "object" at the root`},
	{"an invalid schema", good(func(t *mcp.Tool) { t.OutputSchema = []byte(`{"type":"number","minimum":"1"}`) }), mcpcheck.RuleSchema, true, "/outputSchema"},
	{
		"a schema that model APIs refuse", good(func(t *mcp.Tool) { t.InputSchema = []byte(`{"type":"object","anyOf":[{"required":["a"]}]}`) }),
		mcpcheck.RuleModel, true, "anyOf at the root of the schema, want it in a property: refused by Anthropic Messages, OpenAI Chat Completions",
	},
	{
		"a keyword that a model API ignores", good(func(t *mcp.Tool) {
			t.InputSchema = []byte(`{"type":"object","properties":{"a":{"type":"string","description":"d","pattern":"^a$"}}}`)
		}), mcpcheck.RuleModelIgnored, false, "ignored by Gemini",
	},
	{"many tools", several(numbered(129)...), mcpcheck.RuleModel, true, "server: there are 129 tools, want at most 128"},
	{"no annotations", good(func(t *mcp.Tool) { t.Annotations = nil }), mcpcheck.RuleAnnotationsMissing, false, "ask before each call"},
	{
		"annotations that contradict each other", good(func(t *mcp.Tool) { t.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: yes(), DestructiveHint: yes()} }),
		mcpcheck.RuleAnnotations, false, "both true",
	},
	{
		"annotations that contradict the name", good(func(t *mcp.Tool) {
			t.Name, t.Annotations = "deleteNote", &mcp.ToolAnnotations{ReadOnlyHint: yes()}
		}), mcpcheck.RuleAnnotations, false, `begins with "delete"`,
	},
	{
		"a large definition", good(func(t *mcp.Tool) {
			t.InputSchema = fmt.Appendf(nil, `{"type":"object","properties":{"a":{"type":"string","description":%q}}}`, strings.Repeat("x", 17<<10))
		}), mcpcheck.RuleSize, false, "want 16384 at most",
	},
	{"large instructions", mcp.Surface{Instructions: strings.Repeat("x", 17<<10)}, mcpcheck.RuleSize, false, "server /instructions"},
	{"a text from right to left", good(func(t *mcp.Tool) { t.Description = "Add a note\u202e" }), mcpcheck.RuleHiddenText, false, "U+202E"},
	{"a resource without a scheme", mcp.Surface{Resources: []mcp.Resource{{URI: "a", Name: "a"}}}, mcpcheck.RuleURI, true, "want a URI with a scheme"},
	{"a template without an end", mcp.Surface{Templates: []mcp.ResourceTemplate{{URITemplate: "n://{a", Name: "a"}}}, mcpcheck.RuleTemplate, true, `resource template "n://{a"`},
	{"a media type that is none", mcp.Surface{Resources: []mcp.Resource{{URI: "n://a", Name: "a", MIMEType: "text/"}}}, mcpcheck.RuleMIMEType, false, "such as text/plain"},
}

func TestEachFlawIsFoundByItsRule(t *testing.T) {
	t.Parallel()
	for _, f := range flaws {
		found := mcpcheck.Lint(f.surface)
		i := slices.IndexFunc(found, func(one mcpcheck.Finding) bool { return one.Rule == f.rule && strings.Contains(one.String(), f.want) })
		if i < 0 {
			t.Errorf("%s: got %v, want %s: %s", f.name, found, f.rule, f.want)
			continue
		}
		if found[i].Fault != f.fault {
			t.Errorf("%s: got %+v, want fault %v", f.name, found[i], f.fault)
		}
	}
}

func TestGoodServersHaveNoFindings(t *testing.T) {
	t.Parallel()
	s := good(nil)
	s.Instructions = "Notes.\n\tOne a line. 👩\u200d💻"
	s.Prompts = []mcp.Prompt{{Name: "p", Description: "d"}}
	s.Resources = []mcp.Resource{{URI: "n://a", Name: "a", MIMEType: "text/plain; charset=utf-8"}}
	s.Templates = []mcp.ResourceTemplate{{URITemplate: "n://{a}", Name: "a"}}
	if found := mcpcheck.Lint(s); len(found) > 0 {
		t.Errorf("got %v, want nothing", found)
	}
}

func TestFindingsOfARuleAreBounded(t *testing.T) {
	t.Parallel()
	var s mcp.Surface
	for i := range 300 {
		s.Prompts = append(s.Prompts, mcp.Prompt{Name: fmt.Sprint("p", i)})
	}
	if found := mcpcheck.Lint(s); len(found) != 100 {
		t.Errorf("got %d findings, want 100", len(found))
	}
}

func TestEachRuleIsTestedAndExplained(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("finding.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/check.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`Rule += "([^"]+)"`).FindAllStringSubmatch(string(source), -1) {
		if !slices.ContainsFunc(flaws, func(f flaw) bool { return string(f.rule) == m[1] }) {
			t.Errorf("%s: no test has such a flaw", m[1])
		}
		if !strings.Contains(string(page), "| `"+m[1]+"` |") {
			t.Errorf("%s: docs/check.md does not explain it", m[1])
		}
	}
}
