package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fondaco/fondaco/internal/claim"
)

// ptyProgram is a program that runs in a pseudo-terminal.
type ptyProgram struct {
	*exec.Cmd
	home   string
	keys   *os.File
	screen output // all that was written, as it was written
	read   chan struct{}
}

// inTerminal starts the program in a terminal of 80 columns, at an empty home.
func inTerminal(t *testing.T, env []string, args ...string) *ptyProgram {
	t.Helper()
	return inTerminalAt(t, t.TempDir(), env, args...)
}

// inTerminalAt is inTerminal at a home.
func inTerminalAt(t *testing.T, home string, env []string, args ...string) *ptyProgram {
	t.Helper()
	keys, line := openPTY(t)
	defer line.Close()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &ptyProgram{Cmd: exec.Command(exe, args...), home: home, keys: keys, read: make(chan struct{})}
	p.Env = append(append(os.Environ(), role+"=fondaco", "HOME="+home, "XDG_CONFIG_HOME=", "XDG_RUNTIME_DIR="+home, "FONDACO_URL=", "TERM=xterm"), env...)
	p.Stdin, p.Stdout, p.Stderr = line, line, line
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.read)
		buffer := make([]byte, 4096)
		for {
			n, err := keys.Read(buffer)
			_, _ = p.screen.Write(buffer[:n])
			if err != nil {
				return // the program has ended
			}
		}
	}()
	t.Cleanup(func() { _ = p.Process.Kill(); _ = keys.Close() })
	return p
}

