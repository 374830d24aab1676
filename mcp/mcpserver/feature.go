package mcpserver

import (
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/registry"
)

// common is the part that all kinds of features share.
type common struct {
	registry.Access
	completers  map[string]Completer
	completeAny RawCompleter // for arguments without a completer; may be nil
}

// Completes implements registry.Feature.
func (c *common) Completes() bool { return len(c.completers) > 0 || c.completeAny != nil }

func checkIcons(icons []mcp.Icon) error {
	for _, icon := range icons {
		if err := icon.Check(); err != nil {
			return err
		}
	}
	return nil
}
