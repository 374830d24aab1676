package storage

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestHeadersForACollectorAreThoseOfTheEnvironment(t *testing.T) {
	env := func(values map[string]string) func(string) (string, bool) {
		return func(name string) (string, bool) { v, ok := values[name]; return v, ok }
	}
	for _, test := range []struct {
		all, logs string
		want      http.Header
	}{
		{"", "", http.Header{}},
		{"api-key=a%20b, x=1,", "", http.Header{"Api-Key": {"a b"}, "X": {"1"}}},
		{"api-key=all", "api-key=logs", http.Header{"Api-Key": {"logs"}}},
	} {
		got, err := otlpHeader(env(map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": test.all, "OTEL_EXPORTER_OTLP_LOGS_HEADERS": test.logs}))
		if err != nil || !maps.EqualFunc(got, test.want, slices.Equal) {
			t.Errorf("%q, %q: got %v, %v, want %v", test.all, test.logs, got, err, test.want)
		}
	}
	for _, broken := range []string{"hunter2", "=hunter2", "api-key=hunter2%zz"} {
		_, err := otlpHeader(env(map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": broken}))
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: got %v, want an error without the value", broken, err)
		}
	}
	for _, name := range []string{"CERTIFICATE", "CLIENT_CERTIFICATE"} {
		if _, err := otlpTransport(env(map[string]string{"OTEL_EXPORTER_OTLP_" + name: "/does/not/exist"})); err == nil {
			t.Errorf("%s: got no error for a file that does not exist", name)
		}
	}
}
