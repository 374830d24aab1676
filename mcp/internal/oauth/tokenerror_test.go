package oauth_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

func TestErrorsOfExchangesAreOfTheNetworkOnly(t *testing.T) {
	t.Parallel()
	if got := oauth.BrokenError(errors.New("malformed HTTP response \"secret\"")); strings.Contains(got.Error(), "secret") {
		t.Errorf("got %v", got)
	}
}
