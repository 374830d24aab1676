//go:build unix

package cli_test

import (
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A process is the program as a user starts it.
type process struct {
	*exec.Cmd
	stdout, stderr output
}

// start runs the command line in a shell, from an empty home.
func start(t *testing.T, home, command string) *process { return startWith(t, home, nil, command) }

// startWith is start with a standard input.
func startWith(t *testing.T, home string, stdin *os.File, command string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command("sh", "-c", "exec "+command)}
	p.Env = append(os.Environ(), role+"=fondaco", "HOME="+home, "XDG_CONFIG_HOME=", "FONDACO_URL=")
	p.Dir = home
	if stdin != nil {
		p.Stdin = stdin
	}
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() })
	return p
}

// signal sends a signal and returns the exit code, -1 after a death by signal.
func (p *process) signal(t *testing.T, s syscall.Signal) int {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	return p.end(t)
}

func (p *process) end(t *testing.T) int {
	t.Helper()
	timer := time.AfterFunc(maxWait, func() { _ = p.Process.Kill() })
	defer timer.Stop()
	_ = p.Wait()
	return p.ProcessState.ExitCode()
}

// runs reports whether a process runs. One that is dead, and that nobody has
// waited for yet, does not.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(stat), ") ")
	return syscall.Kill(pid, 0) == nil && (err != nil || !strings.HasPrefix(state, "Z"))
}

