package integration_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// replicaEnv makes the test binary one of several servers with the same keys. It
// names the directory in which each step of the work leaves a file.
const replicaEnv = "INTEGRATION_REPLICA_STEPS"

func newReplica(steps string) *mcpserver.Server {
	s := mcpserver.New("replica", "1", &mcpserver.Options{
		Keys:   []mcpserver.Key{{ID: "shared", Secret: []byte(strings.Repeat("k", 32))}},
		Logger: slog.New(slog.DiscardHandler),
	})
	work := func() (string, error) {
		f, err := os.CreateTemp(steps, "step")
		if err != nil {
			return "", err
		}
		return "done", f.Close()
	}
	order := func(ctx context.Context, step func() (string, error)) (string, error) {
		where, err := mcpserver.Ask[seat](ctx, "seat", "Which seat?")
		if err != nil {
			return "", err
		}
		done, err := step()
		if err != nil {
			return "", err
		}
		what, err := mcpserver.Ask[meal](ctx, "meal", "What would you like to eat?")
		return fmt.Sprint(done, " ", where.Row, " ", what.Dish), err
	}
	s.Tool("replayed", "", func(ctx context.Context, _ struct{}) (string, error) {
		return order(ctx, func() (string, error) { return mcpserver.Once(ctx, "step", work) })
	})
	s.Tool("parked", "", func(ctx context.Context, _ struct{}) (string, error) {
		held, err := mcpserver.Park(ctx, "held", func(context.Context) (string, error) { return work() }, func(string) {})
		if err != nil {
			return "", err
		}
		return order(ctx, func() (string, error) { return held, nil })
	})
	return s
}

// balancer never sends two rounds of a call to one replica, of which there are
// three.
type balancer struct {
	mu    sync.Mutex
	live  []*replicaProcess // those that may get the next round; the one that had the last is at the end
	calls []*replicaProcess // that had a round each
}

type replicaProcess struct {
	cmd   *exec.Cmd
	proxy *httputil.ReverseProxy
}

func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	next := b.live[0]
	if r.Header.Get("Mcp-Method") == mcp.MethodToolsCall {
		b.live = append(b.live[1:], next)
		b.calls = append(b.calls, next)
	}
	b.mu.Unlock()
	next.proxy.ServeHTTP(w, r)
}

// killLast kills the replica that had the last round.
func (b *balancer) killLast(t *testing.T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := b.calls[len(b.calls)-1]
	b.live = slices.DeleteFunc(b.live, func(p *replicaProcess) bool { return p == last })
	if err := last.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = last.cmd.Wait()
}

// startReplicas starts three processes behind a balancer.
func startReplicas(t *testing.T, steps string) (*balancer, *httptest.Server) {
	t.Helper()
	b := new(balancer)
	for range 3 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-http", "127.0.0.1:0")
		cmd.Env = append(os.Environ(), replicaEnv+"="+steps)
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		line, err := bufio.NewReader(stderr).ReadString('\n')
		at, ok := strings.CutPrefix(strings.TrimSpace(line), "LISTEN ")
		if err != nil || !ok {
			t.Fatalf("got %q, %v, want where it listens", line, err)
		}
		b.live = append(b.live, &replicaProcess{cmd, httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: at})})
	}
	web := httptest.NewServer(b)
	t.Cleanup(web.Close)
	return b, web
}

func TestRoundsContinueInOtherProcesses(t *testing.T) {
	claim.Shows(t, "R-294", "R-299a", "R-301")
	t.Parallel()
	for _, test := range []struct {
		tool, name string
		kill       bool
		want       string
	}{
		{"replayed", "another replica each time", false, "done 4 soup"},
		{"replayed", "each replica killed after its round", true, "done 4 soup"},
		{"parked", "another replica", false, "interaction expired, call again"},
		{"parked", "the replica killed", true, "interaction expired, call again"},
	} {
		t.Run(test.tool+"/"+test.name, func(t *testing.T) {
			t.Parallel()
			steps := t.TempDir()
			b, web := startReplicas(t, steps)
			o := passenger(t, mcp.V20260728)
			answer := o.ElicitForm
			o.ElicitForm = func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				if test.kill {
					b.killLast(t)
				}
				return answer(ctx, p)
			}
			c := connectTo(t, mcpclient.URL(web.URL+"/mcp"), o)
			got, err := c.CallTool(t.Context(), test.tool, nil)
			if err != nil || !strings.Contains(got.Content.Text(), test.want) || got.IsError != (test.tool == "parked") {
				t.Fatalf("got %+v, %v, want %q", got, err, test.want)
			}
			if done, err := os.ReadDir(steps); err != nil || len(done) != 1 {
				t.Errorf("got %d steps done, %v, want 1", len(done), err)
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			if rounds := len(b.calls); rounds != map[string]int{"replayed": 3, "parked": 2}[test.tool] {
				t.Errorf("got %d rounds", rounds)
			}
			different := slices.Clone(b.calls)
			slices.SortFunc(different, func(x, y *replicaProcess) int { return cmp.Compare(x.cmd.Process.Pid, y.cmd.Process.Pid) })
			if len(slices.Compact(different)) != len(b.calls) {
				t.Error("two rounds of the call reached one replica")
			}
		})
	}
}
