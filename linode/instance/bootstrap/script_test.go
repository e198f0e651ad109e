package bootstrap

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
)

// machine is a directory that stands for a machine: a script runs in it with programs that
// answer as configured and record how they were called. /world is outside the machine.
type machine struct {
	t   *testing.T
	dir string
	sh  string // the shell
}

// tools are the programs of every image that a script may use.
var tools = []string{"sed", "mv", "rm", "cat", "mkdir", "dirname", "grep", "dd", "cut", "tr", "date", "tee"}

// boots returns a machine on which cloud-init has written the files. Each program is the body
// of a script.
func boots(t *testing.T, files []file, programs map[string]string) machine {
	m := machine{t, t.TempDir(), "/bin/sh"}
	m.write("/world/time", "")
	m.write("/proc/uptime", "10.00 5.00\n")
	m.write("/proc/sys/net/ipv4/ip_forward", "0\n")
	for _, f := range files {
		m.write(f.Path, m.here(f.Content))
	}
	all := map[string]string{"sync": "", "systemctl": "", "journalctl": "cat /world/journal", "sleep": `wait_seconds "$1"`}
	for name, body := range programs {
		all[name] = body
	}
	for name, body := range all {
		m.program(name, "echo \""+name+" $*\" >>/world/calls\n"+body)
	}
	for _, name := range tools {
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

// program writes one. It may call wait_seconds, which is how time goes by.
func (m machine) program(name, body string) {
	m.write("/bin/"+name, m.here(`#!/bin/sh
wait_seconds() {
	read -r up _ </proc/uptime
	echo "$((${up%%.*} + $1)).00 0" >/proc/uptime
}
`+body+"\n"))
}

// here moves the paths of a script into the machine, and its PATH.
func (m machine) here(text string) string {
	from := []string{":/usr/local/bin", ""}
	for _, path := range []string{"/etc/", "/var/lib/", "/dev/console", "/run/", "/proc/", "/world/"} {
		from = append(from, path, m.dir+path)
	}
	return strings.NewReplacer(from...).Replace(text)
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
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), m.sh, filepath.Join(m.dir, scriptFile)) //nolint:gosec // a shell
	cmd.Env = []string{"PATH=" + filepath.Join(m.dir, "bin")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a program may end the others
	text, err := cmd.CombinedOutput()
	if strings.Contains(string(text), "not found") || strings.Contains(string(text), "yntax") {
		m.t.Errorf("%s", text)
	}
	return string(text), err != nil
}

// seconds have gone by since the machine has booted.
func (m machine) seconds() (n int) {
	if _, err := fmt.Sscan(m.read("/proc/uptime"), &n); err != nil {
		m.t.Fatal(err)
	}
	return n - 10
}

// secret returns the files that the token's secret is in. What the script has called is among them: others
// can see that.
func (m machine) secret() (all []string) {
	each(m.t, m.dir, func(path, text string) {
		if strings.Contains(text, "0123456789abcdef") && !strings.HasPrefix(path, "/bin/") {
			all = append(all, path)
		}
	})
	return all
}

// cached is what cloud-init keeps of user data, by path.
func cached(t *testing.T) map[string]string {
	text, err := Kubeadm(sample())
	if err != nil {
		t.Fatal(err)
	}
	escaped, err := json.Marshal(string(text))
	if err != nil {
		t.Fatal(err)
	}
	const instance = "/var/lib/cloud/instances/4711/"
	return map[string]string{
		instance + "user-data.txt": string(text), instance + "user-data.txt.i": "MIME-Version: 1.0\n\n" + string(text),
		instance + "cloud-config.txt": string(text), instance + "vendor-data.txt": "",
		instance + "obj.pkl":                         "\x80\x04\x00\xff\n" + string(text) + "\x94\x8c\x00" + string(text) + "\x94.",
		"/run/cloud-init/combined-cloud-config.json": `{"write_files": ` + string(escaped) + `}`,
	}
}

// metadata answers as the Metadata service does, from the third time on, and as the kubelet and the API server.
const metadata = `
case "$*" in
*/healthz) cat /world/healthz; exit ;;
*/certificatesigningrequests)
	cat /run/lkeplan/report >>/world/reports
	[ ! -e /world/unreachable ]; exit ;;
esac
echo x >>/world/asked
[ "$(sed -n 3p /world/asked)" ] || exit 7
case "$*" in
*"-X PUT -H Metadata-Token-Expiry-Seconds: 600 http://169.254.169.254/v1/token") echo 0abc ;;
*"-X GET -H Metadata-Token: 0abc http://169.254.169.254/v1/instance")
	echo "backups.enabled: False"; echo "host_uuid: 12"; echo "id: 4711"; echo "label: id: 5" ;;
*) exit 22 ;;
esac`

// asWget is a program in the words of wget.
func asWget(curl string) string {
	return strings.NewReplacer("-X", "--method", "-H", "--header").Replace(curl)
}

func sample() Join {
	return Join{
		Node: "prod-1", Server: "https://10.0.0.2:6443", CA: []byte(sampleCA), Token: "abcdef.0123456789abcdef",
	}
}

// the files of the two kinds of machines.
func forKubeadm(t *testing.T) []file { return filesOf(t, sample(), checked.kubeadmFiles) }
func forK3s(t *testing.T) []file     { return filesOf(t, sample(), checked.k3sFiles) }

func filesOf(t *testing.T, j Join, make func(checked) []file) []file {
	t.Helper()
	c, err := j.check()
	if err != nil {
		t.Fatal(err)
	}
	return append(make(c), file{Path: caFile, Content: sampleCA})
}

// shells are those that are here, of which one is on a machine.
func shells(names ...string) (all []string) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			all = append(all, path)
		}
	}
	return all
}

