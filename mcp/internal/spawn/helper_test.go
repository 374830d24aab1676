package spawn_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/leak"
	"github.com/fondaco/fondaco/mcp/internal/spawn"
)

// roleVariable makes the test binary play the child of a test.
const roleVariable = "SPAWN_TEST_ROLE"

// lifetime is that of children that do not end by themselves, longer than any test waits for their end.
const lifetime = 15 * time.Minute

// roles are the children. Each runs until the test's point is made.
var roles = map[string]func(args []string){
	// echo copies lines until the end of its input.
	"echo": func([]string) { _, _ = io.Copy(os.Stdout, os.Stdin) },

	// stubborn hears neither the end of its input nor SIGTERM.
	"stubborn": func([]string) {
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		time.Sleep(lifetime)
	},

	// mute is stubborn and says nothing.
	"mute": func([]string) {
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(lifetime)
	},

	// deaf does not hear the end of its input, but SIGTERM.
	"deaf": func([]string) {
		fmt.Println("ready")
		time.Sleep(lifetime)
	},

	// environ prints its environment.
	"environ": func([]string) { fmt.Println(strings.Join(os.Environ(), "\n")) },

	// args prints its arguments, one on a line.
	"args": func(args []string) { fmt.Printf("%q\n", args) },

	// fds prints the descriptors that it has.
	"fds": func([]string) {
		dir, _ := os.Open("/proc/self/fd")
		names, _ := dir.Readdirnames(-1)
		for _, name := range names {
			if target, err := os.Readlink("/proc/self/fd/" + name); err == nil {
				fmt.Println(name, target)
			}
		}
	},

	// crash complains and exits with status 2.
	"crash": func([]string) {
		fmt.Fprint(os.Stderr, "reading the configuration\n\x1b[31mWEATHER_KEY\x1b[0m is not set\r\n\n")
		os.Exit(2)
	},

	// flood writes 64 MiB to standard error, then says done.
	"flood": func([]string) {
		block := []byte(strings.Repeat(strings.Repeat("x", 127)+"\n", 8<<10))
		for range 64 {
			_, _ = os.Stderr.Write(block)
		}
		fmt.Fprintln(os.Stderr, "the last line")
		fmt.Println("done")
	},

	// hoard writes more than a pipe holds when its input ends.
	"hoard": func([]string) {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_, _ = os.Stdout.Write(make([]byte, 1<<20))
		fmt.Fprintln(os.Stderr, "all written")
	},

	// parent starts the role in its first argument as a grandchild, on its own
	// files, and tells its process id. Of the further arguments, "setsid" puts
	// the grandchild into a session of its own, "bare" leaves it without
	// environment, and "wait" has the parent wait for it.
	"parent": func(args []string) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), roleVariable+"="+args[0])
		if slices.Contains(args, "bare") {
			cmd.Env = []string{roleVariable + "=" + args[0]}
		}
		if slices.Contains(args, "setsid") {
			cmd.SysProcAttr = setsid()
		}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		fmt.Println(cmd.Process.Pid)
		if slices.Contains(args, "wait") {
			_ = cmd.Wait()
		}
	},
}

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		roles[role](os.Args[1:])
		os.Exit(0)
	}
	leak.Main(m)
}

// command returns the command that plays the role.
func command(role string, args ...string) spawn.Command {
	return spawn.Command{Path: os.Args[0], Args: args, Env: map[string]string{
		roleVariable: role,
		"GORACE":     "atexit_sleep_ms=0", // the race detector would let a child take its time
	}}
}

// start runs the command and closes it at the end of the test.
func start(t *testing.T, c spawn.Command, opts *spawn.Options) *spawn.Process {
	t.Helper()
	p, err := spawn.Start(c, opts)
	if err != nil {
		t.Fatalf("start %v: %v", c, err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// hasty are options that make the steps of Close quick.
func hasty() *spawn.Options {
	return &spawn.Options{TermAfter: 50 * time.Millisecond, KillAfter: 150 * time.Millisecond}
}

// line reads one line that the child writes.
func line(t *testing.T, p io.Reader) string {
	t.Helper()
	text, err := bufio.NewReader(p).ReadString('\n')
	if err != nil {
		t.Fatalf("read line: %v", err)
	}
	return strings.TrimSpace(text)
}

// output returns all that the child writes until it ends.
func output(t *testing.T, p io.Reader) string {
	t.Helper()
	all, err := io.ReadAll(p)
	if err != nil {
		t.Fatalf("read output: %v", err)
	}
	return string(all)
}

// with returns the command with one more environment variable.
func with(c spawn.Command, name, value string) spawn.Command {
	c.Env = maps.Clone(c.Env)
	c.Env[name] = value
	return c
}
