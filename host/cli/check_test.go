package cli

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestCheckNamesTheFlagsForCredentials(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(web.Close)
	err := new(checkCommand).run(t.Context(), newTestMain(t, "", io.Discard), []string{web.URL})
	coded, _ := errors.AsType[*codedError](err)
	if coded == nil || coded.code != exitUnreachable || !strings.Contains(err.Error(), "--header") || !strings.HasPrefix(err.Error(), "the server cannot be used") {
		t.Errorf("got %v, want the flags", err)
	}
}