// TestScriptsAreOfAnyShell: a script is read as it is, and as a machine has it.
func TestScriptsAreOfAnyShell(t *testing.T) {
	for _, text := range []string{
		machineScript + kubeadmScript, machineScript + k3sScript, machineScriptWith(kubeadmScript), machineScriptWith(k3sScript),
	} {
		for _, sh := range shells("sh", "dash", "bash", "busybox") {
			args := []string{"-n"}
			if filepath.Base(sh) == "busybox" {
				args = []string{"sh", "-n"}
			}
			cmd := exec.CommandContext(t.Context(), sh, args...) //nolint:gosec // a shell
			cmd.Stdin = strings.NewReader(text)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", sh, err, out)
			}
		}
	}
}

func TestMachineWithKubeadmJoins(t *testing.T) {
	for _, sh := range shells("sh", "dash", "bash") {
		t.Run(sh, func(t *testing.T) {
			m := boots(t, forKubeadm(t), map[string]string{"curl": metadata, "kubeadm": `
				[ "$1" = reset ] && exit 0
				umask >/world/umask
				[ "$(sed -n 1p /proc/sys/net/ipv4/ip_forward)" = 1 ] || exit 1
				sed s/0123456789abcdef/secret/ "$3" >/world/joined
				echo x >>/world/tries
				[ "$(sed -n 2p /world/tries)" ]`})
			m.sh = sh
			for path, text := range cached(t) {
				m.write(path, text)
			}
			if said, failed := m.runs(); failed || !strings.Contains(said, "this machine has joined") {
				t.Fatalf("%s%s", said, m.read("/world/calls"))
			}
			if joined := m.read("/world/joined"); !strings.Contains(joined, "value: linode://4711\n") {
				t.Errorf("joined with\n%s", joined)
			}
			if files := m.secret(); len(files) > 0 || m.read(joinFile) != "" {
				t.Errorf("the token's secret is in %q, the file with the token has\n%s", files, m.read(joinFile))
			}
			for path, text := range cached(t) {
				if got := m.read(path); got != strings.ReplaceAll(text, "0123456789abcdef", "0000000000000000") {
					t.Errorf("%s has become %q", path, got)
				}
			}
			if got := m.read("/world/umask"); !regexp.MustCompile(`^0*22\n$`).MatchString(got) {
				t.Errorf("kubeadm has umask %s", got)
			}
			if got := m.read("/etc/sysctl.d/99-lkeplan.conf"); got != "net.ipv4.ip_forward = 1\n" {
				t.Errorf("set at the next boot: %q", got)
			}
			calls := m.read("/world/calls")
			if strings.Count(calls, "kubeadm join") != 2 || strings.Count(calls, "kubeadm reset") != 1 {
				t.Errorf("calls\n%s", calls)
			}
			// A second boot.
			m.write("/etc/kubernetes/kubelet.conf", "x")
			m.write("/var/lib/kubelet/pki/kubelet-client-current.pem", "x")
			if said, failed := m.runs(); failed || said != "" || m.read("/world/calls") != calls {
				t.Errorf("run again: %s", said)
			}
		})
	}
}

