package cli

import (
	"context"
	"flag"

	"github.com/fondaco/fondaco/mcp"
)

var resourcesEntry = entry{
	name: "resources", does: "list the resources and the templates of resources",
	about:   "A template has variables in braces; with values there it names a resource.",
	example: "resources",
	make:    func() verb { return new(resourcesVerb) },
}

type resourcesVerb struct{ endpoint }

func (v *resourcesVerb) declare(f *flag.FlagSet) { v.endpoint.declare(f) }

func (v *resourcesVerb) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) > 0 {
		return usagef("found %q, want no operands", operands[0])
	}
	c, err := v.connect(ctx, m, nil)
	if err != nil {
		return err
	}
	var all struct {
		Resources []mcp.Resource         `json:"resources"`
		Templates []mcp.ResourceTemplate `json:"resourceTemplates"`
	}
	if all.Resources, err = collect(c.Resources(ctx)); err != nil {
		return err
	}
	if all.Templates, err = collect(c.Templates(ctx)); err != nil {
		return err
	}
	if v.json {
		return m.writeJSON(all)
	}
	var rows [][]string
	for _, r := range all.Resources {
		rows = append(rows, []string{r.URI, r.DisplayName(), r.MIMEType, brief(r.Description)})
	}
	for _, t := range all.Templates {
		rows = append(rows, []string{t.URITemplate, t.DisplayName(), t.MIMEType, brief(t.Description)})
	}
	return m.writeTable(rows)
}
