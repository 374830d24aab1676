// Package proc reads from Linux what a process has used. What cannot be read is 0.
package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// CPU returns the processor time that all threads of a process have used.
func CPU(pid int) (used time.Duration) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, thread := range threads {
		used += time.Duration(firstNumber(read(thread)))
	}
	return used
}

// Busy returns for how long all processors together were busy or taken away by the
// machine below, to 10 ms.
func Busy() (busy time.Duration) {
	total, _, _ := strings.Cut(read("/proc/stat"), "\n")
	// cpu user nice system idle iowait irq softirq steal
	for i, ticks := range strings.Fields(total) {
		if i >= 1 && i <= 8 && i != 4 && i != 5 {
			busy += time.Duration(firstNumber(ticks)) * 10 * time.Millisecond
		}
	}
	return busy
}

// Resident returns the resident memory of a process in bytes.
func Resident(pid int) int64 {
	for line := range strings.Lines(read(fmt.Sprintf("/proc/%d/status", pid))) {
		if kib, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			return firstNumber(kib) * 1024
		}
	}
	return 0
}

func read(name string) string {
	b, _ := os.ReadFile(name)
	return string(b)
}

func firstNumber(text string) int64 {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(fields[0], 10, 64)
	return n
}