func TestMachineWithK3sJoins(t *testing.T) {
	for _, sh := range shells("sh", "dash", "bash") {
		t.Run(sh, func(t *testing.T) {
			m := boots(t, forK3s(t), map[string]string{"wget": asWget(metadata), "k3s": "", "sleep": `
				mkdir -p /var/lib/rancher/k3s/agent; echo x >>/var/lib/rancher/k3s/agent/client-kubelet.crt`})
			m.sh = sh
			m.write("/world/healthz", "ok")
			for path, text := range cached(t) {
				m.write(path, text)
			}
			if said, failed := m.runs(); failed || !strings.Contains(said, "this machine has joined") {
				t.Fatalf("%s%s", said, m.read("/world/calls"))
			}
			config := m.read(k3sFile)
			if !strings.Contains(config, "::abcdef.0000000000000000\n") || !strings.Contains(config, "- "+
				"provider-id=linode://4711\n") {
				t.Errorf("left is\n%s", config)
			}
			if files := m.secret(); len(files) > 0 {
				t.Errorf("the token's secret is in %q", files)
			}
			calls := m.read("/world/calls")
			if !strings.Contains(calls, "systemctl enable k3s-agent\nsystemctl restart --no-block k3s-agent\n") {
				t.Errorf("calls\n%s", calls)
			}
			if said, failed := m.runs(); failed || said != "" || m.read("/world/calls") != calls {
				t.Errorf("run again: %s%s", said, m.read("/world/calls"))
			}
		})
	}
}

