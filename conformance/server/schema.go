package main

import (
	"context"
	_ "embed"
	"encoding/json/jsontext"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// contactSchema uses what a Go type cannot say.
//
//go:embed testdata/contact.schema.json
var contactSchema []byte

// Place is where something happens. The region is mirrored in a header, by which a proxy
// can route the call.
type Place struct {
	Region string `json:"region" doc:"where to run" header:"Region"`
	Count  int    `json:"count" doc:"how often" default:"1"`
}

// addSchemas adds tools whose input schemas the suite checks.
func addSchemas(srv *mcpserver.Server) {
	srv.AddTool(mcp.Tool{
		Name:        "json_schema_2020_12_tool",
		Description: "Takes a contact, under a schema of the author's own",
		InputSchema: jsontext.Value(contactSchema),
	}, takeContact, mcpserver.ReadOnly())
	srv.Tool("test_x_mcp_header", "Takes an argument that is mirrored in a header", takePlace, mcpserver.ReadOnly())
}

func takeContact(_ context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
	return &mcp.CallToolResult{Content: mcp.Contents{mcp.Textf("The contact is valid: %s", p.Arguments)}}, nil
}

func takePlace(_ context.Context, in Place) (string, error) {
	return fmt.Sprintf("The region is %q, the count %d.", in.Region, in.Count), nil
}
