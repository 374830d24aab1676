package mcpserver_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// A type of its own keeps what belongs to a session. What has to be closed is closed when
// the session ends. A client of the stateless era has no session, so that nothing is kept
// for it.
func ExampleSession_Value() {
	type basket struct {
		opened sync.Once
		mu     sync.Mutex
		items  []string // guarded by mu
	}
	type item struct {
		Name string `json:"name"`
	}
	var closing sync.WaitGroup
	closing.Add(1)
	srv := mcpserver.New("shop", "1.0.0", nil)
	srv.Tool("add", "Adds an item to the basket", func(ctx context.Context, in item) (string, error) {
		session := mcpserver.From(ctx).Session()
		if session == nil { // its Context has ended: AfterFunc would run at once
			return "", fmt.Errorf("the basket needs a session: want a revision before %v", mcp.V20260728)
		}
		b := session.Value[basket]()
		b.opened.Do(func() {
			context.AfterFunc(session.Context(), func() {
				fmt.Println("the basket is released")
				closing.Done()
			})
		})
		b.mu.Lock()
		defer b.mu.Unlock()
		b.items = append(b.items, in.Name)
		return strings.Join(b.items, ", "), nil
	})

	c, err := mcpclient.Connect(context.Background(), mcpclient.InProcess(srv), &mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}})
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"bread", "olives"} {
		items, err := c.Call[string](context.Background(), "add", item{name})
		fmt.Println(items, err)
	}
	c.Close()
	closing.Wait()
	// Output:
	// bread <nil>
	// bread, olives <nil>
	// the basket is released
}

// The page of a URL elicitation reports that its user has finished. Its URL is the same for all
// users, so only the client of the session is notified.
func ExampleSession_ElicitationComplete() {
	const page = "https://files.example.com/connect"
	srv := mcpserver.New("files", "1.0.0", nil)
	srv.Tool("connect", "Connects an account", func(ctx context.Context, _ struct{}) (string, error) {
		session := mcpserver.From(ctx).Session()
		connected := func() { // called by the page
			if err := session.ElicitationComplete(session.Context(), page); err != nil {
				log.Print(err)
			}
		}
		defer connected()
		return "", mcpserver.URLElicitationRequired("Connect your account.", page)
	})
}
