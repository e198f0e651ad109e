package bootstrap

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A kubeadm and a k3s-agent that leave behind what the real ones do when the power is cut, and refuse what those refuse.
// step is a program that does nothing.
const (
	cutKubeadm = `
case $1 in
reset)
	if [ -s /etc/kubernetes/kubelet.conf ] && [ -s /var/lib/kubelet/pki/kubelet-client-current.pem ]; then echo x >/world/destroyed; fi
	rm -rf /var/lib/kubelet/pki; rm -f /var/lib/kubelet/config.yaml
	rm -f /etc/kubernetes/pki/ca.crt
	rm -f /etc/kubernetes/kubelet.conf
	rm -f /etc/kubernetes/bootstrap-kubelet.conf
	exit ;;
esac
for f in kubelet.conf bootstrap-kubelet.conf pki/ca.crt; do
	[ ! -e /etc/kubernetes/$f ] || { echo "error: $f already exists"; exit 1; }
done
if grep -q @LINODE_ID@ "$3"; then exit 1; fi
mkdir -p /etc/kubernetes/pki /var/lib/kubelet/pki
cat "$3" >/etc/kubernetes/bootstrap-kubelet.conf
echo x >/etc/kubernetes/pki/ca.crt; step
echo x >/var/lib/kubelet/config.yaml; step
echo x >/etc/kubernetes/kubelet.conf; step
echo x >/var/lib/kubelet/pki/kubelet-client-current.pem; step
rm -f /etc/kubernetes/bootstrap-kubelet.conf`
	cutSystemctl = `
case $1 in
cat) exit ;;
restart) ! grep -q @LINODE_ID@ /etc/rancher/k3s/config.yaml || exit 1; echo x >/world/started ;;
esac`
	cutSleep = `
wait_seconds "$1"
[ ! -e /world/started ] || { mkdir -p /var/lib/rancher/k3s/agent; echo x >/var/lib/rancher/k3s/agent/client-kubelet.crt; }`
)

// TestPowerCutAtAnyCommand cuts the power before each program that a script runs, and boots again: with what was written,
// without what was written since the last sync, without its content alone, and with the file of the token written and
// others not. The machine joins and has no token then.
func TestPowerCutAtAnyCommand(t *testing.T) {
	for kind, c := range map[string]struct {
		files       []file
		join        string // the file with the token
		certificate string
	}{
		"kubeadm": {forKubeadm(t), joinFile, "/var/lib/kubelet/pki/kubelet-client-current.pem"},
		"k3s":     {forK3s(t), k3sFile, "/var/lib/rancher/k3s/agent/client-kubelet.crt"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			m := boots(t, c.files, map[string]string{
				"curl": metadata, "k3s": "", "kubeadm": cutKubeadm, "systemctl": cutSystemctl, "sleep": cutSleep, "step": "",
			})
			for path, text := range cached(t) {
				if strings.Contains(path, "obj.pkl") || strings.Contains(path, "user-data.txt") {
					m.write(path, text)
				}
			}
			m.write("/world/healthz", "ok")
			steps := m.cutAtEachStep()
			if len(steps) < 10 {
				t.Fatalf("%d steps", len(steps))
			}
			for _, step := range steps {
				for _, loss := range []string{"nothing", "all", "content", "others"} {
					m.restore(step, loss, c.join)
					said, failed := m.runs()
					if files := m.secret(); failed || len(files) > 0 || m.read(c.certificate) == "" || m.read(c.join+".new") != "" {
						t.Errorf("step %s, lost is %s: the secret is in %q, certificate %q\n%s", filepath.Base(step), loss, files,
							m.read(c.certificate), said)
					}
				}
			}
			if m.read("/world/destroyed") != "" {
				t.Error("kubeadm reset has taken the certificate away")
			}
		})
	}
}

// disk are the directories that outlive a boot.
var disk = []string{"etc", "var"}

