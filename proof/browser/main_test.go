package browser_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// role says that this program is a server of the host that is tested, and which one.
const role = "CONSOLE_TEST_SERVER"

// fondaco is the path of the program.
var fondaco string

func TestMain(m *testing.M) {
	if which := os.Getenv(role); which != "" {
		serve(which)
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "browser")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	fondaco = filepath.Join(dir, "fondaco")
	if out, err := exec.Command("go", "build", "-C", "../..", "-o", fondaco, "./cmd/fondaco").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build fondaco: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// serve is a server of the host.
func serve(which string) {
	srv := mcpserver.New(which, "1.4.0", nil)
	switch which {
	case "broken":
		fmt.Fprintln(os.Stderr, "WEATHER_KEY is not set: get one at https://weather.example/keys")
		os.Exit(1)
	case "hostile":
		text := "<script>document.title = 'run'</script> \u202eevil <img src=x onerror=alert(1)> " + strings.Repeat("long", 10_000)
		srv.Tool("show", text, func(context.Context, struct {
			In string `json:"in,omitzero" doc:"</textarea><script>alert(1)</script>"`
		},
		) (string, error) {
			return text, nil
		})
		fmt.Fprintln(os.Stderr, text)
	case "workshop":
		addWorkshop(srv)
	case "hotel":
		addQuestions(srv)
	case "museum":
		addRoots(srv)
	case "many":
		addTools(srv, 900)
	case "thousand":
		addTools(srv, 1000)
	default:
		type trip struct {
			From   string   `json:"from" doc:"airport of departure, such as TRN"`
			To     string   `json:"to" doc:"airport of arrival"`
			Class  string   `json:"class,omitzero" doc:"class of service" enum:"economy|business"`
			Seats  int      `json:"seats,omitzero" doc:"number of passengers"`
			Extras []string `json:"extras,omitzero" doc:"what else is needed"`
		}
		srv.Tool("book", "Books a flight", func(_ context.Context, in trip) (string, error) {
			if in.From == in.To {
				return "", errors.New("a flight has two airports")
			}
			return fmt.Sprintf("booked %s to %s", in.From, in.To), nil
		})
		srv.Tool("status", "Status of a flight", func(context.Context, struct{}) (string, error) { return "on time", nil }, mcpserver.ReadOnly())
		srv.Resource("status://today", "Today at a glance", "text/markdown", func(context.Context) ([]byte, error) { return []byte("# Today"), nil })
	}
	fmt.Fprintln(os.Stderr, "airline: connected to the timetable of today")
	mcpserver.Main(srv)
}

func addTools(srv *mcpserver.Server, n int) {
	for i := range n {
		srv.Tool(fmt.Sprintf("tool_%03d", i), "One of many tools", func(context.Context, struct{}) (string, error) { return "done", nil })
	}
}

// addQuestions adds tools that ask the user: by a form, by an address, and for the answer of a model.
func addQuestions(srv *mcpserver.Server) {
	type stay struct {
		Nights int    `json:"nights" min:"1" max:"30"`
		Meal   string `json:"meal" enum:"breakfast|dinner"`
	}
	srv.Tool("reserve", "Reserves a room", func(ctx context.Context, _ struct{}) (string, error) {
		want, err := mcpserver.Ask[stay](ctx, "stay", "How long do you stay?")
		return fmt.Sprintf("%d nights with %s", want.Nights, want.Meal), err
	})
	srv.Tool("pay", "Takes the payment", func(ctx context.Context, _ struct{}) (string, error) {
		err := mcpserver.AskAll(ctx, mcpserver.ElicitURL("pay", "Pay the room.", "https://pay.hotel.example/room?id=7"))
		return "paid", err
	})
	srv.Tool("praise", "Praises the hotel", func(ctx context.Context, _ struct{}) (string, error) {
		answer, err := mcpserver.Sample(ctx, "praise", &mcp.CreateMessageParams{
			SystemPrompt: "Be kind.", MaxTokens: 100,
			Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text("Praise the hotel.")}}},
		})
		if err != nil {
			return "", err
		}
		return answer.Content[0].(mcp.TextContent).Text, nil
	})
}

// addRoots adds a tool that shows the roots that the server gets.
func addRoots(srv *mcpserver.Server) {
	srv.Tool("where", "Shows the roots", func(ctx context.Context, _ struct{}) (string, error) {
		var roots []mcp.Root
		err := mcpserver.AskAll(ctx, mcpserver.ListRoots("roots", &roots))
		text := "roots:"
		for _, root := range roots {
			text += " " + root.URI
		}
		return text, err
	})
}

