package mcpserver_test

import (
	"context"
	"encoding/json/jsontext"
	"fmt"

	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	paintID   = "com.example/paint"
	mixMethod = "com.example/paint/mix"
)

// Mix are the params of the request that the extension defines.
type Mix struct {
	Color string `json:"color"`
}

// Mixed is its result.
type Mixed struct {
	Liters int `json:"liters"`
}

// An extension brings a request of its own, and settings that tell what there is.
func ExampleServer_Extend() {
	srv := mcpserver.New("paint", "1.0.0", nil)
	srv.Extend(mcpserver.Extension{
		ID:       paintID,
		Settings: jsontext.Value(`{"colors":["red","blue"]}`),
		Requests: map[string]mcpserver.ExtensionRequest{
			mixMethod: {Name: "color", Handler: func(_ context.Context, r *mcpserver.Request) (any, error) {
				var mix Mix
				if err := r.Decode(&mix); err != nil {
					return nil, err
				}
				return &Mixed{Liters: len(mix.Color)}, nil
			}},
		},
	})

	ctx := context.Background()
	c, err := mcpclient.Connect(ctx, mcpclient.InProcess(srv), &mcpclient.Options{
		Extensions: []mcpclient.Extension{{ID: paintID, Names: map[string]string{mixMethod: "color"}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if settings, ok := c.HasExtension(paintID); ok {
		fmt.Println(string(settings))
	}
	var mixed Mixed
	err = c.Request(ctx, mixMethod, Mix{Color: "red"}, &mixed)
	fmt.Println(mixed.Liters, err)
	// Output:
	// {"colors":["red","blue"]}
	// 3 <nil>
}
