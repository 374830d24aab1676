package mcpserver

import (
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/registry"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// common is the part that all kinds of features share.
type common struct {
	registry.Access
	completers  map[string]Completer
	limited     map[string]bool      // the completers that return some of the values
	completeAny RawCompleter         // for arguments without a completer; may be nil
	enums       map[string]Completer // of arguments with an enum, if there is neither
	proxied     bool                 // see Proxied
}

// Completes implements registry.Feature.
func (c *common) Completes() bool { return len(c.completers)+len(c.enums) > 0 || c.completeAny != nil }

// applyOptions calls apply with each option. It returns an error for an option that is nil
// or panics.
func applyOptions[O any](opts []O, apply func(O)) error {
	for i, o := range opts {
		if any(o) == nil {
			return fmt.Errorf("option %d is nil; leave it out", i+1)
		}
		if err := usercode.Run(func() error { apply(o); return nil }); err != nil {
			return fmt.Errorf("option %d: %w", i+1, err)
		}
	}
	return nil
}

// checkIcons returns what is wrong with the icons of a feature. Of one that is proxied it removes those
// that are not valid.
func (c *common) checkIcons(icons *[]mcp.Icon) error {
	if c.proxied {
		*icons = validIcons(*icons)
		return nil
	}
	return checkIcons(*icons)
}

func checkIcons(icons []mcp.Icon) error {
	for _, icon := range icons {
		if err := icon.Check(); err != nil {
			return err
		}
	}
	return nil
}
