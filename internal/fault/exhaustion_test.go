//go:build linux

package fault_test

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval"
	"github.com/fondaco/fondaco/host/audit"
	"github.com/fondaco/fondaco/host/cli"
	"github.com/fondaco/fondaco/host/state"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func init() {
	roles["few descriptors"] = func() {
		setLimit(syscall.RLIMIT_NOFILE, 256)
		roles["http"]()
	}
	roles["host with few descriptors"] = func() {
		setLimit(syscall.RLIMIT_NOFILE, 256)
		dir := os.Getenv("FAULT_TEST_FILE")
		m := &cli.Main{IO: terminal.IO{Stdin: os.Stdin, Stdout: os.Stderr, Stderr: os.Stderr, Env: []string{"HOME=" + dir, "XDG_RUNTIME_DIR=" + filepath.Join(dir, "run"), "PATH=" + os.Getenv("PATH")}}, Args: []string{"fondaco", "up", "--addr", "127.0.0.1:0", "--config", filepath.Join(dir, "mcp.json"), "--yes", "--auth-tokens", filepath.Join(dir, "tokens")}}
		os.Exit(m.Main(context.Background()))
	}
	roles["full disk"] = fullDisk
}

// setLimit lowers the soft limit of a resource of this process.
func setLimit(resource int, to uint64) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(resource, &limit); err != nil {
		panic(err)
	}
	limit.Cur = min(to, limit.Max)
	if err := syscall.Setrlimit(resource, &limit); err != nil {
		panic(err)
	}
}

func TestFaultFewDescriptors(t *testing.T) {
	giveBack(t)
	p := launch(t, "few descriptors")
	good := connect(t, mcpclient.URL("http://"+p.addr+"/mcp"), nil)
	pid := pidOf(t, good, "pid")
	var crowd []net.Conn
	defer func() {
		for _, conn := range crowd {
			conn.Close()
		}
	}()
	for range 400 {
		conn, err := net.Dial("tcp", p.addr)
		if err != nil {
			t.Fatal(err)
		}
		crowd = append(crowd, conn)
	}
	await(t, "nearly all descriptors are in use", func() bool { return descriptorsOf(pid) >= 240 })
	for range 50 {
		if again := pidOf(t, good, "pid"); again != pid {
			t.Errorf("got process %d, want %d", again, pid)
		}
	}
	if n := descriptorsOf(pid); n > 250 {
		t.Errorf("%d descriptors are in use, want some of the 256 left", n)
	}
	if told, err := good.Call[int](t.Context(), "scarce", nil); err != nil || told == 0 {
		t.Errorf("got %d told, %v, want that the hook for limits hears of it", told, err)
	}
	again := connect(t, mcpclient.URL("http://"+p.addr+"/mcp"), nil)
	if got := pidOf(t, again, "pid"); got != pid {
		t.Errorf("got process %d, want %d, which takes new clients meanwhile", got, pid)
	}
}

// Connections that send nothing, and those whose requests are refused, keep nobody out who has a
// token, nor the host from starting a server.
func TestFaultIdleConnectionsOfStrangers(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("mcp.json", fmt.Sprintf(`{"mcpServers": {"up": {"command": %q, "env": {%q: "stdio"}}}}`, os.Args[0], role))
	write("tokens", "ada:"+strings.Repeat("a", 30)+"\nbob:"+strings.Repeat("b", 30)+"\n")
	p := launch(t, "host with few descriptors", "FAULT_TEST_FILE="+dir)
	as := func(letter string) *mcpclient.Client {
		return connect(t, mcpclient.URL("http://"+p.addr+"/mcp"), &mcpclient.Options{
			HTTP: mcpclient.HTTPOptions{Header: http.Header{"Authorization": {"Bearer " + strings.Repeat(letter, 30)}}},
		})
	}
	ada := as("a")
	first := pidOf(t, ada, "up__pid")
	var crowd []net.Conn
	defer func() {
		for _, conn := range crowd {
			conn.Close()
		}
	}()
	for i := range 470 {
		conn, err := net.Dial("tcp", p.addr)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\n\r\n", p.addr)
		}
		crowd = append(crowd, conn)
	}
	await(t, "nearly all descriptors are in use", func() bool { return descriptorsOf(p.Process.Pid) >= 230 })
	for range 20 {
		if again := pidOf(t, ada, "up__pid"); again != first {
			t.Errorf("got process %d, want %d", again, first)
		}
	}
	bob := as("b")
	if other := pidOf(t, bob, "up__pid"); other == first {
		t.Error("got the process of another principal, want a new one started")
	}
}

