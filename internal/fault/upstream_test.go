//go:build unix

package fault_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// victim is a server to which something happens, and its client: direct, or through a
// host that has a good server, too.
type victim struct {
	*mcpclient.Client
	prefix string
	good   string // a tool of the good server; empty without a host
}

func (v *victim) tool(name string) string { return v.prefix + name }

// victims runs test for a server over each transport, direct and through a host.
func victims(t *testing.T, test func(t *testing.T, v *victim)) {
	for name, over := range map[string]func(t *testing.T) mcpclient.Target{
		"stdio": func(*testing.T) mcpclient.Target { return command("stdio") },
		"http":  func(t *testing.T) mcpclient.Target { return mcpclient.URL("http://" + launch(t, "http").addr + "/mcp") },
	} {
		for era, o := range eras() {
			t.Run(name+" "+era, func(t *testing.T) {
				giveBack(t)
				test(t, &victim{Client: connect(t, over(t), o)})
			})
		}
		t.Run(name+" through a host", func(t *testing.T) {
			giveBack(t)
			test(t, hosted(t, over(t)))
		})
	}
}

// hosted returns a client of a host with two servers.
func hosted(t *testing.T, target mcpclient.Target) *victim {
	shared := host.Settings{Share: true}
	g := gateway.New([]host.Upstream{
		{Key: "bad", Target: target, Settings: shared},
		{Key: "good", Target: command("stdio"), Settings: shared},
	}, &gateway.Options{Logger: quiet})
	g.Start(t.Context())
	t.Cleanup(func() {
		if err := g.Server().Shutdown(context.Background()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		g.Close()
	})
	return &victim{Client: connect(t, mcpclient.InProcess(g.Server()), nil), prefix: "bad__", good: "good__echo"}
}

// mustWork calls the good server, if there is one.
func (v *victim) mustWork(t *testing.T) {
	t.Helper()
	if v.good == "" {
		return
	}
	if got, err := v.Call[string](t.Context(), v.good, map[string]string{"text": "here"}); err != nil || got != "here" {
		t.Errorf("the other server: got %q, %v", got, err)
	}
}

// hang makes calls that wait, and returns their errors.
func (v *victim) hang(t *testing.T, n int, opts ...mcpclient.CallOption) []error {
	errs := make([]error, n)
	var work sync.WaitGroup
	for i := range n {
		work.Go(func() { _, errs[i] = v.Call[string](t.Context(), v.tool("hang"), nil, opts...) })
	}
	work.Wait()
	return errs
}

func TestFaultKilledServer(t *testing.T) {
	victims(t, func(t *testing.T, v *victim) {
		pid := pidOf(t, v.Client, v.tool("pid"))
		ended := make(chan []error)
		go func() { ended <- v.hang(t, 5, mcpclient.WithTimeout(-1)) }() // only the loss ends them
		await(t, "five calls run", func() bool {
			n, err := v.Call[int](t.Context(), v.tool("hanging"), nil)
			return err == nil && n == 5
		})
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for _, err := range <-ended {
			_, lost := errors.AsType[*mcpclient.MayHaveRunError](err)
			_, told := errors.AsType[*mcpclient.ToolError](err)
			if v.good == "" && !lost || v.good != "" && !told || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want that the server is lost", err)
			}
		}
		v.mustWork(t)
		if again, err := v.Call[int](t.Context(), v.tool("pid"), nil); err == nil && again == pid {
			t.Errorf("process %d answers, which is dead", pid)
		}
	})
}

func TestFaultStoppedServer(t *testing.T) {
	victims(t, func(t *testing.T, v *victim) {
		pid := pidOf(t, v.Client, v.tool("pid"))
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		defer syscall.Kill(pid, syscall.SIGCONT)
		for _, err := range v.hang(t, 3, mcpclient.WithTimeout(time.Second)) {
			if _, lost := errors.AsType[*mcpclient.MayHaveRunError](err); !lost || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want that no answer came in time, and that it may have run", err)
			}
		}
		v.mustWork(t)
		_ = syscall.Kill(pid, syscall.SIGCONT)
		if again := pidOf(t, v.Client, v.tool("pid")); again != pid {
			t.Errorf("got process %d, want %d, which goes on", again, pid)
		}
	})
}

func TestFaultServerThatExitsReportsWhy(t *testing.T) {
	giveBack(t)
	c := connect(t, command("stdio"), nil)
	_, err := c.CallTool(t.Context(), "die", nil)
	exit, ok := errors.AsType[*mcpclient.ExitError](err)
	if !ok || exit.Status != 4 || !strings.HasSuffix(exit.Stderr, "the disk is on fire\nI was asked to die\n") {
		t.Errorf("got %v, %+v, want status 4 and what it wrote", err, exit)
	}
	if _, lost := errors.AsType[*mcpclient.MayHaveRunError](err); !lost {
		t.Errorf("got %v, want that it may have run", err)
	}
	_ = pidOf(t, c, "pid") // starts it again
}

func TestFaultTerminatedServerAnswersWhatRuns(t *testing.T) {
	victims(t, func(t *testing.T, v *victim) {
		pid := pidOf(t, v.Client, v.tool("pid"))
		runs := make(chan struct{}, 1)
		called := make(chan error, 1)
		go func() {
			got, err := v.Call[string](t.Context(), v.tool("rest"), nil, mcpclient.WithProgress(func(mcp.ProgressParams) { runs <- struct{}{} }))
			if err == nil && got != "rested" {
				err = errors.New(got)
			}
			called <- err
		}()
		<-runs
		if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := <-called; err != nil {
			t.Errorf("got %v, want the answer", err)
		}
	})
}
