package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// age fails if the figures of the page are older than a number of commits.
func age(args []string) error {
	flags := flag.NewFlagSet("age", flag.ExitOnError)
	docs := flags.String("docs", "docs", "where performance.md is")
	most := flags.Int("commits", 50, "how old the figures may be")
	flags.Parse(args)
	page, err := os.ReadFile(filepath.Join(*docs, "performance.md"))
	if err != nil {
		return err
	}
	commit, err := measuredCommit(string(page))
	if err != nil {
		return err
	}
	n, err := commitsSince(*docs, commit)
	if err != nil {
		return err
	}
	if n > *most {
		return fmt.Errorf("the figures of performance.md are %d commits old, of %s: run make bench on an idle machine", n, commit)
	}
	fmt.Printf("the figures of performance.md are %d commits old\n", n)
	return nil
}

var measuredVersion = regexp.MustCompile(`(?m)^- \*\*Versions:\*\* fondaco ([\w.-]+?)(-dirty)?(;|$)`)

// measuredCommit returns what git describe said of the code that was measured.
func measuredCommit(page string) (string, error) {
	m := measuredVersion.FindStringSubmatch(page)
	if m == nil {
		return "", errors.New("performance.md: want a line with the version of fondaco")
	}
	return m[1], nil
}

// commitsSince returns how many commits the repository of a directory has since one of them.
func commitsSince(dir, commit string) (int, error) {
	cmd := exec.Command("git", "-C", dir, "rev-list", "--count", commit+"..HEAD")
	output, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("performance.md: %s is no commit of this repository, or its history is not here: %s", commit, strings.TrimSpace(string(output)))
	}
	return strconv.Atoi(strings.TrimSpace(string(output)))
}
