// Signin is a server whose tool sends its user to a sign-in page first. The client does
// not see what the user enters there.
package main

import (
	"context"
	"errors"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// accounts holds who has signed in on the page. In a real server the page's server
// reports it, and must check that the user of the page is the user of the client.
type accounts struct {
	page string

	mu       sync.Mutex
	signedIn map[mcp.Principal]bool
}

func (a *accounts) knows(p mcp.Principal) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.signedIn[p]
}

func (a *accounts) signIn(p mcp.Principal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.signedIn[p] = true
}

func (a *accounts) inbox(ctx context.Context, _ struct{}) (string, error) {
	user := mcpserver.From(ctx).Principal()
	known, err := mcpserver.Once(ctx, "known", func() (bool, error) { return a.knows(user), nil })
	if err != nil {
		return "", err
	}
	if !known {
		if err := mcpserver.AskAll(ctx, mcpserver.ElicitURL("sign-in", "Sign in to read your mail.", a.page)); err != nil {
			return "", err
		}
	}
	if !a.knows(user) {
		return "", errors.New("the sign-in is not complete: finish it in the browser and call again")
	}
	return "You have no mail.", nil
}

func newServer(a *accounts) *mcpserver.Server {
	srv := mcpserver.New("signin", "1.0.0", nil)
	srv.Tool("inbox", "Reads the inbox", a.inbox, mcpserver.ReadOnly())
	return srv
}

func main() {
	mcpserver.Main(newServer(&accounts{page: "https://mail.example.com/sign-in", signedIn: make(map[mcp.Principal]bool)}))
}
