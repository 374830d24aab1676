package mcpserver_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/schema"
)

// clientOf connects a client to a server of this process.
func clientOf(srv *mcpserver.Server) *mcpclient.Client {
	c, err := mcpclient.Connect(context.Background(), mcpclient.InProcess(srv), nil)
	if err != nil {
		log.Fatal(err)
	}
	return c
}

// A whole server. Main serves standard input and output, or HTTP when the program
// is started with -http.
func Example() {
	type Greeting struct {
		Name string `json:"name" doc:"whom to greet" maxlen:"80"`
	}
	srv := mcpserver.New("hello", "1.0.0", nil)
	srv.Tool("greet", "Greets somebody", func(_ context.Context, in Greeting) (string, error) {
		return "Hello, " + in.Name + "!", nil
	}, mcpserver.ReadOnly())
	// mcpserver.Main(srv)

	c := clientOf(srv)
	defer c.Close()
	text, err := c.Call[string](context.Background(), "greet", Greeting{"Ada"})
	fmt.Println(text, err)
	// Output: Hello, Ada! <nil>
}

// The tags of the arguments are in the schema of the tool, and hold before the
// handler runs. Its errors are for the model to read.
func ExampleServer_Tool() {
	type Flight struct {
		Number string `json:"number" doc:"flight number such as AZ612" pattern:"^[A-Z]{2}[0-9]+$"`
		Date   string `json:"date,omitzero" doc:"day of departure" format:"date"`
	}
	type Status struct {
		Gate  string `json:"gate"`
		Delay int    `json:"delay" doc:"in minutes"`
	}
	srv := mcpserver.New("airline", "1.0.0", nil)
	srv.Tool("status", "Status of a flight", func(_ context.Context, in Flight) (Status, error) {
		if in.Number != "AZ612" {
			return Status{}, fmt.Errorf("flight %s: there is none of this number", in.Number)
		}
		return Status{Gate: "B7", Delay: 5}, nil
	}, mcpserver.ReadOnly(), mcpserver.ClosedWorld())

	c := clientOf(srv)
	defer c.Close()
	for _, number := range []string{"AZ612", "AZ1", "612"} {
		result, err := c.CallTool(context.Background(), "status", Flight{Number: number})
		fmt.Println(result.Content.Text(), err)
	}
	// Output:
	// {"gate":"B7","delay":5} <nil>
	// flight AZ1: there is none of this number <nil>
	// invalid arguments for tool "status": arguments/number: want a match of "^[A-Z]{2}[0-9]+$", got "612" <nil>
}

// A tool without a Go type: the schema is built, the handler gets raw JSON.
func ExampleServer_AddTool() {
	input, err := schema.Object(
		schema.Required("city", schema.String().Doc("name of a city")),
		schema.Optional("days", schema.Integer().Min(1).Max(14)),
	).JSON()
	if err != nil {
		log.Fatal(err)
	}
	srv := mcpserver.New("weather", "1.0.0", nil)
	srv.AddTool(mcp.Tool{Name: "forecast", InputSchema: input}, func(_ context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
		return &mcp.CallToolResult{Content: mcp.Contents{mcp.Textf("called with %s", p.Arguments)}}, nil
	})

	c := clientOf(srv)
	defer c.Close()
	text, err := c.Call[string](context.Background(), "forecast", map[string]any{"city": "Oslo"})
	fmt.Println(text, err)
	// Output: called with {"city":"Oslo"} <nil>
}

// The handler validates its arguments itself.
func ExampleAllowInvalidArguments() {
	srv := mcpserver.New("weather", "1.0.0", nil)
	input := jsontext.Value(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)
	srv.AddTool(mcp.Tool{Name: "forecast", InputSchema: input}, func(_ context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
		var in struct {
			City string `json:"city"`
		}
		if err := json.Unmarshal(p.Arguments, &in); err != nil || in.City == "" {
			return nil, errors.New("which city?")
		}
		return &mcp.CallToolResult{Content: mcp.Contents{mcp.Textf("sunny in %s", in.City)}}, nil
	}, mcpserver.AllowInvalidArguments())

	c := clientOf(srv)
	defer c.Close()
	r, err := c.CallTool(context.Background(), "forecast", nil)
	fmt.Println(r.Content.Text(), err)
	// Output: which city? <nil>
}

