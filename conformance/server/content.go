package main

import (
	"context"
	_ "embed"
	"errors"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// A picture of one red pixel, and a short silent sound.
var (
	//go:embed testdata/pixel.png
	pixel []byte
	//go:embed testdata/silence.wav
	silence []byte
)

// addContent adds a tool for each kind of content, and one that fails.
func addContent(srv *mcpserver.Server) {
	srv.Tool("test_simple_text", "Returns a text", simpleText, mcpserver.ReadOnly())
	srv.Tool("test_image_content", "Returns a picture", imageContent, mcpserver.ReadOnly())
	srv.Tool("test_audio_content", "Returns a sound", audioContent, mcpserver.ReadOnly())
	srv.Tool("test_embedded_resource", "Returns the contents of a resource", embeddedResource, mcpserver.ReadOnly())
	srv.Tool("test_multiple_content_types", "Returns a text, a picture and a resource", multipleContent, mcpserver.ReadOnly())
	srv.Tool("test_error_handling", "Always fails", errorHandling, mcpserver.ReadOnly())
}

func simpleText(context.Context, none) (string, error) {
	return "This is a simple text response for testing.", nil
}

func imageContent(context.Context, none) (mcp.ImageContent, error) {
	return mcp.Image(pixel, "image/png"), nil
}

func audioContent(context.Context, none) (mcp.AudioContent, error) {
	return mcp.Audio(silence, "audio/wav"), nil
}

func embeddedResource(context.Context, none) (mcp.EmbeddedResource, error) {
	return embedded("test://embedded-resource", "This is an embedded resource content."), nil
}

func multipleContent(context.Context, none) (mcp.Contents, error) {
	return mcp.Contents{
		mcp.Text("Multiple content types test:"),
		mcp.Image(pixel, "image/png"),
		embedded("test://mixed-content-resource", "A resource among other content."),
	}, nil
}

func errorHandling(context.Context, none) (string, error) {
	return "", errors.New("this tool intentionally returns an error for testing")
}

func embedded(uri, text string) mcp.EmbeddedResource {
	return mcp.Embed(mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: text})
}
