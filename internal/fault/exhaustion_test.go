//go:build linux

package fault_test

import (
	"bytes"
	"encoding/json/v2"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/audit"
	"github.com/fondaco/fondaco/host/consent"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func init() {
	roles["few descriptors"] = func() {
		setLimit(syscall.RLIMIT_NOFILE, 256)
		roles["http"]()
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

func descriptorsOf(pid int) int {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(entries)
}

func await(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !happened(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it is not so that %s", what)
		}
	}
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
	book, err := consent.Open(filepath.Join(dir, "approvals"))
	if err != nil {
		panic(err)
	}
	write := func(name string) {
		if err := log.Write(host.Decision{Upstream: "u", Name: name, Action: host.ActionCall, Outcome: host.OutcomeDone}); err != nil {
			fmt.Println("record:", err)
		}
	}
	approve := func(arg string) {
		u := &host.Upstream{Key: "u", Target: mcpclient.Command(os.Args[0], arg)}
		p, _, err := book.ProgramOf(u)
		if err == nil {
			err = book.Approve(u, p)
		}
		ok, failed := book.Approved(u, p)
		fmt.Println("approved", arg, ok, failed, err)
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
		"record: audit: write", "approved before true <nil> <nil>", "approved meanwhile false <nil> approvals: write", "approved after true <nil> <nil>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant %q", text, want)
		}
	}
	if strings.Contains(text, "approved before false") {
		t.Errorf("got\n%s\nwant what was approved kept", text)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "approvals", ".new-*")); len(left) > 0 {
		t.Errorf("%q are left behind", left)
	}
	checkRecord(t, filepath.Join(dir, "audit.jsonl"))
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
