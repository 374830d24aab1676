// Package demo is a demonstration server: small tools, notes that are resources, a clock
// to subscribe to, and prompts with completion. The host serves it when it has no
// configuration. It is also an example of a whole server.
package demo

import (
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const instructions = `Small tools without access to files or network. Notes are kept in memory
until the server ends, and everybody who is connected shares them.`

// New returns the server. Its clock runs until stop is called, which waits for its
// goroutine. stop may be called again.
func New() (srv *mcpserver.Server, stop func()) {
	srv = mcpserver.New("fondaco-demo", "1.0.0", &mcpserver.Options{
		Title:        "Fondaco demonstration",
		Description:  "Small useful tools to try a client with",
		Instructions: instructions,
		Icons:        []mcp.Icon{emoji("🏛")},
	})
	srv.Tool("time", "Tell the current time in a time zone", now,
		mcpserver.Title("Time"), icon("🕑"), mcpserver.ReadOnly(), mcpserver.ClosedWorld())
	srv.Tool("calculate", "Evaluate an arithmetic expression exactly", calculate,
		mcpserver.Title("Calculator"), icon("🧮"), mcpserver.ReadOnly(), mcpserver.ClosedWorld())
	srv.Tool("convert", "Convert a quantity from one unit to another", convert,
		mcpserver.Title("Unit converter"), icon("📐"), mcpserver.ReadOnly(), mcpserver.ClosedWorld())
	srv.Tool("text_stats", "Count the characters, words and lines of a text", textStats,
		mcpserver.Title("Text statistics"), icon("📊"), mcpserver.ReadOnly(), mcpserver.ClosedWorld())
	srv.Tool("digest", "Compute the digest of a text", digest,
		mcpserver.Title("Digest"), icon("🔏"), mcpserver.ReadOnly(), mcpserver.ClosedWorld())
	srv.Tool("uuid", "Make random UUIDs", uuids,
		mcpserver.Title("UUID"), icon("🎲"), mcpserver.ReadOnly(), mcpserver.ClosedWorld())
	srv.Tool("countdown", "Count down by seconds, with progress, until zero or cancelled", countdown,
		mcpserver.Title("Countdown"), icon("⏳"), mcpserver.ReadOnly(), mcpserver.ClosedWorld())
	addNotes(srv)
	addPrompts(srv)
	return srv, addClock(srv)
}

// icon returns the option that shows an emoji for a feature.
func icon(symbol string) mcpserver.Option { return mcpserver.Icons(emoji(symbol)) }

// emoji returns an icon with an emoji.
func emoji(symbol string) mcp.Icon {
	drawn, err := mcp.IconFromBytes([]byte(fmt.Sprintf(
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><text x="1" y="20" font-size="20">%s</text></svg>`,
		symbol)))
	if err != nil {
		panic(err)
	}
	return drawn
}
