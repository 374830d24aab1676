package main

import (
	"embed"
	"io/fs"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpext/skills"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

//go:embed skills
var skillFiles embed.FS

// addSkills serves the embedded skills.
func addSkills(srv *mcpserver.Server) {
	tree, err := fs.Sub(skillFiles, "skills")
	if err == nil {
		_, err = skills.Serve(srv, tree, &skills.Options{Cache: mcpserver.Cache{TTL: time.Minute, Public: true}, PageSize: 2})
	}
	if err != nil {
		panic(err) // cannot happen: the skills are embedded
	}
}
