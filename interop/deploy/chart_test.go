package deploy_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// values returns values with which the chart can be installed.
func values(t *testing.T) map[string]any {
	t.Helper()
	return map[string]any{
		"image":       "registry.example.com/fondaco:1.0.0",
		"url":         "https://" + publicName,
		"proxies":     []string{"10.0.0.0/8", "fd00::/8"},
		"ingressFrom": []any{map[string]any{"namespaceSelector": map[string]any{"matchLabels": map[string]string{"name": "ingress"}}}},
		"config":      config(t),
		"secret":      map[string]any{"keys": keys, "tokens": tokens},
		"engine":      map[string]any{"bundled": true},
	}
}

// with returns values with another one at a path, such as secret.keys.
func with(v map[string]any, path string, value any) map[string]any {
	v = maps.Clone(v)
	name, rest, nested := strings.Cut(path, ".")
	if !nested {
		v[name] = value
		return v
	}
	inner, _ := v[name].(map[string]any)
	v[name] = with(inner, rest, value)
	return v
}

func TestChartHasNoFaultThatHelmFinds(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]map[string]any{"values": values(t), "no values": nil} {
		if output, err := helm(t, "lint", v, "--strict", chart); err != nil {
			t.Errorf("%s: %v\n%s", name, err, output)
		}
	}
}

func TestChartNamesTheValuesThatAreMissing(t *testing.T) {
	t.Parallel()
	for path, value := range map[string]any{
		"image": "", "url": "", "proxies": []string{}, "ingressFrom": []any{}, "config": nil,
		"secret.keys": "", "secret.tokens": "", "engine.bundled": false,
	} {
		want := path + ": want"
		if path == "engine.bundled" {
			want = "secret.store: want"
		}
		output, err := helm(t, "template", with(values(t), path, value), "test", chart)
		if err == nil || !strings.Contains(output, want) {
			t.Errorf("without %s: got %v, %s, want %q", path, err, output, want)
		}
	}
}

// hostOf returns the pods of the hosts and the container of a host.
func hostOf(t *testing.T, o *objects) (pod *corev1.PodSpec, host *corev1.Container) {
	t.Helper()
	d := o.deployments["test-fondaco"]
	if d == nil || len(d.Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("got %v, want a Deployment with one container", d)
	}
	pod = &d.Spec.Template.Spec
	return pod, &pod.Containers[0]
}

func TestPodsOfTheChartAreReplacedOneByOne(t *testing.T) {
	t.Parallel()
	o := render(t, values(t))
	pod, host := hostOf(t, o)
	port := host.Ports[0].Name
	for name, test := range map[string]struct {
		probe *corev1.Probe
		path  string
	}{"readiness": {host.ReadinessProbe, "/readyz"}, "liveness": {host.LivenessProbe, "/healthz"}} {
		if get := test.probe.HTTPGet; get == nil || get.Path != test.path || get.Port.StrVal != port {
			t.Errorf("%s: got %v, want GET %s at port %s", name, test.probe, test.path, port)
		}
	}
	// LameDuck, the time for running calls, and twice that for the end of servers.
	if sleep := host.Lifecycle.PreStop.Sleep.Seconds; *pod.TerminationGracePeriodSeconds < sleep+2+10+20 {
		t.Errorf("got %d s with %d s of preStop", *pod.TerminationGracePeriodSeconds, sleep)
	}
	spec, budget := o.deployments["test-fondaco"].Spec, o.budgets["test-fondaco"].Spec
	rolling := spec.Strategy.RollingUpdate
	if *spec.Replicas != 3 || rolling.MaxUnavailable.IntVal != 0 || rolling.MaxSurge.IntVal != 1 || budget.MaxUnavailable.IntVal != 1 {
		t.Errorf("got %d, %v, %v, want three pods, and that one at a time is replaced", *spec.Replicas, rolling, budget)
	}
	template := o.deployments["test-fondaco"].Spec.Template
	if changed := render(t, with(values(t), "secret.tokens", "other:"+token)).deployments["test-fondaco"].Spec.Template; maps.Equal(changed.Annotations, template.Annotations) {
		t.Error("got the same pods for other tokens, want others, because a host has a copy of them")
	}
	labels := template.Labels
	for name, selector := range map[string]map[string]string{
		"Deployment": o.deployments["test-fondaco"].Spec.Selector.MatchLabels, "Service": o.services["test-fondaco"].Spec.Selector,
		"PodDisruptionBudget": budget.Selector.MatchLabels, "NetworkPolicy": o.policies["test-fondaco"].Spec.PodSelector.MatchLabels,
	} {
		if !maps.Equal(selector, labels) {
			t.Errorf("%s: got the selector %v, want %v", name, selector, labels)
		}
	}
}

