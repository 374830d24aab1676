package deploy_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The containers of the chart run as processes, with the commands, variables and files that the chart
// gives them. Clients reach the hosts as through the Service.
func TestHostsOfTheChartServe(t *testing.T) {
	t.Parallel()
	o, at := render(t, values(t)), newNetwork()
	engine := o.deployments["test-fondaco-engine"].Spec.Template.Spec.Containers[0]
	(&container{command: append(engine.Command, "--bind", at(9)), addr: at(9) + ":6379"}).start(t)
	a := access{url: "http://" + publicName + "/mcp"}
	var hosts []*container
	for i := range int(*o.deployments["test-fondaco"].Spec.Replicas) {
		h := o.newPod(t, at(i+1), here{"test-fondaco-engine:6379", at(9) + ":6379"})
		h.start(t)
		hosts, a.addrs = append(hosts, h), append(a.addrs, h.addr)
		checkStatus(t, "http://"+h.addr+"/healthz", http.StatusOK)
	}
	a.checkHosts(t, hosts)
}

// newPod runs the init container of a pod of the hosts, and returns the container of the host.
func (o *objects) newPod(t *testing.T, address string, local here) *container {
	t.Helper()
	pod, host := hostOf(t, o)
	volumes := o.mountVolumes(t, pod)
	first := pod.InitContainers[0]
	command := append(mountsOf(first, volumes), local...).applyAll(first.Command)
	if output, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if err := os.Chmod(volumes["state"], 0o700); err != nil { // the container sees only the directory in it
		t.Fatal(err)
	}
	local = append(mountsOf(*host, volumes), append(local, "=0.0.0.0:", "="+address+":")...)
	c := &container{command: local.applyAll(append(host.Command, host.Args...)), env: make(map[string]string)}
	for _, e := range host.Env {
		c.env[e.Name] = local.apply(os.Expand(strings.ReplaceAll(o.valueOf(t, e, address), "$(POD_IP)", "${POD_IP}"), func(name string) string { return c.env[name] }))
	}
	port := "8080"
	if !slices.Contains(host.Args, "--addr=0.0.0.0:"+port) || host.Ports[0].ContainerPort != 8080 {
		t.Errorf("got %v and the port %v, want the same", host.Args, host.Ports)
	}
	c.addr = address + ":" + port
	c.check = "http://" + c.addr + host.ReadinessProbe.HTTPGet.Path
	return c
}

// valueOf returns the value of a variable.
func (o *objects) valueOf(t *testing.T, e corev1.EnvVar, address string) string {
	t.Helper()
	switch from := e.ValueFrom; {
	case from == nil:
		return e.Value
	case from.FieldRef != nil && from.FieldRef.FieldPath == "status.podIP":
		return address
	case from.SecretKeyRef != nil:
		if value, ok := o.secrets[from.SecretKeyRef.Name].StringData[from.SecretKeyRef.Key]; ok {
			return value
		}
	}
	t.Fatalf("%s: got %v, whose value is unknown", e.Name, e.ValueFrom)
	return ""
}

// mountVolumes makes directories as Kubernetes does: others can write to the directory of a volume, and
// read what is in one of a Secret.
func (o *objects) mountVolumes(t *testing.T, pod *corev1.PodSpec) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, v := range pod.Volumes {
		dir := t.TempDir()
		all[v.Name] = dir
		switch {
		case v.ConfigMap != nil:
			for name, text := range o.configMaps[v.ConfigMap.Name].Data {
				writeFile(t, dir, name, text)
			}
		case v.Secret != nil:
			for _, item := range v.Secret.Items {
				path := writeFile(t, dir, item.Path, o.secrets[v.Secret.SecretName].StringData[item.Key])
				if err := os.Chmod(path, os.FileMode(*v.Secret.DefaultMode)); err != nil {
					t.Fatal(err)
				}
			}
		case v.EmptyDir == nil:
			t.Errorf("%s: got %v", v.Name, v.VolumeSource)
		default:
			if err := os.Chmod(dir, 0o777); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

// mountsOf returns the paths at which a container has volumes, with those of this machine.
func mountsOf(c corev1.Container, volumes map[string]string) (all here) {
	for _, m := range c.VolumeMounts {
		all = append(all, m.MountPath, filepath.Join(volumes[m.Name], m.SubPath))
	}
	return all
}

func checkStatus(t *testing.T, url string, want int) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != want {
		t.Errorf("%s: got %s, want %d", url, answer.Status, want)
	}
}