// TestMachineReportsMissingPrograms: it does so on its console, which may be all that one can see of it.
func TestMachineReportsMissingPrograms(t *testing.T) {
	kubeadm, k3s := forKubeadm(t), forK3s(t)
	empty := func(files []file, path string) []file {
		return append(files[:len(files):len(files)], file{Path: path})
	}
	const wait, never = "", "wait_seconds 10; exit 7"
	for i, c := range []struct {
		files    []file
		programs map[string]string
		want     string
		within   int // seconds
	}{
		{kubeadm, map[string]string{"curl": metadata}, "kubeadm is not in this image", 1},
		{kubeadm, map[string]string{"kubeadm": ""}, "neither curl nor wget is in this image", 1},
		{kubeadm, map[string]string{"kubeadm": "", "curl": never}, "does not return the ID of this Linode", 330},
		{kubeadm, map[string]string{"kubeadm": "", "wget": never}, "does not return the ID of this Linode", 330},
		{kubeadm, map[string]string{"kubeadm": "", "curl": "echo no: id"}, "does not return the ID", 330},
		{kubeadm, map[string]string{"kubeadm": "exit 1", "curl": metadata}, "kubeadm join has failed for 12 minutes", 730},
		{kubeadm, map[string]string{"kubeadm": `[ "$1" = reset ] || wait_seconds 50; exit 1`, "curl": metadata}, "failed for 12 minutes", 780},
		{empty(kubeadm, joinFile), map[string]string{"kubeadm": "", "curl": metadata}, "join.yaml is missing or empty", 1},
		{kubeadm[len(kubeadm)-2:], map[string]string{"kubeadm": "", "curl": metadata}, "join.yaml is missing or empty", 1},
		{k3s, map[string]string{"curl": metadata}, "k3s is not in this image", 1},
		{k3s, map[string]string{"curl": metadata, "k3s": "", "systemctl": "exit 1"}, "no unit k3s-agent", 1},
		{k3s, map[string]string{"curl": metadata, "k3s": ""}, "k3s-agent has no certificate", 1820},
		{empty(k3s, k3sFile), map[string]string{"curl": metadata, "k3s": ""}, "config.yaml is missing or empty", 1},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			m := boots(t, c.files, c.programs)
			m.program("timeout", `wait=$1; shift; exec "$@"`)
			m.write("/dev/console", wait)
			said, failed := m.runs()
			if !failed || !strings.Contains(said, c.want) || !strings.Contains(m.read("/dev/console"), c.want) {
				t.Errorf("said %s, on the console %s", said, m.read("/dev/console"))
			}
			if n := m.seconds(); n > c.within {
				t.Errorf("reports it after %d seconds", n)
			}
			for call := range strings.Lines(m.read("/world/calls")) {
				if strings.HasPrefix(call, "wget") && !strings.Contains(call, " --tries 1 ") {
					t.Errorf("GNU wget tries 20 times: %s", call)
				}
			}
		})
	}
}

// TestMachineJoinsWithoutKernelSettings: kubeadm says what it does not like.
func TestMachineJoinsWithoutKernelSettings(t *testing.T) {
	m := boots(t, forKubeadm(t), map[string]string{"curl": metadata, "kubeadm": ""})
	m.write("/etc/sysctl.d", "no directory")
	if err := os.RemoveAll(filepath.Join(m.dir, "/proc/sys")); err != nil {
		t.Fatal(err)
	}
	said, failed := m.runs()
	if failed || !strings.Contains(said, "net.ipv4.ip_forward cannot be "+
		"set") || !strings.Contains(said, "99-lkeplan.conf cannot be written") {
		t.Error(said)
	}
}

// TestMachineForwardsIPv6ForAnEndpointOfIPv6: kubeadm asks for it then.
func TestMachineForwardsIPv6ForAnEndpointOfIPv6(t *testing.T) {
	const path = "/proc/sys/net/ipv6/conf/default/forwarding"
	for server, want := range map[string]string{"https://[fd00::1]:6443": "1\n", "https://10.0.0.2:6443": "0\n"} {
		j := sample()
		j.Server = server
		m := boots(t, filesOf(t, j, checked.kubeadmFiles), map[string]string{"curl": metadata, "kubeadm": ""})
		m.write(path, "0\n")
		if said, failed := m.runs(); failed || m.read(path) != want {
			t.Errorf("%s: %s%s", server, m.read(path), said)
		}
	}
}

