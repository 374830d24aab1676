package spawn_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/spawn"
)

func init() {
	// host starts a child that hears SIGTERM but not the end of its input, says
	// its process id and waits to be killed.
	roles["host"] = func([]string) {
		p, err := spawn.Start(command("deaf"), nil)
		if err != nil {
			panic(err)
		}
		_, _ = p.Read(make([]byte, 1)) // it is ready
		fmt.Println(p.Pid())
		time.Sleep(lifetime)
	}

	// reaper is a process to which orphans fall, as to process 1. It ends a
	// child with grandchildren and lists the children that it has left.
	roles["reaper"] = func([]string) {
		const setChildSubreaper = 36
		if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); errno != 0 {
			panic(errno)
		}
		for _, how := range [][]string{{"mute", "bare"}, {"mute", "setsid"}} {
			p, err := spawn.Start(command("parent", how...), nil)
			if err != nil {
				panic(err)
			}
			_ = p.Wait()
			_ = p.Close()
		}
		tasks, _ := os.ReadDir("/proc/self/task")
		for _, task := range tasks {
			list, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
			fmt.Printf("%s", list)
		}
		fmt.Println("no more")
	}
}

// TestChildHasThreeDescriptors gives this process a descriptor that a child would inherit, as its
// parent could have done.
func TestChildHasThreeDescriptors(t *testing.T) {
	open, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	inherited, err := syscall.Dup(int(open.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(inherited)
	got := strings.Split(strings.TrimSpace(output(t, start(t, command("fds"), nil))), "\n")
	got = slices.DeleteFunc(got, func(fd string) bool {
		_, target, _ := strings.Cut(fd, " ")
		return slices.ContainsFunc(ofRuntime, func(prefix string) bool { return strings.HasPrefix(target, prefix) })
	})
	if len(got) != 3 {
		t.Errorf("got descriptors %q, want 0, 1, 2", got)
	}
	for _, fd := range got {
		if !strings.Contains(fd, "pipe:") {
			t.Errorf("got %q, want a pipe", fd)
		}
	}
}

// TestListedDescriptorsAreClosedOnExec is for systems that cannot mark all at once.
func TestListedDescriptorsAreClosedOnExec(t *testing.T) {
	open, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	inherited, err := syscall.Dup(int(open.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(inherited)
	spawn.CloseListedOnExec()
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(inherited), syscall.F_GETFD, 0)
	if errno != 0 || flags&syscall.FD_CLOEXEC == 0 {
		t.Errorf("got flags %d, %v, want the descriptor closed on exec", flags, errno)
	}
}

// ofRuntime are the beginnings of what the Go runtime of the child itself opens,
// and the test's role.
var ofRuntime = []string{"anon_inode:", "/sys/fs/cgroup/", "/proc/"}

func TestDescendantWithItsOwnSessionIsKilledToo(t *testing.T) {
	t.Parallel()
	for _, leader := range []string{"exits", "wait"} {
		p := start(t, command("parent", "mute", "setsid", leader), hasty())
		stray := line(t, p)
		if leader == "wait" {
			mustBeAlive(t, stray)
		}
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		mustBeGone(t, stray)
	}
}

func TestDescendantWithoutItsEnvironmentIsKilledByClose(t *testing.T) {
	t.Parallel()
	p := start(t, command("parent", "mute", "setsid", "bare", "wait"), hasty())
	stray := line(t, p)
	mustBeAlive(t, stray)
	if err := p.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	mustBeGone(t, stray)
}

func TestDescendantThatEscapesDoesNotHoldUpTheReader(t *testing.T) {
	t.Parallel()
	p := start(t, command("parent", "mute", "setsid", "bare"), &spawn.Options{WaitDelay: 50 * time.Millisecond})
	out := bufio.NewReader(p)
	pid, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var escaped int
	_, _ = fmt.Sscan(pid, &escaped)
	defer syscall.Kill(escaped, syscall.SIGKILL)
	if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
		t.Errorf("got %q, %v, want EOF", rest, err)
	}
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
	mustBeAlive(t, strings.TrimSpace(pid)) // or this test shows nothing
}

func TestMarksOfOuterProcessesAreKept(t *testing.T) {
	const mark = "FONDACO_SPAWN"
	t.Setenv(mark, "outer")
	for _, inherit := range []bool{false, true} {
		c := command("environ")
		c.InheritEnv = inherit
		got := output(t, start(t, c, nil))
		if strings.Count(got, mark+"=") != 1 || !strings.Contains(got, mark+"=outer:") {
			t.Errorf("got the environment\n%s\nwant one %s that begins with outer:", got, mark)
		}
	}
}

func TestOrphansThatFallToUsAreReaped(t *testing.T) {
	t.Parallel()
	p := start(t, command("reaper"), nil)
	if got := output(t, p); got != "no more\n" {
		t.Errorf("got children %q, want no more; stderr %s", got, p.StderrTail())
	}
}

func TestChildOfAKilledHostIsTerminated(t *testing.T) {
	t.Parallel()
	host := exec.Command(os.Args[0])
	host.Env = append(os.Environ(), roleVariable+"=host")
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	child := line(t, out)
	_ = host.Process.Kill()
	_ = host.Wait()
	mustBeGone(t, child)
}

func TestChildSurvivesTheThreadThatCalledStart(t *testing.T) {
	t.Parallel()
	started := make(chan *spawn.Process)
	go func() {
		runtime.LockOSThread() // and not unlocked: the thread ends with the goroutine
		p, err := spawn.Start(command("echo"), nil)
		if err != nil {
			t.Error(err)
		}
		started <- p
	}()
	p := <-started
	if p == nil {
		return
	}
	defer p.Close()
	time.Sleep(50 * time.Millisecond)
	_, _ = p.Write([]byte("still here\n"))
	if got := line(t, p); got != "still here" {
		t.Errorf("got %q, want still here", got)
	}
}
