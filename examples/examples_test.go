// Package examples_test builds every example and uses it as a stranger would.
package examples_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// bin holds the programs, by the names of the examples.
var bin string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if bin, err = os.MkdirTemp("", "examples"); err != nil {
		log.Print(err)
		return 1
	}
	defer os.RemoveAll(bin)
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", bin+string(filepath.Separator), "./...")
	// Under the race detector cgo is on, with which the standard library would be built again.
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		log.Printf("go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

func program(name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(bin, name)
}

// eachRevision starts an example for each revision and connects a client to it.
func eachRevision(t *testing.T, name string, test func(t *testing.T, c *mcpclient.Client)) {
	t.Helper()
	t.Parallel()
	for _, v := range mcp.Revisions() {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			test(t, start(t, mcpclient.Command(program(name)), &mcpclient.Options{Revisions: []mcp.Revision{v}}))
		})
	}
}

func start(t *testing.T, target mcpclient.Target, o *mcpclient.Options) *mcpclient.Client {
	t.Helper()
	c, err := mcpclient.Connect(t.Context(), target, o)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

type object map[string]any

// call calls a tool and wants this text.
func call(t *testing.T, c *mcpclient.Client, tool string, args object, want string) {
	t.Helper()
	if got, err := c.Call[string](t.Context(), tool, args); err != nil || got != want {
		t.Errorf("%s %v: got %s, %v, want %s", tool, args, got, err, want)
	}
}

// fails calls a tool and wants a failure that says this.
func fails(t *testing.T, c *mcpclient.Client, tool string, args object, want string) {
	t.Helper()
	_, err := c.Call[string](t.Context(), tool, args)
	if _, ok := errors.AsType[*mcpclient.ToolError](err); !ok || !strings.Contains(err.Error(), want) {
		t.Errorf("%s %v: got %v, want a failure that says %q", tool, args, err, want)
	}
}

// reads reads a resource and wants this text.
func reads(t *testing.T, c *mcpclient.Client, uri, want string) {
	t.Helper()
	r, err := c.ReadResource(t.Context(), uri)
	if err != nil || r.Contents[0].Text != want {
		t.Errorf("%s: got %+v, %v, want %s", uri, r, err, want)
	}
}

func TestHello(t *testing.T) {
	eachRevision(t, "hello", func(t *testing.T, c *mcpclient.Client) {
		call(t, c, "greet", object{"name": "Ada"}, "Hello, Ada!")
		fails(t, c, "greet", object{}, "name")
	})
}

func TestAirline(t *testing.T) {
	eachRevision(t, "airline", func(t *testing.T, c *mcpclient.Client) {
		call(t, c, "status", object{"number": "AZ612"}, `{"number":"AZ612","from":"Turin","to":"Oslo","gate":"B7","seats":40}`)
		fails(t, c, "status", object{"number": "612"}, "/number")
		fails(t, c, "status", object{"number": "XX1"}, "there is none of this number")
		fails(t, c, "book", object{"number": "AZ613", "seats": 4}, "has 3 free seats, not 4")
		watchBooking(t, c)
		reads(t, c, "flights://AZ613", `{"number":"AZ613","from":"Oslo","to":"Turin","gate":"A1","seats":1}`)
		if _, err := c.ReadResource(t.Context(), "flights://XX1"); err == nil {
			t.Error("got a flight, want that it is not found")
		}
		prompt, err := c.GetPrompt(t.Context(), "plan", map[string]string{"from": "Turin", "to": "Oslo", "days": "2"})
		if err != nil || !strings.Contains(fmt.Sprint(prompt.Messages), "from Turin to Oslo. Use the tool status for flights. It may take 2 days.") {
			t.Errorf("got %+v, %v, want the trip", prompt, err)
		}
		completes(t, c, mcp.PromptRef("plan"), "to", "vn", "Venice")
		completes(t, c, mcp.ResourceRef("flights://{number}"), "number", "az", "AZ612", "AZ613")
	})
}

// watchBooking books a flight that is watched.
func watchBooking(t *testing.T, c *mcpclient.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var seen []string
	for uri, err := range c.Watch(ctx, "flights://AZ613") {
		if err != nil {
			t.Fatalf("watch: %v", err)
		}
		if seen = append(seen, uri); len(seen) == 2 {
			break
		}
		call(t, c, "book", object{"number": "AZ613", "seats": 2, "class": "business"},
			`{"reference":"AZ613-1","class":"business","flight":{"number":"AZ613","from":"Oslo","to":"Turin","gate":"A1","seats":1}}`)
	}
	if !slices.Equal(seen, []string{"flights://AZ613", "flights://AZ613"}) {
		t.Errorf("got %q, want the flight when the watch begins and when it is booked", seen)
	}
}

func completes(t *testing.T, c *mcpclient.Client, ref mcp.Reference, argument, typed string, want ...string) {
	t.Helper()
	got, err := c.Complete(t.Context(), &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteArgument{Name: argument, Value: typed}})
	if err != nil || !slices.Equal(got.Values, want) {
		t.Errorf("%s %q: got %+v, %v, want %q", argument, typed, got, err, want)
	}
}

