package main

import (
	"context"
	"encoding/json/v2"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Item holds the variables of the template test://template/{id}/data.
type Item struct {
	ID string `json:"id"`
}

func addResources(srv *mcpserver.Server) {
	cached := mcpserver.CacheResource(mcpserver.Cache{TTL: time.Minute, Public: true})
	srv.Resource("test://static-text", "static-text", "text/plain", staticText, cached,
		mcpserver.Describe("A text that never changes"))
	srv.Resource("test://static-binary", "static-binary", "image/png", staticBinary, cached,
		mcpserver.Describe("A picture that never changes"))
	srv.Resource("test://watched-resource", "watched-resource", "text/plain", watchedResource,
		mcpserver.Describe("A resource to subscribe to"))
	srv.Template("test://template/{id}/data", "template", "application/json", itemData,
		mcpserver.Describe("The data of an item"))
}

func staticText(context.Context) ([]byte, error) {
	return []byte("This is the content of the static text resource."), nil
}

func staticBinary(context.Context) ([]byte, error) { return pixel, nil }

func watchedResource(context.Context) ([]byte, error) {
	return []byte("This resource can be watched."), nil
}

func itemData(_ context.Context, item Item) ([]byte, error) {
	return json.Marshal(map[string]any{"id": item.ID, "templateTest": true, "data": "Data for ID: " + item.ID}, json.Deterministic(true))
}