// TestKubeletThatHasItsCertificateIsNotReset plays kubeadm that fails after the kubelet has joined.
func TestKubeletThatHasItsCertificateIsNotReset(t *testing.T) {
	const certificate = `
mkdir -p /etc/kubernetes /var/lib/kubelet/pki
for f in /etc/kubernetes/kubelet.conf /var/lib/kubelet/config.yaml /var/lib/kubelet/pki/kubelet-client-current.pem; do echo x >"$f"; done
`
	for name, c := range map[string]struct {
		kubeadm, systemctl, sleep string
		failed, quiet             bool
	}{
		"it runs": {quiet: true, kubeadm: "echo ok >/world/healthz" + certificate + "exit 1"},
		"it runs soon": {kubeadm: certificate + "exit 1", sleep: "[ ! -e /etc/kubernetes/kubelet.conf ] || echo ok " +
			">/world/healthz", quiet: true},
		"it runs later":      {kubeadm: certificate + "exit 1", sleep: `[ "$1" = 5 ] || echo ok >/world/healthz`},
		"it never runs":      {kubeadm: certificate + "exit 1", failed: true},
		"it was about to be": {quiet: true, kubeadm: "exit 1", systemctl: "echo ok >/world/healthz" + certificate},
	} {
		t.Run(name, func(t *testing.T) {
			m := boots(t, forKubeadm(t), map[string]string{
				"curl": metadata, "kubeadm": c.kubeadm, "systemctl": c.systemctl, "sleep": `wait_seconds "$1"` + "\n" + c.sleep,
			})
			m.write("/world/journal", `E1127 01:02:03.4  324 run.go:72] "command failed" err="running with swap on"`+"\n")
			said, failed := m.runs()
			if failed != c.failed || strings.Contains(said, "has joined") == failed {
				t.Errorf("failed: %t, said %s", failed, said)
			}
			if calls := m.read("/world/calls"); strings.Contains(calls, "kubeadm "+
				"reset") || strings.Count(calls, "kubeadm join") != 1 {
				t.Errorf("calls\n%s", calls)
			}
			if c.quiet == strings.Contains(said, `kubelet: running with swap on`) {
				t.Errorf("why is not said: %s", said)
			}
			// At the next boot it has joined, even if the kubelet fails.
			if said, failed := m.runs(); failed || m.read(joinFile) != "" || len(m.secret()) > 0 {
				t.Errorf("next boot: %s%q", said, m.secret())
			}
		})
	}
}

// TestImageOfAMachineThatHadJoined: its certificate is another machine's, unless cloud-init has only written the files
// of this machine once more.
func TestImageOfAMachineThatHadJoined(t *testing.T) {
	for id, reset := range map[string]int{`47"`: 1, `47110"`: 1, `4711"`: 0, "4711": 0, "4711 --x=y\"": 0} {
		m := boots(t, forKubeadm(t), map[string]string{"curl": metadata, "kubeadm": `
			[ "$1" = join ] || rm /etc/kubernetes/kubelet.conf`})
		m.write("/etc/kubernetes/kubelet.conf", "x")
		m.write("/var/lib/kubelet/pki/kubelet-client-current.pem", "x")
		m.write("/var/lib/kubelet/kubeadm-flags.env", `KUBELET_KUBEADM_ARGS="--a=b --provider-id=linode://`+id+"\n")
		said, failed := m.runs()
		calls := m.read("/world/calls")
		if failed || strings.Count(calls, "kubeadm reset") != reset || strings.Count(calls, "kubeadm join") != reset {
			t.Errorf("%s: %s%s", id, said, calls)
		}
	}
}

// TestImageOfAnAgentThatHadJoined: the certificate in the image is of another machine. The agent gets its own
// before the token goes.
func TestImageOfAnAgentThatHadJoined(t *testing.T) {
	m := boots(t, forK3s(t), map[string]string{"curl": metadata, "k3s": "", "systemctl": `
		[ "$1" != restart ] || (wait_seconds 7; mkdir -p /var/lib/rancher/k3s/agent; grep -q 0000000000000000 /etc/rancher/k3s/config.yaml || echo new >/var/lib/rancher/k3s/agent/client-kubelet.crt)`})
	m.write("/world/healthz", "ok")
	m.write("/var/lib/rancher/k3s/agent/client-kubelet.crt", "of another")
	m.write("/var/lib/rancher/k3s/agent/client-kubelet.key", "of another")
	said, failed := m.runs()
	if got := m.read("/var/lib/rancher/k3s/agent/client-kubelet.crt"); failed || got != "new\n" {
		t.Errorf("the certificate is %q:\n%s%s", got, said, m.read("/world/calls"))
	}
	if said, failed := m.runs(); failed || strings.Count(m.read("/world/calls"), "systemctl restart") != 1 {
		t.Errorf("at the next boot: %s%s", said, m.read("/world/calls"))
	}
}

