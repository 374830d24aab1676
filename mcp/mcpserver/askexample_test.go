package mcpserver_test

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"log"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// answerAll is a client whose user gives one answer to every form.
func answerAll(srv *mcpserver.Server, content string) *mcpclient.Client {
	c, err := mcpclient.Connect(context.Background(), mcpclient.InProcess(srv), &mcpclient.Options{
		ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(content)}, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	return c
}

// Two goroutines of a handler ask at once. The handler waits for both, so the questions go
// out in one round, and each error ends the handler.
func ExampleAsk_goroutines() {
	type Seat struct {
		Row int `json:"row"`
	}
	srv := mcpserver.New("airline", "1.0.0", nil)
	srv.Tool("book", "Book a trip there and back", func(ctx context.Context, _ struct{}) (string, error) {
		var seats [2]Seat
		var errs [2]error
		var asking sync.WaitGroup
		for i, flight := range []string{"there", "back"} {
			asking.Go(func() { seats[i], errs[i] = mcpserver.Ask[Seat](ctx, flight, "Which seat on the way "+flight+"?") })
		}
		asking.Wait()
		for _, err := range errs {
			if err != nil {
				return "", err
			}
		}
		return fmt.Sprintf("rows %d and %d", seats[0].Row, seats[1].Row), nil
	})
	c := answerAll(srv, `{"row":4}`)
	defer c.Close()
	booked, err := c.Call[string](context.Background(), "book", nil)
	fmt.Println(booked, err)
	// Output: rows 4 and 4 <nil>
}

// Steps that run side by side have keys of their own. The handler waits for them before
// it asks: a step that is still running when the round ends is not remembered.
func ExampleOnce_goroutines() {
	srv := mcpserver.New("airline", "1.0.0", nil)
	var mu sync.Mutex
	reserved := 0
	reserve := func() (int, error) {
		mu.Lock()
		defer mu.Unlock()
		reserved++
		return reserved, nil
	}
	srv.Tool("book", "Book a trip there and back", func(ctx context.Context, _ struct{}) (string, error) {
		var errs [2]error
		var steps sync.WaitGroup
		for i, flight := range []string{"there", "back"} {
			steps.Go(func() { _, errs[i] = mcpserver.Once(ctx, "reserve "+flight, reserve) })
		}
		steps.Wait()
		for _, err := range errs {
			if err != nil {
				return "", err
			}
		}
		if _, err := mcpserver.Ask[struct {
			OK bool `json:"ok"`
		}](ctx, "confirm", "Book both?"); err != nil {
			return "", err
		}
		return fmt.Sprintf("%d reservations", reserved), nil
	})
	c := answerAll(srv, `{"ok":true}`)
	defer c.Close()
	booked, err := c.Call[string](context.Background(), "book", nil)
	fmt.Println(booked, err)
	// Output: 2 reservations <nil>
}

// A value that cannot be opened twice stays open while the user answers, and is closed
// when the call ends.
func ExamplePark() {
	srv := mcpserver.New("bank", "1.0.0", nil)
	begin := func(context.Context) (string, error) { fmt.Println("begin"); return "transaction 1", nil }
	end := func(tx string) { fmt.Println("end", tx) }
	srv.Tool("transfer", "Transfer money", func(ctx context.Context, _ struct{}) (string, error) {
		tx, err := mcpserver.Park(ctx, "transaction", begin, end)
		if err != nil {
			return "", err
		}
		if _, err := mcpserver.Ask[struct {
			OK bool `json:"ok"`
		}](ctx, "confirm", "Transfer 10?"); err != nil {
			return "", err
		}
		fmt.Println("commit", tx)
		return "done", nil
	})
	c := answerAll(srv, `{"ok":true}`)
	defer c.Close()
	result, err := c.Call[string](context.Background(), "transfer", nil)
	fmt.Println(result, err)
	// Output:
	// begin
	// commit transaction 1
	// end transaction 1
	// done <nil>
}
