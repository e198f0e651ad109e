package bootstrap

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// machine is a directory that stands for a machine: a script runs in it with programs that
// answer as they are told and write down how they were called.
type machine struct {
	t   *testing.T
	dir string
}

// boots returns a machine on which cloud-init has written the files. Each program is the body
// of a script.
func boots(t *testing.T, files []file, programs map[string]string) machine {
	m := machine{t, t.TempDir()}
	for _, f := range files {
		m.write(f.Path, m.here(f.Content))
	}
	for name, body := range programs {
		m.write("/bin/"+name, "#!/bin/sh\necho \""+name+" $*\" >>"+m.dir+"/calls\n"+m.here(body)+"\n")
	}
	for _, name := range []string{"sed", "mv", "rm", "cat", "mkdir", "dirname"} {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join(m.dir, "bin", name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// here moves the paths of a script into the machine, and its PATH, and has it lose patience
// earlier.
func (m machine) here(text string) string {
	text = strings.NewReplacer(":/usr/local/bin", "", "-lt 60 ]", "-lt 6 ]", "-lt 360 ]", "-lt 6 ]").Replace(text)
	for _, path := range []string{"/etc/", "/var/lib/", "/dev/console"} {
		text = strings.ReplaceAll(text, path, m.dir+path)
	}
	return text
}

func (m machine) write(path, text string) {
	path = filepath.Join(m.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil { //nolint:gosec // programs
		m.t.Fatal(err)
	}
}

func (m machine) read(path string) string {
	text, err := os.ReadFile(filepath.Join(m.dir, path))
	if err != nil {
		return ""
	}
	return string(text)
}

// runs the script, and returns what it said and whether it failed.
func (m machine) runs() (said string, failed bool) {
	cmd := exec.CommandContext(m.t.Context(), "/bin/sh", filepath.Join(m.dir, scriptFile))
	cmd.Env = []string{"PATH=" + filepath.Join(m.dir, "bin")}
	text, err := cmd.CombinedOutput()
	return string(text), err != nil
}

// metadata answers as the Metadata service does, from the third time on.
const metadata = `
echo x >>/etc/asked
[ "$(cat /etc/asked | sed -n 3p)" ] || exit 7
case "$*" in
*"-X PUT -H Metadata-Token-Expiry-Seconds: 600 http://169.254.169.254/v1/token") echo 0abc ;;
*"-X GET -H Metadata-Token: 0abc http://169.254.169.254/v1/instance")
	echo "backups.enabled: False"; echo "host_uuid: 12"; echo "id: 4711"; echo "label: id: 5" ;;
*) exit 22 ;;
esac`

func sample() Join {
	return Join{
		Node: "prod-1", Server: "https://10.0.0.2:6443", CA: []byte(sampleCA), Token: "abcdef.0123456789abcdef",
	}
}

func TestMachineWithKubeadmJoins(t *testing.T) {
	files, err := sample().kubeadmFiles()
	if err != nil {
		t.Fatal(err)
	}
	m := boots(t, files, map[string]string{"curl": metadata, "sleep": "", "kubeadm": `
		[ "$1" = reset ] && exit 0
		cat "$3" >/etc/joined
		echo x >>/etc/tries
		[ "$(sed -n 2p /etc/tries)" ]`})
	if said, failed := m.runs(); failed || !strings.Contains(said, "this machine has joined") {
		t.Fatalf("%s%s", said, m.read("calls"))
	}
	if joined := m.read("/etc/joined"); !strings.Contains(joined, "value: linode://4711\n") {
		t.Errorf("joined with\n%s", joined)
	}
	if m.read(joinFile) != "" {
		t.Error("the file with the token is left")
	}
	if calls := m.read("calls"); strings.Count(calls, "kubeadm join") != 2 || strings.Count(calls, "kubeadm reset") != 1 {
		t.Errorf("calls\n%s", calls)
	}
	before := m.read("calls")
	if said, failed := m.runs(); failed || m.read("calls") != before {
		t.Errorf("run again: %s", said)
	}
}

func TestMachineWithK3sJoins(t *testing.T) {
	files, err := sample().k3sFiles()
	if err != nil {
		t.Fatal(err)
	}
	m := boots(t, files, map[string]string{"wget": strings.ReplaceAll(strings.ReplaceAll(metadata,
		"-X", "--method"), "-H", "--header"), "k3s": "", "systemctl": "", "sleep": `
		mkdir -p /var/lib/rancher/k3s/agent; echo x >>/var/lib/rancher/k3s/agent/client-kubelet.crt`})
	if said, failed := m.runs(); failed || !strings.Contains(said, "this machine has joined") {
		t.Fatalf("%s%s", said, m.read("calls"))
	}
	config := m.read(k3sFile)
	if strings.Contains(config, "abcdef.") || !strings.Contains(config, "::000000.0000000000000000\n") ||
		!strings.Contains(config, "- provider-id=linode://4711\n") {
		t.Errorf("left is\n%s", config)
	}
	if calls := m.read("calls"); !strings.HasSuffix(calls,
		"systemctl enable k3s-agent\nsystemctl restart --no-block k3s-agent\n") {
		t.Errorf("calls\n%s", calls)
	}
}

// TestMachineSaysWhatIsMissing: it does so on its console, which is all that one can see of it.
func TestMachineSaysWhatIsMissing(t *testing.T) {
	kubeadm, err := sample().kubeadmFiles()
	if err != nil {
		t.Fatal(err)
	}
	k3s, err := sample().k3sFiles()
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		files    []file
		programs map[string]string
		want     string
	}{
		{kubeadm, map[string]string{"curl": metadata, "sleep": ""}, "kubeadm is not in this image"},
		{kubeadm, map[string]string{"kubeadm": "", "sleep": ""}, "neither curl nor wget is in this image"},
		{kubeadm, map[string]string{"kubeadm": "", "sleep": "", "curl": "exit 7"}, "does not tell the id of this Linode"},
		{kubeadm, map[string]string{"kubeadm": "", "sleep": "", "curl": "echo no: id"}, "does not tell the id"},
		{kubeadm, map[string]string{"kubeadm": "exit 1", "sleep": "", "curl": metadata}, "kubeadm join has failed 5 times"},
		{k3s, map[string]string{"curl": metadata, "sleep": ""}, "k3s is not in this image"},
		{k3s, map[string]string{"curl": metadata, "sleep": "", "k3s": "", "systemctl": "exit 1"}, "no unit k3s-agent"},
		{k3s, map[string]string{"curl": metadata, "sleep": "", "k3s": "", "systemctl": ""}, "gets no certificate"},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			m := boots(t, c.files, c.programs)
			m.write("/dev/console", "")
			said, failed := m.runs()
			if !failed || !strings.Contains(said, c.want) || !strings.Contains(m.read("/dev/console"), c.want) {
				t.Errorf("said %s, on the console %s", said, m.read("/dev/console"))
			}
		})
	}
}
