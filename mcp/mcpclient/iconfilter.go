package mcpclient

import "github.com/fondaco/fondaco/mcp"

// checkedIcons returns the icons that pass Icon.Check. Others, such as a script or a
// file URL, are left out, so that no code of the user opens them. The name of the
// feature that has the icons is for the log.
//
// Spec: 2026-07-28 basic#icons
func (c *Client) checkedIcons(name string, all []mcp.Icon) []mcp.Icon {
	var checked []mcp.Icon
	for _, icon := range all {
		if err := icon.Check(); err != nil {
			c.opts.logger().Debug("icon left out", "of", name, "error", err)
			continue
		}
		checked = append(checked, icon)
	}
	return checked
}
