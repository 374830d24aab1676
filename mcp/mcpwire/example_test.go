package mcpwire_test

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcpwire"
)

func ExampleNewLog() {
	ctx := context.Background()
	log := mcpwire.NewLog(os.Stderr, nil)
	srv := mcpserver.New("calculator", "1.0.0", &mcpserver.Options{OnMessage: log.As("server").Record})
	c, err := mcpclient.Connect(ctx, mcpclient.InProcess(srv), &mcpclient.Options{OnMessage: log.As("client").Record})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	fmt.Println(c.Revision())
	// Output: 2026-07-28
}

func ExampleForVariable() {
	log, err := mcpwire.ForVariable(os.Getenv(mcpwire.Variable), io.Discard)
	fmt.Println(log, err)
	// Output: <nil> <nil>
}