func ExampleServer_Resource() {
	srv := mcpserver.New("airline", "1.0.0", nil)
	srv.Resource("status://today", "Today at a glance", "text/markdown", func(context.Context) ([]byte, error) {
		return []byte("All flights are on time."), nil
	})

	c := clientOf(srv)
	defer c.Close()
	r, err := c.ReadResource(context.Background(), "status://today")
	fmt.Println(r.Contents[0].Text, err)
	// Output: All flights are on time. <nil>
}

// The variables of a template are the fields of a struct, and can be completed.
func ExampleServer_Template() {
	type Airport struct {
		Airport string `json:"airport" pattern:"^[A-Z]{3}$"`
	}
	srv := mcpserver.New("airline", "1.0.0", nil)
	srv.Template("timetable://{airport}", "Timetable", "text/plain", func(_ context.Context, in Airport) ([]byte, error) {
		return []byte("AZ612 leaves " + in.Airport + " at 9:40"), nil
	}, mcpserver.CompleteArg("airport", mcpserver.Prefix("OSL", "TRN", "TRF")))

	c := clientOf(srv)
	defer c.Close()
	r, err := c.ReadResource(context.Background(), "timetable://TRN")
	fmt.Println(r.Contents[0].Text, err)
	completion, err := c.Complete(context.Background(), &mcp.CompleteParams{
		Ref: mcp.ResourceRef("timetable://{airport}"), Argument: mcp.CompleteArgument{Name: "airport", Value: "t"},
	})
	fmt.Println(completion.Values, err)
	// Output:
	// AZ612 leaves TRN at 9:40 <nil>
	// [TRN TRF] <nil>
}

func ExampleServer_Prompt() {
	type Trip struct {
		From string `json:"from" doc:"where it begins"`
		Days int    `json:"days,omitzero" min:"1"`
	}
	srv := mcpserver.New("airline", "1.0.0", nil)
	srv.Prompt("plan", "Plan a trip", func(_ context.Context, in Trip) ([]mcp.PromptMessage, error) {
		return []mcp.PromptMessage{mcpserver.UserMessage(fmt.Sprintf("Plan %d days, from %s.", in.Days, in.From))}, nil
	}, mcpserver.CompleteArg("from", mcpserver.Fuzzy("Oslo", "Turin", "Venice")))

	c := clientOf(srv)
	defer c.Close()
	prompt, err := c.GetPrompt(context.Background(), "plan", map[string]string{"from": "Turin", "days": "3"})
	fmt.Println(prompt.Messages[0].Content.(mcp.TextContent).Text, err)
	// Output: Plan 3 days, from Turin. <nil>
}

// Middleware sees every message. This one names the callers of tools.
func ExampleServer_Use() {
	srv := mcpserver.New("airline", "1.0.0", nil)
	srv.Use(func(next mcpserver.Handler) mcpserver.Handler {
		return func(ctx context.Context, r *mcpserver.Request) (any, error) {
			if r.Method() == mcp.MethodToolsCall {
				fmt.Println("called by", r.Principal())
			}
			return next(ctx, r)
		}
	})
	srv.Tool("ping", "", func(context.Context, struct{}) (string, error) { return "pong", nil })

	c := clientOf(srv)
	defer c.Close()
	text, err := c.Call[string](context.Background(), "ping", nil)
	fmt.Println(text, err)
	// Output:
	// called by local
	// pong <nil>
}

// A feature can be there for some principals only. To others it is unknown.
func ExampleVisible() {
	staff := mcpserver.Visible(func(who *mcp.Identity) bool { return who.Principal.Issuer == "https://id.example.com" })
	srv := mcpserver.New("airline", "1.0.0", nil)
	srv.Tool("status", "", func(context.Context, struct{}) (string, error) { return "", nil })
	srv.Tool("cancel", "", func(context.Context, struct{}) (string, error) { return "", nil }, staff)

	c := clientOf(srv)
	defer c.Close()
	for tool, err := range c.Tools(context.Background()) {
		fmt.Println(tool.Name, err)
	}
	// Output: status <nil>
}

func ExampleProgress() {
	srv := mcpserver.New("slow", "1.0.0", nil)
	srv.Tool("count", "", func(ctx context.Context, _ struct{}) (string, error) {
		for i := range 3 {
			mcpserver.Progress(ctx, float64(i+1), 3, "counting")
		}
		return "done", nil
	})

	c := clientOf(srv)
	defer c.Close()
	text, err := c.Call[string](context.Background(), "count", nil, mcpclient.WithProgress(func(p mcp.ProgressParams) {
		fmt.Println(p.Progress, "of", p.Total, p.Message)
	}))
	fmt.Println(text, err)
	// Output:
	// 1 of 3 counting
	// 2 of 3 counting
	// 3 of 3 counting
	// done <nil>
}

