package definition

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

// maxSummary limits the first line of a description, in bytes.
const maxSummary = 400

// summaryOf returns the first line of the description of a definition, and what its server says
// that it does. Both are empty if the definition is not known.
func summaryOf(kind host.DefinitionKind, text jsontext.Value) (description string, annotations []string) {
	if kind == host.KindInstructions {
		_ = json.Unmarshal(text, &description) // a text, or unknown
		return firstLine(description), nil
	}
	var definition struct {
		Description string               `json:"description"`
		Annotations *mcp.ToolAnnotations `json:"annotations"`
	}
	if json.Unmarshal(text, &definition) != nil {
		return "", nil
	}
	return firstLine(definition.Description), claimsOf(definition.Annotations)
}

// claimReadOnly is the claim of a tool that changes nothing.
const claimReadOnly = "read-only"

func claimsOf(a *mcp.ToolAnnotations) []string {
	switch {
	case a.ReadOnly():
		return []string{claimReadOnly}
	case a == nil || a.DestructiveHint == nil:
		return nil
	case *a.DestructiveHint:
		return []string{"destructive"}
	}
	return []string{"not destructive"}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if len(line) > maxSummary {
		line = strings.ToValidUTF8(line[:maxSummary], "") + "…"
	}
	return host.EscapeUnprintable(line)
}
