//go:build linux

package machine

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/lkeplan/lkeplan/cmd/sandbox/process"
)

// The contents of a machine: the packages of Debian, without units that would change the host, and the files of root.
//
//go:embed all:image
var files embed.FS

const (
	suite = "trixie" // the first release whose cloud-init has the data source of Akamai
	// PodImage is the only container image of machines. Its program answers HTTP on port 8080 if its argument is
	// serve.
	PodImage = "lkeplan.invalid/inside:1"
)

// mirror returns the server with Debian's packages: $DEBIAN_MIRROR, or Debian's own.
func mirror() string {
	if m := os.Getenv("DEBIAN_MIRROR"); m != "" {
		return m
	}
	return "http://deb.debian.org/debian"
}

func text(path string) string {
	raw, err := files.ReadFile("image/" + path)
	if err != nil {
		panic(err) // it is part of the program
	}
	return string(raw)
}

// debian returns the directory of a Debian with all packages. If it does not exist, it is created below cache; one
// process creates it, and others wait.
func debian(ctx context.Context, cache string, say func(string, ...any)) (string, error) {
	packages := strings.Fields(text("packages"))
	sum := sha256.Sum256([]byte(suite + text("packages")))
	base := filepath.Join(cache, "debian-"+hex.EncodeToString(sum[:6]))
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	unlock, err := process.Lock(ctx, base+".lock", func() { say("another process makes %s; waiting for it", base) })
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(base); err == nil {
		return base, nil
	}
	tool, environment, err := mmdebstrap(ctx, cache)
	if err != nil {
		return "", err
	}
	const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
	if _, err := os.Stat(keyring); err != nil {
		return "", fmt.Errorf("%w: install the package debian-archive-keyring", err)
	}
	unfinished := base + ".unfinished"
	if err := os.RemoveAll(unfinished); err != nil {
		return "", err
	}
	say("making a Debian %s from %s (half a minute, once)", suite, mirror())
	// In separate namespaces no process and no mount remains if this process is killed.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private",
		tool, "--mode=root", "--variant=minbase", "--skip=check/signed-by", "--keyring="+keyring,
		"--include="+strings.Join(packages, ","), suite, unfinished, mirror())
	cmd.Env = append(os.Environ(), environment...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("make a Debian from %s: %w\n%s", mirror(), err, out), os.RemoveAll(unfinished))
	}
	return base, os.Rename(unfinished, base)
}

// mmdebstrap returns the program that creates a Debian, and the environment that it needs. If it is not installed,
// its package is unpacked below cache.
func mmdebstrap(ctx context.Context, cache string) (path string, environment []string, err error) {
	if path, err := exec.LookPath("mmdebstrap"); err == nil {
		return path, nil, nil
	}
	dir := filepath.Join(cache, "mmdebstrap")
	path, environment = filepath.Join(dir, "usr/bin/mmdebstrap"), []string{"PERL5LIB=" + filepath.Join(dir, "usr/share/perl5")}
	if _, err := os.Stat(path); err == nil {
		return path, environment, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", nil, err
	}
	for _, command := range []string{
		"apt-get update --quiet", "apt-get download mmdebstrap", "dpkg -x mmdebstrap_*.deb .",
	} {
		cmd := exec.CommandContext(ctx, "sh", "-c", command)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", nil, fmt.Errorf("install mmdebstrap, which makes the machines' image: %s: %w\n%s", command, err, out)
		}
	}
	return path, environment, nil
}

// addFiles writes the files of machines that are not in the packages of Debian, which are in base, into dir.
// programs are the paths of kubeadm, kubelet and inside.
func addFiles(base, dir string, programs map[string]string) error {
	root, err := fs.Sub(files, "image/root")
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, root); err != nil {
		return err
	}
	for name, at := range map[string]string{"kubelet": "usr/bin/kubelet", "kubeadm": "usr/libexec/kubeadm"} {
		raw, err := os.ReadFile(programs[name])
		if err == nil {
			err = write(filepath.Join(dir, at), raw, 0o755)
		}
		if err != nil {
			return err
		}
	}
	if err := os.Chmod(filepath.Join(dir, "usr/bin/kubeadm"), 0o755); err != nil {
		return err
	}
	const dmi = "usr/lib/python3/dist-packages/cloudinit/dmi.py"
	code, err := os.ReadFile(filepath.Join(base, dmi))
	if err != nil {
		return err
	}
	for at, content := range map[string]string{
		dmi: string(code) + text("dmi.py"), "etc/fstab": "", "etc/machine-id": "", "etc/hostname": "localhost\n",
		"etc/hosts": "127.0.0.1 localhost\n", "etc/resolv.conf": "", "etc/kubernetes/manifests/.keep": "", "var/log/journal/.keep": "",
	} {
		if err := write(filepath.Join(dir, at), []byte(content), 0o644); err != nil {
			return err
		}
	}
	units := filepath.Join(dir, "etc/systemd/system")
	for _, unit := range strings.Fields(text("masked")) {
		if err := os.Symlink("/dev/null", filepath.Join(units, unit)); err != nil {
			return err
		}
	}
	wanted := filepath.Join(units, "multi-user.target.wants")
	if err := os.MkdirAll(wanted, 0o755); err != nil {
		return err
	}
	for unit, at := range map[string]string{
		"kubelet.service": "/usr/lib/systemd/system/", "load-image.service": "/etc/systemd/system/",
	} {
		if err := os.Symlink(at+unit, filepath.Join(wanted, unit)); err != nil {
			return err
		}
	}
	return podImage(programs["inside"], filepath.Join(dir, "opt/inside.tar"))
}

func write(path string, content []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, mode)
}

// podImage writes PodImage with the program at a path.
func podImage(path, to string) error {
	program, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var layer bytes.Buffer
	t := tar.NewWriter(&layer)
	if err := t.WriteHeader(&tar.Header{Name: "inside", Mode: 0o755, Size: int64(len(program))}); err != nil {
		return err
	}
	if _, err := t.Write(program); err != nil {
		return err
	}
	if err := t.Close(); err != nil {
		return err
	}
	image, err := mutate.AppendLayers(empty.Image, static.NewLayer(layer.Bytes(), types.DockerLayer))
	if err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.Architecture, config.OS = "amd64", "linux"
	config.Config.Entrypoint, config.Config.User = []string{"/inside"}, "65535:65535"
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return err
	}
	tag, err := name.NewTag(PodImage)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return tarball.WriteToFile(to, tag, image)
}
