package cli_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/fondaco/fondaco/host/cli"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/internal/testdir"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// role is set for processes that the tests start from their own binary: it is
// the program itself, or an upstream.
const role = "FONDACO_CLI_TEST"

func TestMain(m *testing.M) {
	testdir.Prepare()
	cli.SetPatience(maxWait)
	cli.SetLameDuck(20 * time.Millisecond)
	switch os.Getenv(role) {
	case "fondaco":
		fondaco()
	case "interrupted":
		ctx, stop := cli.NotifyContext(func() {})
		interruptTwice(ctx)
		stop()
		os.Exit(0)
	case "server":
		mcpserver.Main(newScriptServer())
		os.Exit(0)
	case "upstream":
		mcpserver.Main(newUpstream(nil))
		os.Exit(0)
	case "stubborn": // ends by SIGKILL alone
		signal.Ignore(syscall.SIGTERM, os.Interrupt)
		_ = newUpstream(nil).Run(context.Background()) // unlike Main it handles no signals
		time.Sleep(maxWait)
		os.Exit(0)
	case "slow": // as npx is that downloads packages
		time.Sleep(11 * time.Second)
		mcpserver.Main(newUpstream(nil))
		os.Exit(0)
	case "dynamic", "dynamic sessions":
		mcpserver.Main(newDynamicUpstream(os.Getenv(role) == "dynamic sessions"))
		os.Exit(0)
	case "quick": // to end, because nothing is listening to it
		mcpserver.Main(newUpstream(&mcpserver.Options{Revisions: []mcp.Revision{mcp.V20251125}}))
		os.Exit(0)
	}
	// The tests wait for processes and timers most of the time.
	if err := flag.Set("test.parallel", strconv.Itoa(max(4, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){
		"fondaco": fondaco,
		"server":  func() { mcpserver.Main(newScriptServer()) },
		// The browser of the sessions: its user says yes to everything.
		"xdg-open": func() { visitPage(os.Args[1]) },
	})
}

// fondaco is the program itself.
func fondaco() {
	if path := os.Getenv(policyVariable); path != "" {
		cli.SetPolicy(path)
	}
	os.Exit(cli.RunProcess())
}

// policyVariable names the managed policy of the programs that tests start.
const policyVariable = "FONDACO_CLI_TEST_POLICY"

// interruptTwice interrupts this process, and once more as soon as ctx has ended.
func interruptTwice(ctx context.Context) {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return
	}
	_ = self.Signal(os.Interrupt)
	<-ctx.Done()
	_ = self.Signal(os.Interrupt)
	time.Sleep(maxWait)
}

// maxWait is how long what has to come may take where other tests have the
// processors. It only bounds what never comes, and no test asserts a shorter time.
const maxWait = 5 * time.Minute

// heldVariable names the file by which the tool hold tells that it is running.
const heldVariable = "FONDACO_TEST_HELD"

// ledgerVariable names the file into which the tool note writes.
const ledgerVariable = "FONDACO_TEST_LEDGER"

// descriptionVariable is another description of the tool pid.
const descriptionVariable = "FONDACO_TEST_DESCRIPTION"

// newUpstream is a server that a configuration of the tests names.
func newUpstream(o *mcpserver.Options) *mcpserver.Server {
	srv := mcpserver.New("upstream", "1.0.0", o)
	srv.Tool("pid", cmp.Or(os.Getenv(descriptionVariable), "Tell the number of the process"), func(context.Context, struct{}) (int, error) {
		return os.Getpid(), nil
	}, mcpserver.ReadOnly())
	srv.Tool("hold", "Hold the line", func(ctx context.Context, _ struct{}) (string, error) {
		if path := os.Getenv(heldVariable); path != "" {
			_ = os.WriteFile(path, nil, 0o600)
		}
		<-ctx.Done()
		return "", ctx.Err()
	})
	if path := os.Getenv(ledgerVariable); path != "" {
		srv.Tool("note", "Write a line into the ledger", func(_ context.Context, in struct{ Line string }) (string, error) {
			return in.Line, appendLine(path, in.Line)
		})
	}
	return srv
}

// appendLine appends a line to a file that several processes write.
func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// newDynamicUpstream is a server that adds features when its tool "enable" is called.
func newDynamicUpstream(onlySessions bool) *mcpserver.Server {
	o := &mcpserver.Options{Dynamic: true}
	if onlySessions {
		o.Revisions = []mcp.Revision{mcp.V20250618, mcp.V20251125}
	}
	srv := newUpstream(o)
	srv.Tool("enable", "Add features", func(context.Context, struct{}) (string, error) {
		if err := srv.ReplaceTool("issues", "List issues", func(context.Context, struct{}) (int, error) { return os.Getpid(), nil }); err != nil {
			return "", err
		}
		err := srv.ReplacePrompt("triage", "Triage issues", func(context.Context, struct{}) ([]mcp.PromptMessage, error) {
			return []mcp.PromptMessage{mcpserver.UserMessage("Triage.")}, nil
		})
		if err != nil {
			return "", err
		}
		return "enabled", srv.ReplaceResource("issues://open", "open", "text/plain", func(context.Context) ([]byte, error) { return []byte("none"), nil })
	})
	return srv
}

// output is a buffer that is written and read at the same time.
type output struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.String()
}

// await waits until the pattern matches, and returns the submatches.
func (o *output) await(t *testing.T, pattern string) []string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(maxWait); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if m := re.FindStringSubmatch(o.String()); m != nil {
			return m
		}
	}
	t.Fatalf("got %q, want %s", o.String(), pattern)
	return nil
}

// session is where a user types commands, in one process.
type session struct {
	env      []string
	stdin    string
	terminal bool
}

// run does one command and returns what it prints and its exit code.
func (s session) run(ctx context.Context, args ...string) (stdout, stderr string, code int) {
	var out, words output
	m := &cli.Main{IO: terminal.IO{Stdin: strings.NewReader(s.stdin), Stdout: &out, Stderr: &words, Env: s.env, Terminal: s.terminal}, Args: append([]string{"fondaco"}, args...)}
	code = m.Main(ctx)
	return out.String(), words.String(), code
}

// up starts a host that lasts as long as the test, and returns a session with
// it.
func up(t *testing.T, args ...string) session {
	t.Helper()
	s, _ := upTelling(t, args...)
	return s
}

// upTelling is up, and returns what the host prints.
func upTelling(t *testing.T, args ...string) (session, *output) {
	t.Helper()
	home := t.TempDir()
	words := new(output)
	m := &cli.Main{IO: terminal.IO{Stdout: words, Stderr: words, Env: []string{"HOME=" + home}}, Args: append([]string{"fondaco", "up", "--addr", "127.0.0.1:0"}, args...)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() { ended <- m.Main(ctx) }()
	t.Cleanup(func() {
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("up: got exit code %d, want 0\n%s", code, words.String())
		}
	})
	addr := words.await(t, `(?m)^LISTEN (\S+)$`)[1]
	return session{env: []string{"HOME=" + home, "FONDACO_URL=http://" + addr + "/mcp"}}, words
}

var quiet = slog.New(slog.DiscardHandler)

// serve serves a server over HTTP, without a host before it.
func serve(t *testing.T, srv *mcpserver.Server) session {
	t.Helper()
	web := httptest.NewServer(srv.HTTPHandler())
	t.Cleanup(func() {
		_ = srv.Shutdown(context.Background())
		web.Close()
	})
	return session{env: []string{"FONDACO_URL=" + web.URL}}
}
