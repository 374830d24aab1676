package gateway

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	// maxInstructions limits the instructions of one upstream, and maxAllInstructions those
	// of all, in bytes.
	maxInstructions    = 8 << 10
	maxAllInstructions = 32 << 10
	// instructionsWait is how long initialize and server/discover wait for upstreams that
	// start. It is short, because clients that probe for a revision give up after seconds.
	instructionsWait = 2 * time.Second
)

// addInstructions is middleware that adds the instructions of the upstreams to those of the
// host.
func (g *Gateway) addInstructions(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		if r.Method() != mcp.MethodInitialize && r.Method() != mcp.MethodDiscover {
			return next(ctx, r)
		}
		g.waitForInstructions(ctx)
		result, err := next(ctx, r)
		switch result := result.(type) {
		case *mcp.InitializeResult:
			result.Instructions += g.instructions()
		case *mcp.DiscoverResult:
			result.Instructions += g.instructions()
		}
		return result, err
	}
}

func (g *Gateway) waitForInstructions(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, instructionsWait)
	defer cancel()
	for _, u := range g.list() {
		u.waitForStart(ctx)
	}
}

// instructions returns the notice about approvals, and the instructions of all upstreams, each
// under a heading with its name. Every line of an upstream is quoted, so that no upstream can write
// a heading.
func (g *Gateway) instructions() string {
	var b strings.Builder
	b.WriteString(g.approvalNotice())
	omitted := 0
	for _, u := range g.list() {
		text := quoteInstructions(u.source.Visible().Instructions())
		switch heading := fmt.Sprintf("Instructions of the server %q, whose tools and prompts begin with %s:\n", u.Key, host.WireName(u.Key, "")); {
		case text == "":
		case b.Len()+len(heading)+len(text) > maxAllInstructions:
			omitted++
		default:
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(heading + text)
		}
	}
	if omitted > 0 {
		fmt.Fprintf(&b, "\nThe instructions of %d more servers are left out, because they are too long.\n", omitted)
	}
	return b.String()
}

// quoteInstructions returns at most maxInstructions of a text with "> " before each line, and
// with its unprintable characters escaped.
func quoteInstructions(text string) string {
	text = strings.TrimSpace(text)
	cut := len(text) > maxInstructions
	if cut {
		text = strings.ToValidUTF8(text[:maxInstructions], "")
	}
	if text == "" {
		return ""
	}
	var b strings.Builder
	for line := range strings.Lines(strings.NewReplacer("\r\n", "\n", "\r", "\n", "\t", "    ").Replace(text)) {
		b.WriteString("> " + host.EscapeUnprintable(strings.TrimSuffix(line, "\n")) + "\n")
		if b.Len() > 2*maxInstructions { // escapes and short lines
			cut = true
			break
		}
	}
	if cut {
		b.WriteString("(The rest is left out, because it is too long.)\n")
	}
	return b.String()
}
