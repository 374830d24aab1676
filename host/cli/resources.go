package cli

import (
	"cmp"
	"context"

	"github.com/fondaco/fondaco/host/terminal"
)

var resourcesEntry = commandInfo{
	name: "resources", does: "list the resources and resource templates",
	about:   "A template has variables in braces. With values it is the URI of a resource.",
	example: "resources",
	make:    func() command { return new(resourcesCommand) },
}

type resourcesCommand struct{ serverFlags }

func (v *resourcesCommand) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) > 0 {
		return usagef("found %q, want no operands", operands[0])
	}
	p, err := v.connect(ctx, m, "", nil)
	if err != nil {
		return err
	}
	resources, err := optionalList(p.Resources(ctx))
	if err != nil {
		return err
	}
	templates, err := optionalList(p.Templates(ctx))
	if err != nil {
		return err
	}
	if v.json {
		return cmp.Or(m.WriteDocument(terminal.Document{"resources": resources, "resourceTemplates": templates}), p.noneReachable(ctx, m))
	}
	t := terminal.Table{Head: []string{"URI", "NAME", "TYPE", "DESCRIPTION"}}
	for _, r := range resources {
		t.Rows = append(t.Rows, []string{r.URI, r.DisplayName(), r.MIMEType, terminal.Brief(r.Description)})
	}
	for _, r := range templates {
		t.Rows = append(t.Rows, []string{r.URITemplate, r.DisplayName(), r.MIMEType, terminal.Brief(r.Description)})
	}
	return cmp.Or(m.WriteTable(t), p.noneReachable(ctx, m))
}
