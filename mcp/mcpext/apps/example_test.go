package apps_test

import (
	"context"
	"fmt"

	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/apps"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// A tool shows its result in a document; a host fetches it and its policy.
func Example() {
	srv := mcpserver.New("weather", "1.0.0", nil)
	ui := apps.Enable(srv, nil)
	ui.Resource("ui://weather/map", "map", "<!doctype html><title>Weather</title>", apps.ResourceMeta{
		CSP: &apps.CSP{ConnectDomains: []string{"https://tiles.example.com"}},
	})
	srv.Tool("forecast", "Forecasts the weather", func(ctx context.Context, _ struct{}) (string, error) {
		if apps.Supported(ctx) {
			return "Sunny, see the map.", nil
		}
		return "Sunny in the south, rain in the north.", nil
	}, ui.Show("ui://weather/map"))

	ctx := context.Background()
	c, err := mcpclient.Connect(ctx, mcpclient.InProcess(srv), &mcpclient.Options{
		Extensions: []mcpclient.Extension{apps.Client()},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	interfaces, err := apps.Load(ctx, c, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	view, err := interfaces.View(ctx, "forecast")
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := c.Call[string](ctx, "forecast", nil)
	fmt.Println(text, err)
	fmt.Println(view.HTML)
	// Output:
	// Sunny, see the map. <nil>
	// <!doctype html><title>Weather</title>
}
