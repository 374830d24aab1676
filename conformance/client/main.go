// Client is the client that the official conformance suite tries. It is started
// once per scenario, connects to the suite's server, and does what a user of such
// a server would do.
//
//	client URL
//
// The suite tells the scenario in MCP_CONFORMANCE_SCENARIO and, for some, data in
// MCP_CONFORMANCE_CONTEXT. Its MCP_CONFORMANCE_PROTOCOL_VERSION is not read: the
// client finds out by itself what the server speaks.
package main

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/skills"
)

// patience is less than what the suite has, so that a failure is told.
const patience = 25 * time.Second

func main() {
	log.SetFlags(0)
	log.SetPrefix("conformance client: ")
	if len(os.Args) < 2 {
		log.Fatal("want the URL of a server")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	name := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	if err := play(ctx, name, os.Args[len(os.Args)-1]); err != nil {
		log.Fatalf("scenario %q: %v", name, err)
	}
}

// play connects to the server and plays the scenario of the name.
func play(ctx context.Context, name, url string) (err error) {
	run := scenarios[name]
	if run == nil && strings.HasPrefix(name, "auth/") {
		run = useProtected
	}
	if run == nil {
		return fmt.Errorf("unknown")
	}
	auth, err := signIn(ctx, name, url)
	if err != nil {
		return err
	}
	defer func() {
		if _, refused := errors.AsType[*mcpauth.SignInError](err); refused && refusals[name] {
			log.Printf("refused, as it has to be: %v", err)
			err = nil
		}
	}()
	c, err := mcpclient.Connect(ctx, mcpclient.URL(url), &mcpclient.Options{
		Auth:       auth,
		Revisions:  pinned(name),
		Info:       mcp.Implementation{Name: "conformance", Version: "1.0.0"},
		Elicit:     fillIn,
		Sample:     sample,
		Roots:      roots,
		Extensions: []mcpclient.Extension{skills.Client()},
	})
	if err != nil {
		return err
	}
	defer func() {
		if e := c.Close(); err == nil {
			err = e
		}
	}()
	return run(ctx, c)
}

// pinned are the revisions that may be spoken in a scenario. What a server of
// 2025-03-26 does not say of authorization is made up for in that revision alone.
func pinned(scenario string) []mcp.Revision {
	if strings.HasPrefix(scenario, "auth/2025-03-26-") {
		return []mcp.Revision{mcp.V20250326}
	}
	return nil
}

// given are the data that the suite hands to the scenario.
func given() jsontext.Value { return jsontext.Value(os.Getenv("MCP_CONFORMANCE_CONTEXT")) }
