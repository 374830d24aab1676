package mcpclient

import "github.com/fondaco/fondaco/mcp"

// icons returns the icons of something called name that are fit to be used. What
// else a server names as an icon, such as a script or a file, is left out before
// anybody can open it.
//
// Spec: 2026-07-28 basic#icons
func (c *Client) icons(name string, all []mcp.Icon) []mcp.Icon {
	var fit []mcp.Icon
	for _, icon := range all {
		if err := icon.Check(); err != nil {
			c.opts.logger().Debug("icon left out", "of", name, "error", err)
			continue
		}
		fit = append(fit, icon)
	}
	return fit
}