// The restricted Pod Security Standard, and a root file system that is read-only.
func TestPodsOfTheChartHaveFewRights(t *testing.T) {
	t.Parallel()
	for name, d := range render(t, values(t)).deployments {
		pod := &d.Spec.Template.Spec
		if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
			t.Errorf("%s: got a token of Kubernetes", name)
		}
		if s := pod.SecurityContext; !*s.RunAsNonRoot || *s.RunAsUser == 0 || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
			t.Errorf("%s: got %v", name, s)
		}
		for _, c := range append(pod.InitContainers, pod.Containers...) {
			s := c.SecurityContext
			if *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
				t.Errorf("%s, %s: got %v", name, c.Name, s)
			}
			if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
				t.Errorf("%s, %s: got resources %v, want a limit of memory and a request of CPU", name, c.Name, c.Resources)
			}
		}
	}
}

func TestOnlyProxiesAndHostsMayConnectToHosts(t *testing.T) {
	t.Parallel()
	o := render(t, values(t))
	for name, want := range map[string]int{"test-fondaco": 2, "test-fondaco-engine": 1} {
		rules := o.policies[name].Spec.Ingress
		if len(rules) != 1 || len(rules[0].From) != want || len(rules[0].Ports) != 1 {
			t.Fatalf("%s: got %v, want one rule with %d peers", name, rules, want)
		}
		hosts := metav1.LabelSelector{MatchLabels: o.deployments["test-fondaco"].Spec.Template.Labels}
		if got := rules[0].From[0].PodSelector; !maps.Equal(got.MatchLabels, hosts.MatchLabels) {
			t.Errorf("%s: got %v, want the hosts", name, got)
		}
		container := o.deployments[name].Spec.Template.Spec.Containers[0]
		if port := rules[0].Ports[0].Port.StrVal; port != container.Ports[0].Name || o.services[name].Spec.Ports[0].TargetPort.StrVal != port {
			t.Errorf("%s: got the port %s, want that of the container and of the Service", name, port)
		}
	}
}

// secretNames returns the names of the Secrets that a pod uses.
func secretNames(pod *corev1.PodSpec) (names []string) {
	for _, e := range pod.Containers[0].Env {
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
			names = append(names, e.ValueFrom.SecretKeyRef.Name)
		}
	}
	for _, v := range pod.Volumes {
		if v.Secret != nil {
			names = append(names, v.Secret.SecretName)
		}
	}
	return names
}

func TestChartUsesASecretThatExists(t *testing.T) {
	t.Parallel()
	v := values(t)
	v["secret"], v["engine"] = map[string]any{"existing": "own"}, map[string]any{"bundled": false}
	o := render(t, v)
	pod, _ := hostOf(t, o)
	if names := secretNames(pod); len(o.secrets) != 0 || len(o.deployments) != 1 || !slices.Equal(names, []string{"own", "own", "own"}) {
		t.Errorf("got %d Secrets, %d Deployments, references to %v, want those to own alone", len(o.secrets), len(o.deployments), names)
	}
}

func TestChartWithAnAuthorizationServerHasNoTokens(t *testing.T) {
	t.Parallel()
	v := with(with(values(t), "secret", map[string]any{"keys": keys}), "auth", map[string]any{"issuer": "https://id.example.com", "scopes": []string{"tools"}})
	o := render(t, v)
	pod, host := hostOf(t, o)
	for _, flag := range []string{"--auth=https://id.example.com", "--scope=tools"} {
		if !slices.Contains(host.Args, flag) {
			t.Errorf("got %v, want %s", host.Args, flag)
		}
	}
	if names := secretNames(pod); len(names) != 2 || slices.ContainsFunc(host.Args, func(a string) bool { return strings.HasPrefix(a, "--auth-tokens") }) {
		t.Errorf("got %v and the Secrets %v, want no tokens", host.Args, names)
	}
}
