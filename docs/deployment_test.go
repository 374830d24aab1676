package docs_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// newDeployed is the server of the page.
func newDeployed() *mcpserver.Server {
	srv := mcpserver.New("mcp", "1.0.0", &mcpserver.Options{HTTP: &mcpserver.HTTPOptions{
		AllowedHosts:   []string{"mcp.example.com"},
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		LameDuck:       5 * time.Second,
	}})
	return srv
}

func TestServerOfTheDeploymentPageStarts(t *testing.T) {
	t.Parallel()
	if err := newDeployed().Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// decodeFile decodes the documents of a YAML file of the directory deploy.
func decodeFile(t *testing.T, path string) (documents []any) {
	t.Helper()
	file, err := os.Open(filepath.Join("..", "deploy", filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for d := yaml.NewDecoder(file); ; {
		var document any
		err := d.Decode(&document)
		if err != nil {
			if err.Error() != "EOF" {
				t.Fatalf("%s: %v", path, err)
			}
			return documents
		}
		documents = append(documents, document)
	}
}

// at returns what is at a path in a document. Parts of the path are names of members and indexes.
func at(t *testing.T, in any, path ...any) any {
	t.Helper()
	for _, part := range path {
		var found any
		switch part := part.(type) {
		case string:
			m, _ := in.(map[string]any)
			found = m[part]
		case int:
			if list, _ := in.([]any); part < len(list) {
				found = list[part]
			}
		}
		if found == nil {
			t.Fatalf("%v: there is no %v in %v", path, part, in)
		}
		in = found
	}
	return in
}

func TestKubernetesManifestGivesReplicasTimeToDrain(t *testing.T) {
	t.Parallel()
	documents := decodeFile(t, "kubernetes/mcp.yaml")
	kinds := make(map[string]any)
	for _, d := range documents {
		kinds[at(t, d, "kind").(string)] = d
	}
	deployment, service, budget := kinds["Deployment"], kinds["Service"], kinds["PodDisruptionBudget"]
	pod := at(t, deployment, "spec", "template", "spec")
	container := at(t, pod, "containers", 0)
	if grace := at(t, pod, "terminationGracePeriodSeconds").(int); grace <= 5+10 {
		t.Errorf("got %d s, want more than LameDuck of the page and the 10 s for running calls", grace)
	}
	for name, test := range map[string]struct{ got, want any }{
		"replicas":          {at(t, deployment, "spec", "replicas"), 3},
		"never fewer":       {at(t, deployment, "spec", "strategy", "rollingUpdate", "maxUnavailable"), 0},
		"keys":              {at(t, container, "env", 0, "name"), mcpserver.KeysVariable},
		"keys of a Secret":  {at(t, container, "env", 0, "valueFrom", "secretKeyRef", "name"), "mcp-keys"},
		"readiness":         {at(t, container, "readinessProbe", "httpGet", "path"), "/readyz"},
		"readiness port":    {at(t, container, "readinessProbe", "httpGet", "port"), at(t, container, "ports", 0, "name")},
		"liveness":          {at(t, container, "livenessProbe", "tcpSocket", "port"), at(t, container, "ports", 0, "name")},
		"port of the pods":  {at(t, service, "spec", "ports", 0, "targetPort"), at(t, container, "ports", 0, "name")},
		"pods of a Service": {at(t, service, "spec", "selector", "app"), at(t, deployment, "spec", "template", "metadata", "labels", "app")},
		"pods of the Deployment": {
			at(t, deployment, "spec", "selector", "matchLabels", "app"), at(t, deployment, "spec", "template", "metadata", "labels", "app"),
		},
		"pods of the budget": {at(t, budget, "spec", "selector", "matchLabels", "app"), at(t, service, "spec", "selector", "app")},
	} {
		if test.got != test.want {
			t.Errorf("%s: got %v, want %v", name, test.got, test.want)
		}
	}
}

func TestComposeReplicasShareTheirKeys(t *testing.T) {
	t.Parallel()
	compose := decodeFile(t, "compose/compose.yaml")[0]
	for _, name := range []string{"mcp-1", "mcp-2", "mcp-3"} {
		keys := at(t, compose, "services", name, "environment", mcpserver.KeysVariable).(string)
		if !strings.HasPrefix(keys, "${"+mcpserver.KeysVariable+":?") {
			t.Errorf("%s: got %s, want the variable, and an error without it", name, keys)
		}
		if grace, err := time.ParseDuration(at(t, compose, "services", name, "stop_grace_period").(string)); err != nil || grace <= 15*time.Second {
			t.Errorf("%s: got %v, %v, want more than the time to drain", name, grace, err)
		}
	}
	for _, volume := range at(t, compose, "services", "balancer", "volumes").([]any) {
		source, _, _ := strings.Cut(volume.(string), ":")
		if source == "./mcp.pem" {
			continue // of the user
		}
		if _, err := os.Stat(filepath.Join("..", "deploy", "compose", filepath.FromSlash(source))); err != nil {
			t.Error(err)
		}
	}
}

func TestEnvoyConfigurationHasNoLimitOfAResponse(t *testing.T) {
	t.Parallel()
	envoy := decodeFile(t, "envoy/envoy.yaml")[0]
	manager := at(t, envoy, "static_resources", "listeners", 0, "filter_chains", 0, "filters", 0, "typed_config")
	idle, err := time.ParseDuration(at(t, manager, "stream_idle_timeout").(string))
	if err != nil || idle < 30*time.Second {
		t.Errorf("got %v, %v of silence, want at least 30 s", idle, err)
	}
	clusters := make(map[any]any)
	for _, c := range at(t, envoy, "static_resources", "clusters").([]any) {
		clusters[at(t, c, "name")] = c
		if path := at(t, c, "health_checks", 0, "http_health_check", "path"); path != "/readyz" {
			t.Errorf("got health check %v, want /readyz", path)
		}
		if n := len(at(t, c, "load_assignment", "endpoints", 0, "lb_endpoints").([]any)); n != 3 {
			t.Errorf("got %d replicas, want 3", n)
		}
	}
	for _, route := range at(t, manager, "route_config", "virtual_hosts", 0, "routes").([]any) {
		if timeout := at(t, route, "route", "timeout"); timeout != "0s" {
			t.Errorf("%v: got timeout %v, want none", at(t, route, "match"), timeout)
		}
		if clusters[at(t, route, "route", "cluster")] == nil {
			t.Errorf("%v: there is no cluster %v", at(t, route, "match"), at(t, route, "route", "cluster"))
		}
		if retried := at(t, route, "route", "retry_policy", "retry_on"); retried != "connect-failure,refused-stream" {
			t.Errorf("got %v repeated, want only requests that no replica has got", retried)
		}
	}
}

// TestTestsOfTheDeploymentPageExist looks for the tests and files that the page names.
func TestTestsOfTheDeploymentPageExist(t *testing.T) {
	t.Parallel()
	page := readPage(t, "deployment.md")
	code := sourceOf(t, func(name string) bool { return isTest.MatchString(name) })
	for _, name := range regexp.MustCompile("`(Test[A-Za-z]+)`").FindAllStringSubmatch(page, -1) {
		if !strings.Contains(code, "func "+name[1]+"(") {
			t.Errorf("there is no test %s", name[1])
		}
	}
	var files []string
	err := filepath.WalkDir(filepath.Join("..", "deploy"), func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if _, err := os.Stat(filepath.Join(path, "Chart.yaml")); err == nil { // its files belong together
			files = append(files, filepath.ToSlash(path))
			return filepath.SkipDir
		}
		if !entry.IsDir() {
			files = append(files, filepath.ToSlash(path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	for _, path := range files {
		if !strings.Contains(page, "]("+path+")") {
			t.Errorf("the page has no link to %s", path)
		}
	}
}
