package trial

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// Machine is what the figures depend on besides the code.
type Machine struct {
	Processor string
	Cores     int
	System    string
	Go        string
	Node      string // empty: none
	Commit    string
}

func thisMachine() Machine {
	return Machine{
		Processor: processor(),
		Cores:     runtime.NumCPU(),
		System:    output("uname", "-srm"),
		Go:        runtime.Version(),
		Node:      output("node", "--version"),
		Commit:    output("git", "describe", "--always", "--dirty"),
	}
}

func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, model, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(model)
		}
	}
	return runtime.GOARCH
}

func output(command ...string) string {
	out, _ := exec.Command(command[0], command[1:]...).Output()
	return strings.TrimSpace(string(out))
}
