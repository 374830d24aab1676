// Package skills serves and loads Agent Skills over MCP: the extension
// io.modelcontextprotocol/skills. A skill is a directory with a SKILL.md, which
// begins with YAML frontmatter, and the files that its instructions name.
//
// A server serves a tree of them, where the path of a skill is the path of its
// directory:
//
//	root, err := os.OpenRoot("skills")
//	found, err := skills.Serve(srv, root.FS(), nil)
//
// A client lists skills. It reads files only when a skill is loaded, and
// returns only content that matches the entry of the skill:
//
//	for skill, err := range skills.List(ctx, c) {
//		…
//	}
//	loaded, err := skills.Load(ctx, c, skill)
//	form, err := loaded.ReadFile(ctx, "references/FORMS.md")
//
// A digest shows that content matches its server's entry, not that it can be trusted: the text of a
// skill is input to a model like any other text of a server. The host must get the user's consent,
// and tell the model where a skill comes from.
//
// Spec: ext-skills stable
package skills
