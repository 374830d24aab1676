package deploy_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// kubernetesVersion is the oldest one for which the chart is.
const kubernetesVersion = "1.30.0"

// buildHelm builds helm in the version that go.mod has.
var buildHelm = sync.OnceValues(func() (string, error) {
	path := filepath.Join(programs, "helm")
	output, err := exec.Command("go", "build", "-o", path, "helm.sh/helm/v3/cmd/helm").CombinedOutput()
	if err != nil {
		return string(output), err
	}
	return path, nil
})

// helm runs helm with the chart and values. Its standard input is the file of the values.
func helm(t *testing.T, command string, values map[string]any, args ...string) (stdout string, err error) {
	t.Helper()
	program, err := buildHelm()
	if err != nil {
		t.Fatalf("%v\n%s", err, program)
	}
	text, err := yaml.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, append([]string{command, "--kube-version", kubernetesVersion, "-f", "-"}, args...)...)
	cmd.Stdin = strings.NewReader(string(text))
	home := t.TempDir()
	cmd.Env = []string{"HOME=" + home, "KUBECONFIG=" + filepath.Join(home, "none")}
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// chart is the directory of the chart.
var chart = filepath.Join(root, "deploy", "helm", "fondaco")

// objects are those of a rendered chart, by their names.
type objects struct {
	deployments map[string]*appsv1.Deployment
	services    map[string]*corev1.Service
	secrets     map[string]*corev1.Secret
	configMaps  map[string]*corev1.ConfigMap
	budgets     map[string]*policyv1.PodDisruptionBudget
	policies    map[string]*networkingv1.NetworkPolicy
}

// render renders the chart for a release named test.
func render(t *testing.T, values map[string]any) *objects {
	t.Helper()
	text, err := helm(t, "template", values, "test", chart)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	o := &objects{
		make(map[string]*appsv1.Deployment), make(map[string]*corev1.Service), make(map[string]*corev1.Secret),
		make(map[string]*corev1.ConfigMap), make(map[string]*policyv1.PodDisruptionBudget), make(map[string]*networkingv1.NetworkPolicy),
	}
	for _, document := range strings.Split(text, "\n---\n") {
		o.add(t, []byte(strings.TrimPrefix(document, "---\n")))
	}
	return o
}

// add decodes an object with the types of Kubernetes. A member that its type does not have is an error.
func (o *objects) add(t *testing.T, document []byte) {
	t.Helper()
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(document, &kind); err != nil {
		t.Fatalf("%v\n%s", err, document)
	}
	switch kind.APIVersion + " " + kind.Kind {
	case "apps/v1 Deployment":
		decode(t, document, o.deployments)
	case "v1 Service":
		decode(t, document, o.services)
	case "v1 Secret":
		decode(t, document, o.secrets)
	case "v1 ConfigMap":
		decode(t, document, o.configMaps)
	case "policy/v1 PodDisruptionBudget":
		decode(t, document, o.budgets)
	case "networking.k8s.io/v1 NetworkPolicy":
		decode(t, document, o.policies)
	default:
		t.Errorf("got an object of kind %q %q", kind.APIVersion, kind.Kind)
	}
}

// decode decodes an object into those of its type, and checks that its name is used once.
func decode[T any, P interface {
	*T
	metav1.Object
}](t *testing.T, document []byte, all map[string]P) {
	t.Helper()
	object := P(new(T))
	if err := yaml.UnmarshalStrict(document, object); err != nil {
		t.Errorf("%v\n%s", err, document)
	}
	name := object.GetName()
	if all[name] != nil {
		t.Errorf("got two objects of the name %q", name)
	}
	all[name] = object
}
