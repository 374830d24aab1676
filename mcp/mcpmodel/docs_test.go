package mcpmodel

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The guide repeats facts of the table for people who choose an API.
func TestGuideSaysWhatTheTableSays(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/models.md")
	if err != nil {
		t.Fatal(err)
	}
	none := func(n int) string {
		if n == 0 {
			return "–"
		}
		return fmt.Sprint(n)
	}
	for _, want := range []string{
		fmt.Sprintf("| tools in a request | %s | %s | %s | %s |", none(anthropic.tools), none(openAIChat.tools), none(openAIResponses.tools), none(gemini.tools)),
		fmt.Sprintf("| bytes of one | %d MiB | %d MiB | %d MiB | %d MiB |", anthropic.mediaBytes>>20, openAIChat.mediaBytes>>20, openAIResponses.mediaBytes>>20, gemini.mediaBytes>>20),
		fmt.Sprintf("%d strict tools, %d optional properties and %d unions", anthropicStrict.strictTools, anthropicStrict.optionalParams, anthropicStrict.unionParams),
		fmt.Sprintf("%d levels, %s properties, %s values of enums, %s characters", openAIStrict.depth, thousands(openAIStrict.properties), thousands(openAIStrict.enumValues), thousands(openAIStrict.stringLen)),
		fmt.Sprintf("%s in one enum of more than %d values", thousands(openAIStrict.longEnum), longEnumValues),
		fmt.Sprintf("| description | – | %s characters, cut | – | – |", thousands(openAIChat.description)),
		fmt.Sprintf("%d KiB, %s subschemas, %d levels or %d MiB", maxSchemaText>>10, thousands(maxSubschemas), maxSchemaDepth, maxExpanded>>20),
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("docs/models.md lacks %q", want)
		}
	}
}

func thousands(n int) string {
	text := fmt.Sprint(n)
	if len(text) > 3 {
		text = text[:len(text)-3] + "," + text[len(text)-3:]
	}
	return text
}
