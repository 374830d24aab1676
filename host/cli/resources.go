package cli

import (
	"cmp"
	"context"
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
		return cmp.Or(m.writeDocument(document{"resources": resources, "resourceTemplates": templates}), p.noneReachable(ctx, m))
	}
	t := table{head: []string{"URI", "NAME", "TYPE", "DESCRIPTION"}}
	for _, r := range resources {
		t.rows = append(t.rows, []string{r.URI, r.DisplayName(), r.MIMEType, brief(r.Description)})
	}
	for _, r := range templates {
		t.rows = append(t.rows, []string{r.URITemplate, r.DisplayName(), r.MIMEType, brief(r.Description)})
	}
	return cmp.Or(m.writeTable(t), p.noneReachable(ctx, m))
}
