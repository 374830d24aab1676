// Package skills carries Agent Skills over MCP: the extension
// io.modelcontextprotocol/skills. A skill is a directory with a SKILL.md, which
// begins with YAML frontmatter, and whatever files its instructions name.
//
// A server serves a tree of them, where the path of a skill is the path of its
// directory:
//
//	root, err := os.OpenRoot("skills")
//	found, err := skills.Serve(srv, root.FS(), nil)
//
// A client lists what there is. Nothing is fetched until a skill is loaded, and
// nothing is handed out that is not what its entry describes:
//
//	for skill, err := range skills.List(ctx, c) {
//		…
//	}
//	loaded, err := skills.Load(ctx, c, skill)
//	form, err := loaded.ReadFile(ctx, "references/FORMS.md")
//
// A digest tells that content is what its server described, and not that it may
// be trusted: text of a skill is input to a model like any other text of a
// server. Consent, and telling the model where a skill comes from, are the host's.
//
// Spec: ext-skills stable
package skills
