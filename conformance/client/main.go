// Client is the client that the official conformance suite tests. It is started once per
// scenario, connects to the suite's server, and does what a user of such a server would
// do.
//
//	client URL
//
// The name of the scenario is in MCP_CONFORMANCE_SCENARIO and, for some scenarios, data
// is in MCP_CONFORMANCE_CONTEXT. The client ignores MCP_CONFORMANCE_PROTOCOL_VERSION,
// because it negotiates the revision.
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

// scenarioTimeout is less than the suite's timeout, so that the client can report the
// failure.
const scenarioTimeout = 25 * time.Second

func main() {
	log.SetFlags(0)
	log.SetPrefix("conformance client: ")
	if len(os.Args) < 2 {
		log.Fatal("want the URL of a server")
	}
	ctx, cancel := context.WithTimeout(context.Background(), scenarioTimeout)
	defer cancel()
	name := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	if err := play(ctx, name, os.Args[len(os.Args)-1]); err != nil {
		log.Fatalf("scenario %q: %v", name, err)
	}
}

// play connects to the server and runs the scenario.
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
		HTTP:       mcpclient.HTTPOptions{Auth: auth},
		Revisions:  pinned(name),
		Info:       mcp.Implementation{Name: "conformance", Version: "1.0.0"},
		ElicitForm: fillIn,
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

// pinned returns the revisions that a scenario allows. Discovery of authorization servers
// without metadata exists in revision 2025-03-26 only.
func pinned(scenario string) []mcp.Revision {
	if strings.HasPrefix(scenario, "auth/2025-03-26-") {
		return []mcp.Revision{mcp.V20250326}
	}
	return nil
}

// given returns the suite's data for the scenario.
func given() jsontext.Value { return jsontext.Value(os.Getenv("MCP_CONFORMANCE_CONTEXT")) }