// openPTY returns the two ends of a new pseudo-terminal.
func openPTY(t *testing.T) (keys, line *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	if err := unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(keys.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	if line, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	return keys, line
}

// press types what a user does, once the screen shows a pattern.
func (p *ptyProgram) press(t *testing.T, pattern, keys string) {
	t.Helper()
	p.screen.await(t, pattern)
	if _, err := p.keys.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// end waits for the program and returns what the screen shows and the exit code.
func (p *ptyProgram) end(t *testing.T) (screen string, code int) {
	t.Helper()
	timer := time.AfterFunc(maxWait, func() { _ = p.Process.Kill() })
	defer timer.Stop()
	_ = p.Wait()
	<-p.read
	return p.screen.String(), p.ProcessState.ExitCode()
}

// scriptServer is the command of the server of the sessions, after the flags.
func scriptServer(t *testing.T) []string {
	t.Helper()
	return []string{"--", "env", role + "=server", program(t)}
}

const ctrlC, ctrlD = "\x03", "\x04"

func TestTablesFitTheTerminal(t *testing.T) {
	t.Parallel()
	p := inTerminal(t, []string{"NO_COLOR=1"}, append([]string{"tools"}, scriptServer(t)...)...)
	screen, code := p.end(t)
	if code != 0 || !strings.Contains(screen, "TOOL       DESCRIPTION\r\nadd        Add two numbers\r\n") || strings.Contains(strings.ReplaceAll(screen, "\r\x1b[K", ""), "\x1b") {
		t.Errorf("got %q, %d, want columns without colour", screen, code)
	}
	for line := range strings.Lines(screen) {
		if len([]rune(strings.TrimSpace(line))) > 80 {
			t.Errorf("got a line longer than the terminal is wide: %q", line)
		}
	}
	p = inTerminal(t, nil, append([]string{"servers"}, scriptServer(t)...)...)
	if screen, code := p.end(t); code != 0 || !strings.Contains(screen, "\x1b[32mready\x1b[0m") {
		t.Errorf("got %q, %d, want the state in green", screen, code)
	}
}

func TestStructuredResultIsIndentedForPeople(t *testing.T) {
	t.Parallel()
	p := inTerminal(t, nil, append([]string{"call", "describe", "a=1"}, scriptServer(t)...)...)
	if screen, code := p.end(t); code != 0 || !strings.Contains(screen, "{\r\n") || strings.Count(screen, `"a"`) != 1 {
		t.Errorf("got %q, %d, want the structure once, indented", screen, code)
	}
}

func TestUserIsAskedOnTheTerminal(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-337b")
	p := inTerminal(t, nil, append([]string{"call", "book"}, scriptServer(t)...)...)
	p.press(t, `The server asks: Which seat would you like\?`, "")
	p.press(t, `Row \(an integer\): `, "many\n")
	p.press(t, `found many, want an integer\r\nRow \(an integer\): `, "4\n")
	p.press(t, `At the window \(y or n\): `, "y\n")
	p.press(t, `class \(one of first, second\): `, "first\n")
	p.press(t, `Send {"row":4,"window":true,"class":"first"}\? \[y send, e edit, d decline, c cancel\] `, "e\n")
	p.press(t, `Row \(Enter keeps 4\): `, "5\n")
	p.press(t, `At the window \(Enter keeps true\): `, "\n")
	p.press(t, `class \(Enter keeps "first"\): `, "second\n")
	p.press(t, `Send {"row":5,"window":true,"class":"second"}\? \[y send, e edit, d decline, c cancel\] `, "\n")
	p.press(t, `found "", want one of yes, send, edit, decline, no, cancel\r\nSend .*cancel\] `, "y\n")
	if screen, code := p.end(t); code != 0 || !strings.Contains(screen, "booked second\r\n") {
		t.Errorf("got %q, %d, want the seat booked", screen, code)
	}
}

func TestUserCanDeclineAndCancelAtEachLine(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-337a", "R-338c")
	for _, test := range []struct{ row, seat, want string }{
		{ctrlD, "", "the user dismissed the question"},
		{"/cancel\n", "", "the user dismissed the question"},
		{"/decline\n", "", "the user declined"},
		{"4\n", "/decline\n", "the user declined"},
	} {
		p := inTerminal(t, nil, append([]string{"call", "book"}, scriptServer(t)...)...)
		p.press(t, `Row \(an integer\): `, test.row)
		if test.seat != "" {
			p.press(t, `At the window \(y or n\): `, test.seat)
		}
		if screen, code := p.end(t); code != 6 || !strings.Contains(screen, test.want) {
			t.Errorf("%q: got %q, %d, want 6 and %q", test.row, screen, code, test.want)
		}
	}
}

func TestProgressIsDrawnOnOneLine(t *testing.T) {
	t.Parallel()
	p := inTerminal(t, nil, append([]string{"call", "slow"}, scriptServer(t)...)...)
	p.screen.await(t, "\r\x1b\\[K  #+-+  80 %  [0-9]+ s  working")
	screen, code := p.end(t)
	if last := screen[strings.LastIndex(screen, "\x1b[K"):]; code != 0 || last != "\x1b[Kdone\r\n" {
		t.Errorf("got %q, %d, want the bar gone before the answer", screen, code)
	}
}

func TestCtrlCCancelsTheCall(t *testing.T) {
	t.Parallel()
	p := inTerminal(t, nil, append([]string{"call", "hold"}, scriptServer(t)...)...)
	p.press(t, `hold  1 s`, ctrlC)
	if screen, code := p.end(t); code != 130 {
		t.Errorf("got %q, %d, want 130", screen, code)
	}
}

func TestProgramIsApprovedOnTheTerminal(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/mcp.json"
	content := fmt.Sprintf(`{"mcpServers": {"one": {"command": %q, "env": {%q: "server"}}}}`, program(t), role)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		answer string
		code   int
	}{{"\n", 6}, {"yes\n", 0}} {
		p := inTerminal(t, nil, "call", "one/add", "a=1", "--config", path)
		p.press(t, `(?s)The server "one" is a program .*SHA-256 .*Start it now and in future\? \[y/N\] `, test.answer)
		if test.code == 0 {
			p.press(t, `(?s)The server "one" .* lists what a model reads .*: 7 new tools, 1 new prompt.*new      tool add .*read-only  Add two numbers.*Approve what one lists\? \[y/N, s shows the texts\] `, "s\n")
			p.press(t, `(?s)tool add:.*\+  "description": .*Approve what one lists\? \[y/N, s shows the texts\] `, "y\n")
		}
		if screen, code := p.end(t); code != test.code {
			t.Errorf("%q: got %q, %d, want %d", test.answer, screen, code, test.code)
		}
	}
}