// addWorkshop adds what has every kind of input and result.
func addWorkshop(srv *mcpserver.Server) {
	const schema = `{"type": "object", "required": ["lines"], "properties": {
		"pay": {"oneOf": [{"title": "Card", "type": "object", "properties": {"number": {"type": "string"}}}, {"title": "Voucher", "type": "string"}]},
		"lines": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}}}},
		"tags": {"type": "array", "items": {"enum": ["new", "sale"]}},
		"photo": {"type": "string", "contentEncoding": "base64", "contentMediaType": "image/png"},
		"count": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": 3}}}`
	srv.AddTool(mcp.Tool{Name: "order", Description: "Makes an order", InputSchema: jsontext.Value(schema)}, func(_ context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
		return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(string(p.Arguments))}}, nil
	})
	srv.Tool("media", "Returns an image, a sound, a link and a file", func(context.Context, struct{}) (mcp.Contents, error) {
		return mcp.Contents{mcp.Image(dot(), "image/png"), mcp.Audio(silence(), "audio/wav"), mcp.Link("counter://now", "A counter"), mcp.Embed(mcp.NewResourceContents("a://b.bin", "application/zip", []byte{0xff, 0x00}))}, nil
	})
	srv.Prompt("review", "Reviews a text", func(_ context.Context, in struct {
		Language string `json:"language" doc:"language of the text"`
	},
	) ([]mcp.PromptMessage, error) {
		return []mcp.PromptMessage{mcpserver.UserMessage("Review this in " + in.Language + ".")}, nil
	}, mcpserver.CompleteArg("language", func(_ context.Context, r mcpserver.CompletionRequest) (found []string, err error) {
		for _, language := range []string{"German", "Greek", "Italian"} {
			if strings.HasPrefix(language, r.Value) {
				found = append(found, language)
			}
		}
		return found, nil
	}))
	for _, uri := range []string{"doc://guide/install.md", "doc://guide/use/first.md", "doc://guide/use/second.md"} {
		srv.Resource(uri, "A page", "text/markdown", func(context.Context) ([]byte, error) { return []byte("# " + uri), nil })
	}
	var count atomic.Int64
	srv.Resource("counter://now", "A counter", "text/plain", func(context.Context) ([]byte, error) { return fmt.Append(nil, "it is ", count.Load()), nil })
	srv.Tool("count", "Changes the counter", func(context.Context, struct{}) (string, error) {
		count.Add(1)
		srv.Updated("counter://now")
		return "counted", nil
	})
}

// dot is an image of one point.
func dot() []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, 40, 40)))
	return b.Bytes()
}

// silence is a sound of a tenth of a second.
func silence() []byte {
	const n = 800
	b := append([]byte("RIFF"), 0, 0, 0, 0)
	b = append(b, "WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data"...)
	b = binary.LittleEndian.AppendUint32(b, n)
	b = append(b, bytes.Repeat([]byte{0x80}, n)...)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)-8))
	return b
}

// host is a running host.
type host struct {
	home, url string
	env       []string
}

// userSettings let servers ask the user of a host without a terminal.
const userSettings = `{"mcpServers": {}, "fondaco": {"consent": {"questions": true}}}`

// up starts a host with servers of this program.
func up(t *testing.T, config string, args ...string) *host {
	t.Helper()
	return upAt(t, t.TempDir(), nil, config, args...)
}

// upAt is up at a home, with further variables.
func upAt(t *testing.T, home string, env []string, config string, args ...string) *host {
	t.Helper()
	h := &host{home: home, env: append([]string{"HOME=" + home, "XDG_RUNTIME_DIR=" + filepath.Join(home, "run"), "PATH=" + os.Getenv("PATH")}, env...)}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(home, "mcp.json")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(config, "SELF", self)), 0o600); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(home, ".config", "fondaco", "mcp.json")
	if err := os.MkdirAll(filepath.Dir(settings), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, []byte(userSettings), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(home, "log"))
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(fondaco, append([]string{"up", "--addr", "127.0.0.1:0", "--config", path}, args...)...)
	c.Env, c.Stderr = h.env, log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("log of the host:\n%s", text)
		}
	})
	h.url = "http://" + h.await(t, `(?m)^LISTEN (\S+)$`)
	h.await(t, `(?m)^(Ctrl-C stops it)`)
	return h
}

// await waits for a line of the host, and returns what the expression captures.
func (h *host) await(t *testing.T, expression string) string {
	t.Helper()
	wanted := regexp.MustCompile(expression)
	for range 600 {
		text, err := os.ReadFile(filepath.Join(h.home, "log"))
		if err != nil {
			t.Fatal(err)
		}
		if m := wanted.FindSubmatch(text); m != nil {
			return string(m[1])
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("the host has not printed %s", expression)
	return ""
}

// run runs a command of the user, and returns its output.
func (h *host) run(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.Command(fondaco, args...)
	c.Env = h.env
	out, err := c.CombinedOutput()
	if err != nil {
		t.Logf("fondaco %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}
