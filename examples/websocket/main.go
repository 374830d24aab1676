// Websocket is a custom transport: mcp.Conn on a WebSocket, for server and client.
//
//	websocket            serves on 127.0.0.1:8080
//	websocket URL        calls the server there, such as ws://127.0.0.1:8080
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

type greeting struct {
	Name string `json:"name"`
}

func main() {
	if len(os.Args) > 1 {
		call(context.Background(), os.Args[1])
		return
	}
	srv := mcpserver.New("websocket", "1.0.0", nil)
	srv.Tool("greet", "Greets somebody", func(_ context.Context, in greeting) (string, error) { return "Hello, " + in.Name + "!", nil })
	web := &http.Server{Addr: "127.0.0.1:8080", Handler: handler(srv), ReadHeaderTimeout: 5 * time.Second}
	log.Fatal(web.ListenAndServe())
}

func call(ctx context.Context, url string) {
	c, err := mcpclient.Connect(ctx, target(url), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	text, err := c.Call[string](ctx, "greet", greeting{"Ada"})
	fmt.Println(text, err)
}
