// Command coverage writes which tests show each requirement of the protocol. It reads the
// claims of tests from standard input, one per line: the identifier of a requirement, the
// import path of a package and the name of a test, separated by tabs.
//
//	coverage [-write] page
//
// It fails if a requirement has neither a test nor a reason, or if the page is out of
// date.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/fondaco/fondaco/internal/claim"
)

func main() {
	write := flag.Bool("write", false, "write the page")
	flag.Parse()
	if err := run(os.Stdin, flag.Arg(0), *write); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(stdin io.Reader, page string, write bool) error {
	claims, err := readClaims(stdin)
	if err != nil {
		return err
	}
	if faults := claims.faults(claim.Requirements()); len(faults) > 0 {
		return fmt.Errorf("%s", strings.Join(faults, "\n"))
	}
	text := render(claim.Requirements(), claim.Seeds(), claims)
	if write {
		return os.WriteFile(page, []byte(text), 0o644)
	}
	return compare(page, text)
}

// compare returns an error if the page is out of date.
func compare(page, want string) error {
	got, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	if string(got) == want {
		return nil
	}
	had, has := strings.Split(string(got), "\n"), strings.Split(want, "\n")
	for i := range min(len(had), len(has)) {
		if had[i] != has[i] {
			return fmt.Errorf("%s:%d: run make coverage; got\n%s\nwant\n%s", page, i+1, had[i], has[i])
		}
	}
	return fmt.Errorf("%s: run make coverage; got %d lines, want %d", page, len(had), len(has))
}