// One handler serves every revision, below any path of any router.
func ExampleServer_HTTPHandler() {
	srv := mcpserver.New("airline", "1.0.0", nil)
	mux := http.NewServeMux()
	mux.Handle("/mcp", srv.HTTPHandler())
	// http.ListenAndServe("127.0.0.1:8080", mux)
}

// Shutdown lets running calls finish.
func ExampleServer_Shutdown() {
	srv := mcpserver.New("airline", "1.0.0", nil)
	fmt.Println(srv.Shutdown(context.Background()))
	// Output: <nil>
}

// Clients that watch a resource are notified of its changes, in every revision of the
// protocol.
func ExampleServer_Updated() {
	var gate atomic.Value
	gate.Store("A1")
	srv := mcpserver.New("airline", "1.0.0", nil)
	srv.Resource("flights://AZ612", "AZ612", "text/plain", func(context.Context) ([]byte, error) {
		return []byte(gate.Load().(string)), nil
	})

	ctx := context.Background()
	c := clientOf(srv)
	defer c.Close()
	for uri, err := range c.Watch(ctx, "flights://AZ612") {
		if err != nil {
			log.Fatal(err)
		}
		flight, err := c.ReadResource(ctx, uri)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(uri, flight.Contents[0].Text)
		if gate.Load() == "B7" {
			break
		}
		gate.Store("B7")
		srv.Updated("flights://AZ612")
	}
	// Output:
	// flights://AZ612 A1
	// flights://AZ612 B7
}

// A sensor that is read only while a client is subscribed to it.
func ExampleWhileSubscribed() {
	srv := mcpserver.New("house", "1.0.0", nil)
	stopped := make(chan struct{})
	srv.Resource("sensor://roof", "Roof", "text/plain", func(context.Context) ([]byte, error) { return []byte("21 °C"), nil },
		mcpserver.WhileSubscribed(func(ctx context.Context, uri string) {
			fmt.Println("reading", uri)
			defer close(stopped)
			for {
				select {
				case <-ctx.Done():
					return
				case <-time.After(time.Millisecond):
					srv.Updated(uri)
				}
			}
		}))

	c := clientOf(srv)
	defer c.Close()
	changes := 0
	for uri, err := range c.Watch(context.Background(), "sensor://roof") {
		if err != nil {
			log.Fatal(err)
		}
		if changes++; changes == 3 {
			fmt.Println("seen enough of", uri)
			break
		}
	}
	<-stopped
	// Output:
	// reading sensor://roof
	// seen enough of sensor://roof
}

// Two servers of one name on a Bus: what one announces the clients of both hear.
func ExampleMemoryBus() {
	bus := new(mcpserver.MemoryBus)
	replica := func() *mcpserver.Server {
		srv := mcpserver.New("airline", "1.0.0", &mcpserver.Options{Bus: bus})
		srv.Resource("flights://AZ612", "AZ612", "text/plain", func(context.Context) ([]byte, error) { return []byte("A1"), nil })
		return srv
	}
	one, two := replica(), replica()
	defer one.Shutdown(context.Background())
	defer two.Shutdown(context.Background())

	c := clientOf(two)
	defer c.Close()
	times := 0
	for uri, err := range c.Watch(context.Background(), "flights://AZ612") {
		if err != nil {
			log.Fatal(err)
		}
		if times++; times == 2 {
			fmt.Println(uri, "has changed")
			break
		}
		one.Updated(uri)
	}
	// Output: flights://AZ612 has changed
}