// TestMachineReportsReadOnlyDisk: a file system that is full or read-only ends the script, which says at what.
func TestMachineReportsReadOnlyDisk(t *testing.T) {
	m := boots(t, forKubeadm(t), map[string]string{"curl": metadata, "kubeadm": ""})
	m.write("/etc/lkeplan/join.yaml.new/full", "") // sed cannot write a directory
	said, failed := m.runs()
	texts := m.reported()
	want := "while it wrote "
	if !failed || len(texts) != 1 || !strings.Contains(texts[0], want) || !strings.Contains(said, "lkeplan: the script "+
		"ended") {
		t.Errorf("reported %q, said\n%s", texts, said)
	}
}

// reported are the texts that have reached the API server.
func (m machine) reported() (texts []string) {
	for line := range strings.Lines(m.read("/world/reports")) {
		var csr certificatesv1.CertificateSigningRequest
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&csr); err != nil {
			m.t.Fatalf("%v\n%s", err, line)
		}
		if csr.Kind != "CertificateSigningRequest" || csr.APIVersion != "certificates.k8s.io/v1" ||
			csr.GenerateName != "lkeplan-report-" || csr.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName ||
			len(csr.Spec.Usages) != 1 || csr.Spec.Usages[0] != certificatesv1.UsageClientAuth {
			m.t.Errorf("made %s", line)
		}
		texts = append(texts, csr.Annotations["lkeplan.dev/join-failure"])
	}
	return texts
}

