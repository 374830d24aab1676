package docs_test

import (
	"context"
	"encoding/json/jsontext"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

type greeting struct {
	Name string `json:"name" doc:"whom to greet"`
}

type wish struct {
	Language string `json:"language" doc:"of the greeting" enum:"English|Italiano"`
}

func greet(ctx context.Context, in greeting) (string, error) {
	want, err := mcpserver.Ask[wish](ctx, "language", "In which language?")
	if err != nil {
		return "", err
	}
	if want.Language == "Italiano" {
		return "Ciao, " + in.Name + "!", nil
	}
	return "Hello, " + in.Name + "!", nil
}

type elicitForm = func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error)

// callGreet is the client of README.md.
func callGreet(ctx context.Context, srv *mcpserver.Server, form elicitForm) (string, error) {
	c, err := mcpclient.Connect(ctx, mcpclient.InProcess(srv), &mcpclient.Options{ElicitForm: form}) // or URL("https://…"), Command("hello")
	if err != nil {
		return "", err
	}
	defer c.Close()
	return c.Call[string](ctx, "greet", map[string]string{"name": "Ada"})
}

func newGreeter() *mcpserver.Server {
	srv := mcpserver.New("hello", "1.0.0", nil)
	srv.Tool("greet", "Greets somebody", greet, mcpserver.ReadOnly())
	return srv
}

func answerItaliano(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"language": "Italiano"}`)}, nil
}

func TestServerOfTheReadmeAsksInBothEras(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(newGreeter()), &mcpclient.Options{
			ElicitForm: answerItaliano, Revisions: []mcp.Revision{revision},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		text, err := c.Call[string](t.Context(), "greet", map[string]string{"name": "Ada"})
		if err != nil || text != "Ciao, Ada!" {
			t.Errorf("%s: got %q, %v, want Ciao, Ada!", revision, text, err)
		}
	}
}

func TestClientOfTheReadmeAnswers(t *testing.T) {
	t.Parallel()
	if text, err := callGreet(t.Context(), newGreeter(), answerItaliano); err != nil || text != "Ciao, Ada!" {
		t.Errorf("got %q, %v, want Ciao, Ada!", text, err)
	}
}

var pictureFile = regexp.MustCompile(`src(?:set)?="([^"]+)"`)

func TestPicturesOfTheReadmeExist(t *testing.T) {
	t.Parallel()
	found := pictureFile.FindAllStringSubmatch(readPage(t, "../README.md"), -1)
	if len(found) == 0 {
		t.Error("got no pictures, want some")
	}
	for _, m := range found {
		if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(m[1]))); err != nil {
			t.Error(err)
		}
	}
}

var (
	testCommand = regexp.MustCompile("`go test \\./(\\S+?)(?: -run (\\w+) -v)?`")
	hostCommand = regexp.MustCompile("`fondaco (\\w+)")
	makeCommand = regexp.MustCompile("`make ([\\w-]+)")
)

// TestCommandsOfTheReadmeExist looks up the commands within the text of README.md. Those of its blocks run in a test
// of their own.
func TestCommandsOfTheReadmeExist(t *testing.T) {
	t.Parallel()
	readme := readPage(t, "../README.md")
	tests, commands, goals := testCommand.FindAllStringSubmatch(readme, -1), hostCommand.FindAllStringSubmatch(readme, -1), makeCommand.FindAllStringSubmatch(readme, -1)
	if len(tests) < 2 || len(commands) < 4 || len(goals) < 2 {
		t.Errorf("got %d tests, %d commands and %d goals, want more", len(tests), len(commands), len(goals))
	}
	for _, m := range tests {
		if !strings.Contains(goFiles(t, "../"+m[1]), "func "+m[2]) {
			t.Errorf("%s: there is no such test", m[0])
		}
	}
	cli := goFiles(t, "../host/cli")
	for _, m := range commands {
		if !strings.Contains(cli, `name: "`+m[1]+`",`) {
			t.Errorf("%s: there is no such command", m[0])
		}
	}
	makefile := readPage(t, "../Makefile")
	for _, m := range goals {
		if !regexp.MustCompile(`(?m)^(suites :=.* ` + m[1] + ` .*|` + m[1] + `:.*)$`).MatchString(makefile) {
			t.Errorf("%s: there is no such goal", m[0])
		}
	}
}

// goFiles returns the text of the Go files of a directory.
func goFiles(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: got %q, %v, want Go files", dir, names, err)
	}
	var all strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