func descriptorsOf(pid int) int {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(entries)
}

// fullDisk writes the host's files until they may not grow, and then once more after
// that. It prints the errors.
func fullDisk() {
	signal.Ignore(syscall.SIGXFSZ)
	dir := os.Getenv("FAULT_TEST_FILE")
	log, err := audit.Open(filepath.Join(dir, "audit.jsonl"), nil)
	if err != nil {
		panic(err)
	}
	key := func(context.Context) ([]byte, error) { return bytes.Repeat([]byte("k"), 32), nil }
	approvals := approval.New(state.Open(filepath.Join(dir, "state"), key), approval.Options{Key: key})
	write := func(name string) {
		if err := log.Write(host.Decision{Upstream: "u", Name: name, Action: host.ActionCall, Outcome: host.OutcomeDone}); err != nil {
			fmt.Println("record:", err)
		}
	}
	approve := func(arg string) {
		t := mcpclient.Command(os.Args[0])
		t.Dir = dir
		u := &host.Upstream{Key: arg, Target: t}
		p, err := approvals.Check(context.Background(), u)
		if err == nil && p != nil {
			err = approvals.Approve(context.Background(), p, "by the user")
		}
		p, failed := approvals.Check(context.Background(), u)
		fmt.Println("approved", arg, p == nil, failed, err)
	}
	write("before")
	approve("before")
	setLimit(syscall.RLIMIT_FSIZE, 200)
	for range 5 {
		write("meanwhile")
	}
	approve("meanwhile")
	approve("before")
	setLimit(syscall.RLIMIT_FSIZE, 1<<40)
	write("after")
	approve("after")
	approve("before")
}

func TestFaultFullDisk(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = variables("full disk", "FAULT_TEST_FILE="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text := string(out)
	for _, want := range []string{
		"record: audit: write", "approved before true <nil> <nil>", "approved meanwhile false <nil> approvals: state: write", "approved after true <nil> <nil>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant %q", text, want)
		}
	}
	if strings.Contains(text, "approved before false") {
		t.Errorf("got\n%s\nwant what was approved kept", text)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "state", "approvals", ".new-*")); len(left) > 0 {
		t.Errorf("%q are left behind", left)
	}
	checkRecord(t, filepath.Join(dir, "audit.jsonl"))
	report, err := audit.Verify(t.Context(), filepath.Join(dir, "audit.jsonl"), nil, nil)
	if err != nil || !report.OK() || report.Incomplete > 1 || report.Lines != 7 {
		t.Errorf("got %+v, %v, want a log without gaps: outcomes are written when there is space again", report, err)
	}
}

// checkRecord checks an audit log that was written while the disk was full: only the line
// of that moment may be incomplete.
func checkRecord(t *testing.T, path string) {
	t.Helper()
	record, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	broken := 0
	for line := range bytes.Lines(record) {
		var d host.Decision
		if json.Unmarshal(bytes.TrimSpace(line), &d) != nil {
			broken++
			continue
		}
		names = append(names, d.Name)
	}
	if broken > 1 || len(names) < 2 || names[0] != "before" || names[len(names)-1] != "after" {
		t.Errorf("got %q and %d broken lines, want what was written before and after\n%s", names, broken, record)
	}
}