func TestMachineReportsWhyItDoesNotJoin(t *testing.T) {
	const (
		kubelet = "mkdir -p /var/lib/kubelet; echo x >/var/lib/kubelet/config.yaml; echo 'error: execution phase " +
			"kubelet-wait-bootstrap: failed' >&2; exit 1"
		preamble = "E1127 01:02:03.4  324 server.go:7] \"not this\"\n"
	)
	for name, c := range map[string]struct {
		kubeadm, journal, healthz string
		active                    bool // the kubelet runs, healthy or not
		want                      string
	}{
		"preflight": {kubeadm: `printf '\t[WARNING Swap]: swap\nerror execution phase preflight: [preflight] Some fatal errors occurred:\n\t[ERROR A]: a\n\t[ERROR B]: b "c"\\d\n[preflight] If you know\n' >&2; exit 1`,
			want: `kubeadm join: [ERROR A]: a [ERROR B]: b "c"\d`},
		"its error": {kubeadm: "echo 'error: first'; echo 'error: couldn'\\''t validate'; echo To see the stack; " +
			"exit 1", want: "kubeadm join: error: couldn't validate"},
		"before 1.36": {kubeadm: "echo 'error execution phase x: no'; exit 1", want: "kubeadm join: error execution " +
			"phase x: no"},
		"killed":     {kubeadm: "kill -9 $$", want: "kubeadm join: ended with status 137"},
		"no kubelet": {kubeadm: "exit 1", journal: preamble, want: "kubeadm join: ended with status 1"},
		"kubelet":    {kubeadm: kubelet, journal: preamble + `E1127 01:02:04.123456     324 run.go:72] "command failed" err="failed to run Kubelet: running with swap on is not supported"` + "\n" + preamble, want: "kubelet: failed to run Kubelet: running with swap on is not supported"},
		"its flags": {kubeadm: kubelet, journal: "Error: unknown flag: --x\nUsage:\n", want: "kubelet: Error: " +
			"unknown flag: --x"},
		"its errors": {kubeadm: kubelet, journal: "I1127 x] y\n" + preamble, want: `kubelet: "not this"`},
		"it still starts": {kubeadm: kubelet, journal: preamble, active: true, want: "kubeadm join: error: execution " +
			"phase kubelet-wait-bootstrap: failed"},
		"a panic": {kubeadm: kubelet, journal: "panic: oh\n" + preamble, want: "kubelet: panic: oh"},
		"before kubeadm": {kubeadm: kubelet, journal: `E1127 01:02:04.1     324 run.go:72] "command failed" err="failed to load kubelet config file, path: /var/lib/kubelet/config.yaml, error: open: no such file or directory"` + "\n",
			want: "kubeadm join: error: execution phase kubelet-wait-bootstrap: failed"},
		"it runs": {kubeadm: kubelet, journal: preamble, healthz: "ok", want: "kubeadm join: error: execution " +
			"phase kubelet-wait-bootstrap: failed"},
		"control": {kubeadm: `printf 'error: a\001\033[2J\r\tb\200\303\244\n'; exit 1`, want: "kubeadm join: " +
			"error: a??[2J? b???"},
		"the token": {kubeadm: "echo error: token abcdef.0123456789abcdef, 0123456789abcdef; exit " +
			"1", want: "kubeadm join: error: token abcdef.(secret), (secret)"},
		"a long one": {kubeadm: "printf 'error: '; n=0; while [ $n -lt 300 ]; do printf abcdefgh; n=$((n + 1)); done; " +
			"echo; exit 1", want: ("kubeadm join: error: " + strings.Repeat("abcdefgh", 300))[:800]},
		"no words": {kubeadm: "printf '%s\\n' 'error: $(reboot) `reboot` %s %n \\n \"'\\\\; exit " +
			"1", want: "kubeadm join: error: $(reboot) `reboot` %s %n \\n \"\\"},
		"another number": {kubeadm: "echo x >>/world/n; echo error: after $(grep -c x /world/n).0$(grep -c x /world/n) s; " +
			"exit 1", want: "kubeadm join: error: after 1.01 s"},
	} {
		t.Run(name, func(t *testing.T) {
			m := boots(t, forKubeadm(t), map[string]string{"curl": metadata, "kubeadm": "[ $1 = join ] || exit " +
				"0\nwait_seconds 300\n" + c.kubeadm,
				"systemctl": `[ "$*" != "is-active --quiet kubelet" ] || [ -e /world/active ]`})
			if c.active {
				m.write("/world/active", "")
			}
			m.write("/world/journal", c.journal)
			m.write("/world/healthz", c.healthz)
			said, failed := m.runs()
			texts := m.reported()
			if !failed || len(texts) != 2 || texts[0] != c.want || strings.Count(said, "lkeplan: "+c.want+"\n") != 1 {
				t.Fatalf("reported %q, said\n%s", texts, said)
			}
			if !strings.HasPrefix(texts[1], "kubeadm join has failed for 12 minutes: "+c.want[:min(20, len(c.want))]) {
				t.Errorf("reported last: %q", texts[1])
			}
			if strings.Contains(m.read("/world/calls"), "0123456789abcdef") {
				t.Error("the secret is an argument")
			}
		})
	}
}

