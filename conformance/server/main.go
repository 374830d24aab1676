// Server is the server that the official conformance suite tests. It has every feature
// that a scenario needs, written with the public API. One process serves every revision
// and every HTTP transport.
//
//	server -addr 127.0.0.1:0     Streamable HTTP at /mcp, HTTP+SSE at /sse
//	server -stdio                standard input and output
//
// Over HTTP it prints LISTEN host:port to standard error when it is ready. Processes with the
// same keys in FONDACO_KEYS serve each other's sessions. It ends on SIGINT and SIGTERM.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("conformance server: ")
	addr := flag.String("addr", "", "serve HTTP on this `address`; port 0 picks one")
	stdio := flag.Bool("stdio", false, "serve standard input and output")
	flag.Parse()
	if (*addr == "") == !*stdio || flag.NArg() > 0 {
		log.Print("want either -addr ADDRESS or -stdio")
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *addr); err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

// serve serves HTTP on the address, or standard input and output if it is empty.
func serve(ctx context.Context, addr string) error {
	var keys []mcpserver.Key
	if text := os.Getenv(mcpserver.KeysVariable); text != "" {
		var err error
		if keys, err = mcpserver.ParseKeys(text); err != nil {
			return fmt.Errorf("%s: %w", mcpserver.KeysVariable, err)
		}
	}
	srv := newServer(keys...)
	if addr == "" {
		return srv.Run(ctx)
	}
	return srv.ListenAndServe(ctx, addr, func(at net.Addr) { fmt.Fprintf(os.Stderr, "LISTEN %s\n", at) })
}

func newServer(keys ...mcpserver.Key) *mcpserver.Server {
	srv := mcpserver.New("conformance", "1.0.0", &mcpserver.Options{
		Title:        "Conformance server",
		Instructions: "Every feature of the protocol once, for the conformance suite.",
		ListCache:    mcpserver.Cache{TTL: time.Minute, Public: true},
		Keys:         keys,
	})
	addContent(srv)
	addNotifications(srv)
	addSchemas(srv)
	addQuestions(srv)
	addInputRequired(srv)
	addChanges(srv)
	addResources(srv)
	addPrompts(srv)
	addTasks(srv)
	addSkills(srv)
	return srv
}

// none is for tools without arguments.
type none struct{}
