package skills_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/skills"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// A server serves a tree of skills; a client loads one and reads a file of it.
func Example() {
	tree := fstest.MapFS{ // or os.OpenRoot("skills"), and its FS
		"pdf/SKILL.md":            {Data: []byte("---\nname: pdf\ndescription: Fills forms\n---\nSee references/FORMS.md.\n")},
		"pdf/references/FORMS.md": {Data: []byte("Use black ink.")},
	}
	srv := mcpserver.New("office", "1.0.0", nil)
	if _, err := skills.Serve(srv, tree, nil); err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	c, err := mcpclient.Connect(ctx, mcpclient.InProcess(srv), &mcpclient.Options{
		Extensions: []mcpclient.Extension{skills.Client()},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	for skill, err := range skills.List(ctx, c) { // reads no file
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(skill.Name(), "-", skill.Description())
		loaded, err := skills.Load(ctx, c, skill) // when the user agrees
		if err != nil {
			fmt.Println(err)
			return
		}
		form, err := loaded.ReadFile(ctx, "references/FORMS.md")
		fmt.Println(string(form), err)
	}
	// Output:
	// pdf - Fills forms
	// Use black ink. <nil>
}
