// Command gate compares the Go benchmarks with those of bench/baseline.txt.
//
//	gate [-allocations] [-update]
//
// It runs in bench, and needs benchstat among the tools. It fails when a call makes
// one allocation more, and when benchstat is sure that a call takes longer or more
// memory by more than the tolerance. Time counts only on the processor that the
// baseline was made on.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

const baseline = "baseline.txt"

func main() {
	log.SetFlags(0)
	log.SetPrefix("gate: ")
	countsOnly := flag.Bool("allocations", false, "compare only what is the same on every machine: the number of allocations")
	update := flag.Bool("update", false, "write the baseline anew and compare nothing")
	flag.Parse()
	count := 10
	if *countsOnly {
		count = 3
	}
	printed, err := measure(count)
	if err == nil && *update {
		err = os.WriteFile(baseline, printed, 0o644)
	} else if err == nil {
		err = compare(printed, *countsOnly)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// measure disables the garbage collector, so that pools are never emptied and the
// number of allocations is constant.
func measure(count int) ([]byte, error) {
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", "(Handler|Pair|Client|Rounds)/call", "-benchmem",
		"-benchtime", "2000x", "-count", strconv.Itoa(count), "-cpu", "1", "./contestant", "./inproc")
	cmd.Env = append(os.Environ(), "GOGC=off", "GOMEMLIMIT=1GiB")
	cmd.Stderr = os.Stderr
	printed, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("run the benchmarks: %w\n%s", err, printed)
	}
	return printed, nil
}

// compare prints a line of counts at the end.
func compare(printed []byte, countsOnly bool) error {
	old, err := os.ReadFile(baseline)
	if err != nil {
		return err
	}
	checks := compareAllocations(allocations(string(old)), allocations(string(printed)))
	if !countsOnly {
		changes, err := benchstat(printed)
		if err != nil {
			return err
		}
		checks = append(checks, compareChanges(changes, processor(string(old)) == processor(string(printed)))...)
	}
	failed := 0
	for _, c := range checks {
		if c.fault != "" {
			failed++
			fmt.Printf("    FAIL %s: %s\n", c.name, c.fault)
		}
	}
	fmt.Printf("%d passed, %d failed, 0 skipped\n", len(checks)-failed, failed)
	if failed > 0 {
		os.Exit(1)
	}
	return nil
}

// benchstat prints its own table, and returns the changes that it found.
func benchstat(printed []byte) ([]change, error) {
	dir, err := os.MkdirTemp("", "gate")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	now := filepath.Join(dir, "now.txt")
	if err := os.WriteFile(now, printed, 0o600); err != nil {
		return nil, err
	}
	sides := []string{"baseline=" + baseline, "now=" + now}
	tool := filepath.Join("..", "bin", "tools", "benchstat")
	args := []string{"-ignore", "cpu", "-alpha", "0.01"}
	shown, err := exec.Command(tool, append(args, sides...)...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("benchstat: %w\n%s", err, shown)
	}
	os.Stdout.Write(shown)
	table, err := exec.Command(tool, append(append(args, "-format", "csv"), sides...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("benchstat: %w", err)
	}
	return readChanges(string(table)), nil
}