// A program that needs the value of a flag before it calls Main adds the flags of Main and
// parses them all.
// A server that opens a connection for each client limits them. The client with most of them
// loses one when there is no room for another client.
func ExampleOwnerPool() {
	connections := mcpserver.NewOwnerPool(mcpserver.OwnerPoolOptions{Total: 100})
	srv := mcpserver.New("gate", "1.0.0", nil)
	srv.Tool("open", "Open the gate", func(ctx context.Context, _ struct{}) (string, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		place, err := connections.Take(mcpserver.From(ctx).Owner(), 1, cancel)
		if err != nil {
			return "", err
		}
		defer place.Release()
		return fmt.Sprint("open ", connections.Held(), " ", ctx.Err()), nil
	})
	c, err := mcpclient.Connect(context.Background(), mcpclient.InProcess(srv), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	fmt.Println(c.Call[string](context.Background(), "open", nil))
	// Output: open 1 <nil> <nil>
}

func ExampleMain() {
	open := func(file string) fs.FS { return os.DirFS(file) }
	newServer := func(notes fs.FS) *mcpserver.Server {
		srv := mcpserver.New("notes", "1.0.0", nil)
		srv.Tool("note", "", func(_ context.Context, in struct{ Name string }) (string, error) {
			text, err := fs.ReadFile(notes, in.Name)
			return string(text), err
		})
		return srv
	}

	db := flag.String("db", "notes.db", "the `file` with the notes")
	mcpserver.AddFlags(flag.CommandLine)
	flag.Parse()
	mcpserver.Main(newServer(open(*db)))
}

// A program that parses its own flags adds those of Main before.
func ExampleAddFlags() {
	fs := flag.NewFlagSet("notes", flag.ContinueOnError)
	db := fs.String("db", "notes.db", "the `file` with the notes")
	mcpserver.AddFlags(fs)
	if err := fs.Parse([]string{"-db", "work.db", "-http", "127.0.0.1:8080"}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(*db)
	// mcpserver.Main(newServer(*db)) serves HTTP on 127.0.0.1:8080.
	// Output: work.db
}

// The log of the server has the call that a record belongs to.
func ExampleLogger() {
	text := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	srv := mcpserver.New("airline", "1.0.0", &mcpserver.Options{Logger: slog.New(text)})
	srv.Tool("cancel", "", func(ctx context.Context, _ struct{}) (string, error) {
		mcpserver.Logger(ctx).Info("cancelled", "flight", "AZ612")
		return "done", nil
	})

	c := clientOf(srv)
	defer c.Close()
	_, _ = c.Call[string](context.Background(), "cancel", nil)
	// Output: level=INFO msg=cancelled method=tools/call name=cancel principal=local flight=AZ612
}

// noteTable is a table of notes, by their ids. The comments have the queries of a database.
var noteTable = map[int]string{1: "Buy milk", 2: "Call Ada", 3: "Water the plants"}

type noteVars struct {
	ID int `json:"id"`
}

// readNote reads a note.
func readNote(_ context.Context, v noteVars) ([]byte, error) {
	text, ok := noteTable[v.ID] // SELECT text FROM notes WHERE id = ?
	if !ok {
		return nil, mcpserver.ErrNotFound
	}
	return []byte(text), nil
}

// listNotes lists the notes after the one whose id is the cursor.
func listNotes(_ context.Context, cursor string, limit int) (page []mcpserver.ListedResource[noteVars], next string, err error) {
	after := 0
	if cursor != "" {
		if after, err = strconv.Atoi(cursor); err != nil {
			return nil, "", mcpserver.ErrInvalidCursor
		}
	}
	for _, id := range slices.Sorted(maps.Keys(noteTable)) { // SELECT id FROM notes WHERE id > ? ORDER BY id LIMIT ?
		if id > after && len(page) < limit {
			page = append(page, mcpserver.ListedResource[noteVars]{Vars: noteVars{id}, Name: fmt.Sprint("Note ", id)})
		}
	}
	if len(page) == limit {
		next = strconv.Itoa(page[limit-1].Vars.ID)
	}
	return page, next, nil
}

// completeID completes the id of a note.
func completeID(_ context.Context, c mcpserver.CompletionRequest, limit int) (ids []string, err error) {
	for _, id := range slices.Sorted(maps.Keys(noteTable)) { // SELECT id FROM notes WHERE id LIKE ? || '%' ORDER BY id LIMIT ?
		if text := strconv.Itoa(id); strings.HasPrefix(text, c.Value) && len(ids) < limit {
			ids = append(ids, text)
		}
	}
	return ids, nil
}

// The resources of a template are in a database: they are listed page by page, and none is
// registered.
func ExampleListResources() {
	srv := mcpserver.New("notes", "1.0.0", &mcpserver.Options{PageSize: 2})
	srv.Template("notes://{id}", "note", "text/plain", readNote,
		mcpserver.ListResources(listNotes), mcpserver.CompleteQuery("id", completeID))

	c := clientOf(srv)
	defer c.Close()
	for r, err := range c.Resources(context.Background()) {
		fmt.Println(r.URI, r.Name, err)
	}
	read, err := c.ReadResource(context.Background(), "notes://2")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(read.Contents[0].Text)
	// Output:
	// notes://1 Note 1 <nil>
	// notes://2 Note 2 <nil>
	// notes://3 Note 3 <nil>
	// Call Ada
}
