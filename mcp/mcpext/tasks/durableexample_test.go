package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

type order struct {
	Chair string `json:"chair"`
	Card  string `json:"card"`
}

func reserve(chair string) (string, error)        { return "the " + chair, nil }
func charge(key, card string) (bool, error)       { return key != "" && card != "", nil }
func newShop() *mcpserver.Server                  { return mcpserver.New("shop", "1.0.0", nil) }
func newTasks(srv *mcpserver.Server) *tasks.Tasks { return tasks.Enable(srv, nil) }

// authorsQueue is a queue of the author.
type authorsQueue struct{}

func (authorsQueue) Send(context.Context, string) error                 { return nil }
func (authorsQueue) Receive(func(ctx context.Context, id string) error) {}

// A durable task goes on in another process if its own is killed, and repeats no step that was
// completed.
func Example_durable() {
	srv := newShop()
	shop := tasks.Enable(srv, nil)
	srv.Tool("order", "Orders a chair", func(ctx context.Context, in order) (string, error) {
		seat, err := mcpserver.Once(ctx, "reserve", func() (string, error) { return reserve(in.Chair) })
		if err != nil {
			return "", err
		}
		_, err = mcpserver.Once(ctx, "charge", func() (bool, error) {
			return charge(mcpserver.NewID(ctx, "charge"), in.Card) // the same id in every run
		})
		return "ordered " + seat, err
	}, mcpserver.Durable(), shop.AsTask())

	ctx := context.Background()
	c, err := mcpclient.Connect(ctx, mcpclient.InProcess(srv), &mcpclient.Options{
		Extensions: []mcpclient.Extension{tasks.Client(nil)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := c.Call[string](ctx, "order", order{"armchair", "1234"})
	fmt.Println(text, err)
	_ = c.Close()
	_ = srv.Shutdown(ctx)
	// Output: ordered the armchair <nil>
}

// The operator tries dead letters again, or ends them.
func ExampleTasks_DeadLetters() {
	shop := newTasks(newShop())
	handle := func(ctx context.Context) error {
		for letter, err := range shop.DeadLetters(ctx) {
			if err != nil {
				return err
			}
			fmt.Println(letter.Tool, letter.Attempts, letter.Reason)
			if letter.Tool == "order" {
				err = shop.RetryDeadLetter(ctx, letter.ID)
			} else {
				err = shop.FailDeadLetter(ctx, letter.ID, "this cannot be done any more")
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	fmt.Println(handle(context.Background()))
	// Output: <nil>
}

// A worker has the tools and the Store of the processes that serve, and serves nobody.
func ExampleWork() {
	srv := newShop()
	shop := newTasks(srv)
	srv.Tool("order", "Orders a chair", func(context.Context, order) (string, error) {
		return "ordered", nil
	}, mcpserver.Durable(), shop.AsTask())

	run := func() error {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err := tasks.Work(ctx, srv) // until the signal
		leaving, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		return errors.Join(err, srv.Shutdown(leaving)) // leaves its tasks to others
	}
	_ = run
}

// Tasks that nobody runs go into a queue of the author.
func ExampleTasks_Run() {
	srv, queue := newShop(), authorsQueue{}
	shop := tasks.Enable(srv, &tasks.Options{Durable: &tasks.DurableOptions{
		Orphan: func(ctx context.Context, o tasks.Orphan) error { return queue.Send(ctx, o.ID) },
	}})
	go queue.Receive(func(ctx context.Context, id string) error { return shop.Run(ctx, id) })
}

// Calls of clients without tasks survive the process that runs them, too, if the replicas share an
// engine.
func ExampleTasks_AsTask_durableCalls() {
	type sharedEngine interface { // such as what redisstore.Open returns
		mcp.Store
		mcp.Bus
		Events() mcp.EventStore
	}
	serve := func(engine sharedEngine, keys []mcpserver.Key, order func(context.Context, work) (string, error)) error {
		srv := mcpserver.New("shop", "1", &mcpserver.Options{
			Keys: keys, Store: engine, Bus: engine,
			HTTP: &mcpserver.HTTPOptions{Events: engine.Events()},
		})
		shop := tasks.Enable(srv, nil)
		srv.Tool("order", "Orders a chair", order, mcpserver.Durable(), shop.AsTask())
		return srv.ListenAndServe(context.Background(), ":8080", nil)
	}
	_ = serve
}