// program is the path of the program in a shell.
func program(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPrintedCommandsWorkAsPrinted(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	host := start(t, home, program(t)+" up --addr 127.0.0.1:0")
	addr := host.stderr.await(t, `(?m)^LISTEN (127\.0\.0\.1:\d+)$`)[1]
	host.stderr.await(t, upstreamsStarted)
	_, pasted, found := strings.Cut(host.stderr.String(), "from a second terminal:\n\n")
	pasted, _, _ = strings.Cut(pasted, "\n\n") // news of upstreams may follow
	commands := regexp.MustCompile(`(?m)^  (\S.*)$`).FindAllStringSubmatch(pasted, -1)
	if !found || len(commands) != 3 {
		t.Fatalf("got %s, want three commands", host.stderr.String())
	}
	for i, want := range []string{"demo/time\tTell the current time", `"zone":"Europe/Rome"`} {
		p := start(t, home, commands[i][1])
		if code := p.end(t); code != 0 || !strings.Contains(p.stdout.String(), want) {
			t.Errorf("%s: got %q, %q, %d, want %s", commands[i][1], p.stdout.String(), p.stderr.String(), code, want)
		}
	}
	watch := start(t, home, commands[2][1])
	watch.stdout.await(t, `updated  clock://now\n`)
	if code := watch.signal(t, syscall.SIGINT); code != 130 {
		t.Errorf("watch: got exit code %d, want 130", code)
	}

	snippet := regexp.MustCompile(`(?m)^  (\{.*\})$`).FindStringSubmatch(host.stderr.String())
	var file struct {
		Servers map[string]struct {
			Type string `json:"type"`
			URL  string `json:"url"`
		} `json:"mcpServers"`
	}
	if snippet == nil {
		t.Fatalf("got %s, want a snippet for a client", host.stderr.String())
	}
	if err := json.Unmarshal([]byte(snippet[1]), &file); err != nil || file.Servers["fondaco"].URL != "http://"+addr+"/mcp" {
		t.Errorf("got %s, %v, want the URL that is served", snippet[1], err)
	}
	if code := host.signal(t, syscall.SIGINT); code != 0 {
		t.Errorf("up: got exit code %d, want 0\n%s", code, host.stderr.String())
	}
}

func TestOtherProgramsAreNamedAndNotStarted(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	started := filepath.Join(home, "started")
	if err := os.Mkdir(filepath.Join(home, ".cursor"), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(home, ".cursor", "mcp.json")
	if err := os.WriteFile(path, fmt.Appendf(nil, `{"mcpServers": {"x": {"command": "touch", "args": [%q]}}}`, started), 0o600); err != nil {
		t.Fatal(err)
	}
	host := start(t, home, program(t)+" up --addr 127.0.0.1:0")
	host.stderr.await(t, regexp.QuoteMeta("found servers of Cursor; to run them: "+program(t)+" up --config "+path))
	if code := host.signal(t, syscall.SIGTERM); code != 0 {
		t.Errorf("got exit code %d, want 0", code)
	}
	if _, err := os.Stat(started); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want nothing started", err)
	}
}

func TestClientOfTheHostAloneHasNoServersToRun(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".cursor"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := `{"mcpServers": {"fondaco": {"command": "/usr/local/bin/fondaco", "args": ["stdio"]}}}`
	if err := os.WriteFile(filepath.Join(home, ".cursor", "mcp.json"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	host := start(t, home, program(t)+" up --addr 127.0.0.1:0")
	host.stderr.await(t, "Ctrl-C stops it")
	if code := host.signal(t, syscall.SIGTERM); code != 0 {
		t.Errorf("got exit code %d, want 0", code)
	}
	if strings.Contains(host.stderr.String(), "found servers") {
		t.Errorf("got %s, want no servers to run: the host is the only one", host.stderr.String())
	}
}

// configure writes a configuration with a server that works and some that do
// not, and returns its path.
func configure(t *testing.T, home string) string {
	t.Helper()
	path := filepath.Join(home, "mcp.json")
	content := fmt.Sprintf(`{"mcpServers": {
		"dies":    {"command": "sh", "args": ["-c", "echo WEATHER_KEY is not set >&2; exit 3"]},
		"missing": {"command": "no-such-program"},
		"nowhere": {"url": "http://127.0.0.1:1/mcp"},
		"good":    {"command": %q, "env": {%q: "upstream", %q: %q}, "color": "green"}
	}}`, program(t), role, heldVariable, filepath.Join(home, "held"))
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBrokenServersDoNotDisableTheOthers(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	host := start(t, home, program(t)+" up --yes --addr 127.0.0.1:0 --config "+configure(t, home))
	url := "http://" + host.stderr.await(t, `(?m)^LISTEN (\S+)$`)[1] + "/mcp"
	for _, want := range []string{
		`good/color: unknown, and has no effect`,
		`upstream   dies .*(failed|suspended) .*the server exited with status 3 before answering initialize: WEATHER_KEY is not set`,
		`upstream   missing .*(failed|suspended) .*"no-such-program"`,
		`upstream   nowhere .*(failed|suspended) .*connection refused`,
		`upstream   good .*ready .* over stdio   2 tools`,
		`call good/pid --url ` + url,
	} {
		host.stderr.await(t, want) // who takes long is told of after the summary
	}
	p := start(t, home, program(t)+" call good/pid --url "+url)
	if code := p.end(t); code != 0 {
		t.Fatalf("got %q, %d, want the answer of the good one", p.stderr.String(), code)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(p.stdout.String()))
	if err != nil {
		t.Fatal(err)
	}
	if !runs(pid) {
		t.Fatalf("process %d does not run", pid)
	}
	if code := host.signal(t, syscall.SIGTERM); code != 0 {
		t.Errorf("got exit code %d, want 0\n%s", code, host.stderr.String())
	}
	if runs(pid) {
		t.Errorf("process %d still runs, want it gone with the host", pid)
	}
}

func TestSecondInterruptEndsAtOnce(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	host := start(t, home, program(t)+" up --yes --addr 127.0.0.1:0 --config "+configure(t, home))
	url := "http://" + host.stderr.await(t, `(?m)^LISTEN (\S+)$`)[1] + "/mcp"
	pid := start(t, home, program(t)+" call good/pid --url "+url)
	if code := pid.end(t); code != 0 {
		t.Fatal(pid.stderr.String())
	}
	start(t, home, program(t)+" call good/hold --url "+url)
	within(t, "the call is held", func() bool {
		_, err := os.Stat(filepath.Join(home, "held"))
		return err == nil
	})

	if err := host.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	within(t, "the host drains", func() bool { return !ready(strings.TrimSuffix(url, "/mcp")) })
	if !runs(host.Process.Pid) {
		t.Fatal("the host has not waited for its call")
	}
	host.signal(t, syscall.SIGINT)
	if end := host.ProcessState.Sys().(syscall.WaitStatus); end.Signal() != syscall.SIGINT {
		t.Errorf("got %v, want an end by the signal, at once", host.ProcessState)
	}
	child, err := strconv.Atoi(strings.TrimSpace(pid.stdout.String()))
	if err != nil {
		t.Fatal(err)
	}
	within(t, fmt.Sprintf("process %d is gone with the host", child), func() bool { return !runs(child) })
}

func TestInterruptDuringTheShutdownIsNeverIgnored(t *testing.T) {
	t.Parallel()
	for range 20 {
		cmd := exec.Command(program(t))
		cmd.Env = append(os.Environ(), role+"=interrupted")
		if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT {
			t.Fatalf("got %v, want an end by the second signal", err)
		}
	}
}

// ready reports whether a host wants new calls.
func ready(base string) bool {
	resp, err := http.Get(base + "/readyz")
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// within waits until something is so.
func within(t *testing.T, what string, so func() bool) {
	t.Helper()
	awaitCondition(t, func() (bool, string) { return so(), "not yet: " + what })
}

// The first signal gives programs four seconds to end. This one does not, so it is left.
func TestSecondInterruptNamesTheProgramsThatItLeaves(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the test finds processes in /proc")
	}
	home := t.TempDir()
	content := fmt.Sprintf(`{"mcpServers": {"stays": {"command": %q, "env": {%q: "stubborn"}}, "url": {"url": "http://127.0.0.1:9/mcp"}}}`, program(t), role)
	if err := os.WriteFile(filepath.Join(home, "mcp.json"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	host := start(t, home, program(t)+" up --yes --addr 127.0.0.1:0 --config mcp.json")
	host.stderr.await(t, `stays .*ready|stays .*tools`)
	left := childrenOf(host.Process.Pid)
	t.Cleanup(func() {
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	ended := make(chan int, 1)
	go func() { ended <- host.end(t) }()
	for code := 0; ; time.Sleep(time.Millisecond) {
		select {
		case code = <-ended:
		default:
			_ = host.Process.Signal(os.Interrupt)
			continue
		}
		if want := "the programs of these servers, which may still run: stays\n"; code != -1 || !strings.Contains(host.stderr.String(), want) {
			t.Errorf("got exit code %d, %s, want an end by the signal and %q", code, host.stderr.String(), want)
		}
		break
	}
	if len(left) == 0 || !runs(left[0]) {
		t.Errorf("got the processes %v, want one that is left", left)
	}
}

// childrenOf returns the children of a process.
func childrenOf(parent int) (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range all {
		stat, _ := os.ReadFile(path)
		_, fields, _ := strings.Cut(string(stat), ") ")
		words := strings.Fields(fields)
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && len(words) > 1 && words[1] == strconv.Itoa(parent) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// A list of all servers waits ten seconds for those that start. This server takes longer.
func TestCommandWaitsForTheServerThatItNames(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	content := fmt.Sprintf(`{"mcpServers": {"late": {"command": %q, "env": {%q: "slow"}}}}`, program(t), role)
	if err := os.WriteFile(filepath.Join(home, "mcp.json"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := start(t, home, program(t)+" approve --yes late --config mcp.json").end(t); code != 0 {
		t.Fatalf("approve: got exit code %d", code)
	}
	call := start(t, home, program(t)+" call late/pid --config mcp.json")
	if code := call.end(t); code != 0 {
		t.Errorf("got exit code %d, %s%s, want the result", code, call.stdout.String(), call.stderr.String())
	}
}