// cutAtEachStep runs the script, and keeps what is on the disk before each program: as it is, in now, and as it was
// at the last sync.
func (m machine) cutAtEachStep() (steps []string) {
	m.t.Helper()
	kept, bin := m.t.TempDir(), filepath.Join(m.dir, "bin")
	for _, d := range disk { // what cloud-init has written, to begin with
		to := filepath.Join(kept, "synced", d)
		if err := os.MkdirAll(to, 0o700); err != nil {
			m.t.Fatal(err)
		}
		copyTree(m.t, filepath.Join(m.dir, d), to)
	}
	keep := func(to string) string {
		return "/bin/mkdir -p " + to + "; /bin/cp -a " + filepath.Join(m.dir, disk[0]) + " " + filepath.Join(m.dir, disk[1]) + " " + to + "\n"
	}
	whole := m.t.TempDir() // the programs as they are without that
	copyTree(m.t, bin, whole)
	for _, entry := range list(m.t, bin) {
		body := `
step=$(/bin/mktemp -d ` + kept + `/step.XXXXXX)
/bin/cp -a ` + kept + `/synced "$step"
` + keep(`"$step/now"`)
		if entry == "sync" {
			body += "/bin/rm -rf " + kept + "/synced\n" + keep(kept+"/synced")
		}
		if err := os.Remove(filepath.Join(bin, entry)); err != nil {
			m.t.Fatal(err)
		}
		m.write("/bin/"+entry, "#!/bin/sh\n"+body+`exec "`+filepath.Join(whole, entry)+"\" \"$@\"\n")
	}
	if said, failed := m.runs(); failed {
		m.t.Fatal(said)
	}
	if err := os.RemoveAll(bin); err != nil {
		m.t.Fatal(err)
	}
	copyTree(m.t, whole, bin)
	seen := map[string]bool{} // most programs change nothing on the disk
	for _, name := range list(m.t, kept) {
		step := filepath.Join(kept, name)
		var all strings.Builder
		each(m.t, step, func(path, text string) { all.WriteString(path + "\n" + text + "\n") })
		if strings.HasPrefix(name, "step.") && !seen[all.String()] {
			seen[all.String()] = true
			steps = append(steps, step)
		}
	}
	return steps
}

// restore boots the machine after the power was cut at a step.
func (m machine) restore(step, loss, join string) {
	m.t.Helper()
	for _, d := range []string{"etc", "var", "run", "world/started"} {
		if err := os.RemoveAll(filepath.Join(m.dir, d)); err != nil {
			m.t.Fatal(err)
		}
	}
	now, synced := filepath.Join(step, "now"), filepath.Join(step, "synced")
	switch loss {
	case "all":
		copyTree(m.t, synced, m.dir)
	case "others":
		copyTree(m.t, synced, m.dir)
		for _, path := range []string{join, join + ".new"} {
			if text, err := os.ReadFile(filepath.Join(now, path)); err == nil {
				m.write(path, string(text))
			} else if err := os.RemoveAll(filepath.Join(m.dir, path)); err != nil {
				m.t.Fatal(err)
			}
		}
	default:
		copyTree(m.t, now, m.dir)
	}
	if loss == "content" {
		written := map[string]bool{} // the contents that are on the disk, also under another name
		each(m.t, synced, func(_, text string) { written[text] = true })
		each(m.t, now, func(path, text string) {
			was, err := os.ReadFile(filepath.Join(synced, path))
			switch {
			case err == nil && len(was) == len(text): // overwritten in its place
				m.write(path, string(was))
			case !written[text]:
				m.write(path, "")
			}
		})
	}
	m.write("/proc/uptime", "10.00 5.00\n")
	m.write("/run/cloud-init/combined-cloud-config.json", strconv.Quote(m.read("/var/lib/cloud/instances/4711/user-data.txt")))
}

// each calls f for each file below a directory.
func each(t *testing.T, dir string, f func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		f(strings.TrimPrefix(path, dir), string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", from+"/.", to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
