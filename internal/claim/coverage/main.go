// Command coverage fails if a requirement of the protocol has neither a test nor a reason. It reads the
// claims of tests from standard input, one per line: the identifier of a requirement, the
// import path of a package and the name of a test, separated by tabs.
//
//	coverage [-write page]
//
// With -write it writes a page with the tests that show each requirement.
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
	page := flag.String("write", "", "the `page` to write")
	flag.Parse()
	if err := run(os.Stdin, *page); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(stdin io.Reader, page string) error {
	claims, err := readClaims(stdin)
	if err != nil {
		return err
	}
	if faults := claims.faults(claim.Requirements()); len(faults) > 0 {
		return fmt.Errorf("%s", strings.Join(faults, "\n"))
	}
	if page == "" {
		return nil
	}
	return os.WriteFile(page, []byte(render(claim.Requirements(), claim.Seeds(), claims)), 0o644)
}