// TestMachineReportsTenTimesAtMost, and again what did not reach the API server.
func TestMachineReportsTenTimesAtMost(t *testing.T) {
	word := `n=$(grep -c . /world/tries); echo "$n" | sed -e 's/0/a/g;s/1/b/g;s/2/c/g;s/3/d/g;s/4/e/g;s/5/f/g;s/6/g/g;s/7/h/g;s/8/i/g;s/9/j/g'`
	m := boots(t, forKubeadm(t), map[string]string{"curl": metadata, "kubeadm": `
		[ "$1" = join ] || exit 0
		echo x >>/world/tries
		echo "error: $(` + word + `)"
		exit 1`})
	if said, failed := m.runs(); !failed || len(m.reported()) != 10 {
		t.Errorf("%d reports\n%s", len(m.reported()), said)
	}

	m = boots(t, forKubeadm(t), map[string]string{"curl": metadata, "kubeadm": `
		[ "$1" = join ] || exit 0
		echo x >>/world/tries
		[ -z "$(sed -n 4p /world/tries)" ] || rm -f /world/unreachable
		[ -z "$(sed -n 6p /world/tries)" ] || exit 0
		echo error: no; exit 1`})
	m.write("/world/unreachable", "")
	if said, failed := m.runs(); failed || len(m.reported()) != 4 || strings.Count(said, "lkeplan: kubeadm join") != 1 {
		t.Errorf("%q\n%s", m.reported(), said)
	}
	m = boots(t, forKubeadm(t)[:2], map[string]string{"curl": metadata, "kubeadm": "exit 1"}) // without the CA
	if said, failed := m.runs(); !failed || len(m.reported()) != 0 || !strings.Contains(said, "lkeplan: kubeadm join: "+
		"ended") {
		t.Errorf("%q\n%s", m.reported(), said)
	}
}

func TestMachineWithK3sReportsWhyItDoesNotJoin(t *testing.T) {
	for name, c := range map[string]struct {
		sleep   string // what happens after five minutes
		want    string
		seconds int
	}{
		"no certificate":  {"certificate; echo ok >/world/healthz", "k3s-agent has no certificate: ", 310},
		"its kubelet":     {"echo ok >/world/healthz", "the kubelet of k3s-agent is not healthy: ", 310},
		"asked elsewhere": {":", "the kubelet of k3s-agent is not healthy: ", 730},
	} {
		t.Run(name, func(t *testing.T) {
			const certificate = "mkdir -p /var/lib/rancher/k3s/agent; echo x >/var/lib/rancher/k3s/agent/client-kubelet.crt"
			programs := map[string]string{"curl": metadata, "k3s": "", "sleep": `
				certificate() { ` + certificate + `; }
				wait_seconds "$1"
				read -r up _ </proc/uptime
				[ "${up%%.*}" -lt 300 ] || { ` + c.sleep + `
				}`}
			if name != "no certificate" {
				programs["systemctl"] = certificate
			}
			m := boots(t, forK3s(t), programs)
			m.write("/world/journal", `time="2026-11-27T01:02:03Z" level=info msg="Starting k3s agent"
time="2026-11-27T01:02:04Z" level=error msg="Failed to validate connection to cluster at https://10.0.0.2:6443: token abcdef.0123456789abcdef is no good"
time="2026-11-27T01:02:05Z" level=info msg="Connecting"
`)
			said, failed := m.runs()
			want := c.want + `level=error msg="Failed to validate connection to cluster at https://10.0.0.2:6443: token abcdef.(secret) is no good"`
			if texts := m.reported(); failed || len(texts) != 1 || texts[0] != want || !strings.Contains(said, "has joined") {
				t.Errorf("reported %q\n%s", texts, said)
			}
			if n := m.seconds(); n > c.seconds {
				t.Errorf("has joined after %d seconds", n)
			}
		})
	}
}

// TestReportCarriesARequestForNothing: the API server takes requests that are whole alone.
func TestReportCarriesARequestForNothing(t *testing.T) {
	found := regexp.MustCompile(`(?m)^request=(\S+)$`).FindStringSubmatch(machineScript)
	if found == nil {
		t.Fatal("there is none")
	}
	text, err := base64.StdEncoding.DecodeString(found[1])
	if err != nil {
		t.Fatal(err)
	}
	block, rest := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE REQUEST" || len(rest) > 0 {
		t.Fatalf("%s", text)
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if err := request.CheckSignature(); err != nil {
		t.Error(err)
	}
	if got := request.Subject.String(); got != "CN=lkeplan:join-report" {
		t.Errorf("it is for %s", got)
	}
	if len(request.DNSNames)+len(request.IPAddresses)+len(request.Extensions) > 0 {
		t.Errorf("%+v", request)
	}
}
