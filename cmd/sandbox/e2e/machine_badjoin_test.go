//go:build linux

package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/cmd/sandbox/machine"
	"github.com/lkeplan/lkeplan/linode/linodetest"
)

// TestRealProgramsRefuseTheSameUserData runs the cases that the simulated machine is tried by through a real kubeadm and a real
// kubelet: what they say is what the simulated machine says.
func TestRealProgramsRefuseTheSameUserData(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	cases, err := linodetest.BadJoins()
	if err != nil {
		t.Fatal(err)
	}
	token := h.bootstrapToken("aaaaaa", time.Hour)
	h.signs(token, true)
	api := h.apiServer()
	to := linodetest.JoinedCluster{
		Endpoint: strings.TrimPrefix(api.Host, "https://"), Token: token.String(), Pin: pin(t, api.CAData), CA: api.CAData,
	}
	machines := map[int]*machine.Machine{} // by their swap
	for _, c := range cases {
		if machines[c.Swap] != nil {
			continue
		}
		m, err := h.machines.Add(machine.Linode{
			ID: len(machines) + 1, Label: fmt.Sprintf("swap-%d", c.Swap), UserData: []byte("#cloud-config\nruncmd: [[sysctl, -w, net.ipv4.ip_forward=1]]\n"),
		})
		if err != nil {
			t.Fatal(err)
		}
		m.Has.SwapMiB = c.Swap
		if err := m.PowerOn(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.PowerOff)
		h.eventually("it has booted", time.Minute, func() error {
			_, err := m.Run(t.Context(), "sh", "-c", "cloud-init status | grep done && ctr -n k8s.io images ls | grep "+machine.PodImage)
			return err
		})
		machines[c.Swap] = m
	}
	for i, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			node := fmt.Sprintf("case-%d", i)
			said, joined := h.joinBy(t, machines[c.Swap], c, to, node)
			switch {
			case c.OK && !joined:
				t.Errorf("it does not join:\n%s", said)
			case !c.OK && joined:
				t.Errorf("it joins, want %q:\n%s", c.Want, said)
			case !c.OK && !strings.Contains(said, c.Want):
				t.Errorf("nothing says %q:\n%s", c.Want, said)
			}
		})
	}
}

// soon has kubeadm wait for no more than a few seconds.
var soon = regexp.MustCompile(`(discovery|kubeletHealthCheck): [0-9]+[a-z]+[0-9a-z]*`)

// joinBy joins a machine with the files of a case, and leaves it as it was. It returns what kubeadm and the kubelet said.
func (h *host) joinBy(t *testing.T, m *machine.Machine, c linodetest.BadJoin, to linodetest.JoinedCluster, node string) (said string, joined bool) {
	files, err := c.Files(to, node)
	if err != nil {
		t.Fatal(err)
	}
	script := "rm -rf /etc/lkeplan\n"
	for file, content := range files {
		if strings.HasPrefix(path.Dir(file), "/etc/lkeplan") {
			content = soon.ReplaceAllString(strings.ReplaceAll(content, "@LINODE_ID@", "1"), "$1: 8s")
			script += fmt.Sprintf("mkdir -p %s; echo %s | base64 -d >%s\n", path.Dir(file),
				base64.StdEncoding.EncodeToString([]byte(content)), file)
		}
	}
	since := time.Now().Unix()
	out, joinErr := h.script(t, m, script+"kubeadm join --config /etc/lkeplan/join.yaml 2>&1")
	log, _ := h.script(t, m, fmt.Sprintf("journalctl -u kubelet -o cat --since @%d", since))
	reset, err := h.script(t, m, "kubeadm reset --force 2>&1 && rm -rf /var/lib/kubelet/pki /etc/cni/net.d/.keep")
	if err != nil {
		t.Fatalf("reset: %v\n%s", err, reset)
	}
	err = h.client.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	lines := slices.DeleteFunc(strings.Split(out+log, "\n"), func(line string) bool { return strings.Contains(line, "CGROUPS_") })
	return strings.Join(lines, "\n"), joinErr == nil
}

// script runs a script in a machine.
func (h *host) script(t *testing.T, m *machine.Machine, text string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	return m.Run(ctx, "sh", "-c", text)
}
