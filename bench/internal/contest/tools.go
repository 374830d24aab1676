package contest

import (
	"encoding/json/jsontext"
	"fmt"
	"strings"
)

// Item is the one resource. Subscribers watch it.
const Item = "bench://item"

// Big returns the text that the tool big returns: 100 KiB.
func Big() string {
	const line = "The quick brown fox jumps over the lazy dog 0123456789 abcdef. "
	const size = 100 << 10
	return strings.Repeat(line, size/len(line)+1)[:size]
}

// A Tool is one of the generated tools.
type Tool struct {
	Name, Description string
	Schema            jsontext.Value
}

// Generated returns the first n generated tools.
func Generated(n int) []Tool {
	tools := make([]Tool, n)
	for i := range tools {
		tools[i] = Tool{Name: ToolName(i), Description: ToolDescription(i), Schema: toolSchema}
	}
	return tools
}

// ToolName returns the name of generated tool i.
func ToolName(i int) string { return fmt.Sprintf("tool_%05d", i) }

// ToolDescription returns the description of generated tool i.
func ToolDescription(i int) string {
	return fmt.Sprintf("Generated tool number %d: looks up records that match a query and returns them as text.", i)
}

var toolSchema = jsontext.Value(`{"type":"object","properties":{` +
	`"query":{"type":"string","description":"The text to look for."},` +
	`"limit":{"type":"integer","minimum":1,"maximum":100,"description":"At most this many records."},` +
	`"exact":{"type":"boolean","description":"Whether to match exactly."}},` +
	`"required":["query"],"additionalProperties":false}`)
