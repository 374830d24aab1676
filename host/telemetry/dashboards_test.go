package telemetry_test

import (
	"context"
	"encoding/json/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/telemetry"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// exposition returns what Prometheus reads of a host that has used all of its metrics.
func exposition(t *testing.T) string {
	t.Helper()
	reports, err := telemetry.Open(t.Context(), telemetry.Options{Prometheus: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reports.Close(context.Background()) })
	err = reports.Observe(telemetry.Sources{
		Status:    func() []host.Status { return []host.Status{{Key: "weather", State: host.Ready}} },
		Waiting:   func() int { return 1 },
		Questions: func(context.Context) (int, error) { return 1, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	_, _, _ = reports.Store(new(brokenStore)).Get(t.Context(), "a")
	_ = reports.Bus(new(mcpserver.MemoryBus)).Publish(t.Context(), "topic", nil)
	reports.Decide(host.Decision{Action: host.ActionCall, Outcome: host.OutcomeDone})
	s := mcpserver.New("weather", "1.0.0", reports.Server(nil))
	s.Tool("fail", "Fails.", func(context.Context, struct{}) (string, error) { return "", context.Canceled }, mcpserver.Rate(0.001, 1))
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(s), reports.Client("weather", nil))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, _ = c.CallTool(t.Context(), "fail", nil)
	}
	_ = c.Close()
	w := httptest.NewRecorder()
	reports.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

// queries returns the queries of the dashboards and of the alert rules.
func queries(t *testing.T) (all []string) {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
		Templating struct {
			List []struct {
				Query string `json:"query"`
			} `json:"list"`
		} `json:"templating"`
	}
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
			}
		}
	}
	readFile(t, "grafana/fondaco.json", func(data []byte) error { return json.Unmarshal(data, &dashboard) })
	readFile(t, "prometheus/alerts.yml", func(data []byte) error { return yaml.Unmarshal(data, &rules) })
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			all = append(all, target.Expr)
		}
	}
	for _, v := range dashboard.Templating.List {
		all = append(all, v.Query)
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			all = append(all, r.Expr)
		}
	}
	return all
}

func readFile(t *testing.T, name string, read func([]byte) error) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../deploy", name))
	if err == nil {
		err = read(data)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

var (
	textInQuery = regexp.MustCompile(`"[^"]*"`)
	ours        = regexp.MustCompile(`\b(?:mcp|fondaco|gen_ai|error|rpc|network)_[a-z_]+`)
	metricName  = regexp.MustCompile(`(?m)^([a-z_]+)[{ ]`)
	labelName   = regexp.MustCompile(`[{,]([a-z_]+)="`)
)

// TestQueriesNameMetricsAndLabelsThatAHostHas compares the dashboards and alert rules of deploy/ with what
// Prometheus reads of a host.
func TestQueriesNameMetricsAndLabelsThatAHostHas(t *testing.T) {
	text := exposition(t)
	var known []string
	for _, pattern := range []*regexp.Regexp{metricName, labelName} {
		for _, found := range pattern.FindAllStringSubmatch(text, -1) {
			known = append(known, found[1])
		}
	}
	used := 0
	for _, query := range queries(t) {
		for _, name := range ours.FindAllString(textInQuery.ReplaceAllString(query, ""), -1) {
			if used++; !slices.Contains(known, name) {
				t.Errorf("%s: got %s, which no host has; the host has\n%s", query, name, text)
			}
		}
	}
	if used < 40 {
		t.Errorf("got %d names in the queries, want those of all panels and alerts", used)
	}
}

// TestAlertsNameStatesOfServers: the states in the alerts are those of package host.
func TestAlertsNameStatesOfServers(t *testing.T) {
	states := regexp.MustCompile(`fondaco_upstream_state=~"([^"]*)"`)
	text := exposition(t)
	found := 0
	for _, query := range queries(t) {
		for _, match := range states.FindAllStringSubmatch(query, -1) {
			for _, state := range strings.Split(match[1], "|") {
				if found++; !strings.Contains(text, `fondaco_upstream_state="`+state+`"`) {
					t.Errorf("%s: got state %q, which no server has", query, state)
				}
			}
		}
	}
	if found == 0 {
		t.Error("got no states in the alerts, want some")
	}
}