func TestBasket(t *testing.T) {
	eachRevision(t, "basket", func(t *testing.T, c *mcpclient.Client) {
		made, err := c.Call[struct {
			Basket string `json:"basket"`
		}](t.Context(), "create_basket", nil)
		if err != nil || !strings.HasPrefix(made.Basket, "basket_") {
			t.Fatalf("got %+v, %v, want a handle", made, err)
		}
		call(t, c, "add_item", object{"basket": made.Basket, "article": "pear"}, `{"items":[{"article":"pear","count":1}]}`)
		call(t, c, "add_item", object{"basket": made.Basket, "article": "pear", "count": 2}, `{"items":[{"article":"pear","count":3}]}`)
		call(t, c, "show_basket", object{"basket": made.Basket}, `{"items":[{"article":"pear","count":3}]}`)
		call(t, c, "check_out", object{"basket": made.Basket}, "Bought 1 articles.")
		fails(t, c, "show_basket", object{"basket": made.Basket}, "it does not exist or has expired; use an existing handle, or create a new one")
	})
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "guide.md", "# Guide")
	target := mcpclient.Command(program("files"))
	target.Dir = dir
	c := start(t, target, nil)
	reads(t, c, "file:///guide.md", "# Guide")
	reads(t, c, "file:///", "file:///guide.md\n")
	write(t, dir, "new.md", "# New")
	reads(t, c, "file:///new.md", "# New")
	call(t, c, "rescan", nil, "The list is up to date.")
	var uris []string
	for r, err := range c.Resources(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		uris = append(uris, r.URI)
	}
	if want := []string{"file:///", "file:///guide.md", "file:///new.md"}; !slices.Equal(uris, want) {
		t.Errorf("got %q, want %q", uris, want)
	}
	if _, err := c.ReadResource(t.Context(), "file:///../"+filepath.Base(dir)+"/guide.md"); err == nil {
		t.Error("got a file by a way around, want that it is not found")
	}
}

func write(t *testing.T, dir, name, data string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestClient(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args  []string
		want  string
		fails bool
	}{
		{args: []string{program("airline")}, want: "airline 1.0.0 speaks 2026-07-28\n" +
			"tool      book: Book seats on a flight\n" +
			"tool      status: Status of a flight\n" +
			"resource  flights://all: All flights\n" +
			"prompt    plan: Plan a trip\n"},
		{args: []string{"-tool", "greet", "-args", `{"name":"Ada"}`, program("hello")}, want: "Hello, Ada!\n"},
		{args: []string{"-tool", "greet", program("hello")}, want: "name", fails: true},
		{want: "want the URL of a server, or a command that starts one\n", fails: true},
	} {
		out, err := exec.CommandContext(t.Context(), program("client"), test.args...).CombinedOutput()
		if !strings.Contains(string(out), test.want) || (err != nil) != test.fails {
			t.Errorf("client %q: got %s, %v, want %s", test.args, out, err, test.want)
		}
	}
}

func TestEveryExampleHasAPageThatNamesIt(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		found++
		page, err := os.ReadFile(filepath.Join(e.Name(), "README.md"))
		if err != nil || !strings.HasPrefix(string(page), "# "+e.Name()+"\n") {
			t.Errorf("%s: got %.20q, %v, want a page with the name as its title", e.Name(), page, err)
		}
	}
	if found < 6 {
		t.Errorf("got %d examples, want at least 6", found)
	}
}
