package consent_test

import (
	"os"
	"testing"

	"github.com/fondaco/fondaco/host/consent"
)

// role is set for processes that the tests start from their own binary, which
// approve the tool that it names.
const role = "FONDACO_CONSENT_TEST"

func TestMain(m *testing.M) {
	if tool := os.Getenv(role); tool != "" {
		b, err := consent.Open(os.Args[1])
		if err == nil {
			err = approveTool(b, tool)
		}
		if err != nil {
			println(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
