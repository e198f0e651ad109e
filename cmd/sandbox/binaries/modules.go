// Package binaries builds the programs of a sandbox: Store.Ensure returns the paths of the programs of some
// modules, such as ControlPlane, and first builds those that are missing.
//
// The programs are built from source by the go command, from small modules whose go.mod and go.sum are embedded
// here, so that a sandbox needs only Go and a module proxy. The package does not run the programs.
package binaries

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/mod/modfile"
)

//go:embed modules
var embedded embed.FS

// Module is a set of programs that are built from one go.mod.
type Module struct {
	Name string
	// Source has go.mod and go.sum as NAME.mod and NAME.sum, because a directory with a file called go.mod cannot
	// be embedded. nil means the embedded ones.
	Source fs.FS
	// From is the NAME of the two files; "" means Name.
	From string
	// Main is the required module whose version is the version of the set.
	Main     string
	Programs []Program
	// Stamp lists "variable=value" pairs for the linker.
	Stamp func(version string) []string
	// Assets are files of the modules' sources that the programs need.
	Assets []Asset
}

// Program is one executable.
type Program struct {
	Name, Package string
	// Output is what the go command calls the program, if not Name.
	Output string
	// Test means that the program is the test binary of the package.
	Test bool
}

// Asset is a file that is copied out of a module's source.
type Asset struct {
	Module, Path, Name string
}

// The names of programs and assets that other packages use.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kubectl           = "kubectl"
	KWOK              = "kwok"
	Kubeadm           = "kubeadm"
	Kubelet           = "kubelet"
	KarpenterSuite    = "karpenter-regression"
	SourceController  = "source-controller"
	// NotificationController runs in no sandbox: a test that needs it starts it.
	NotificationController = "notification-controller"
)

// Stages returns the names of KWOK's stages, which define how nodes and pods become ready and end.
func Stages() []string { return assets(kwok()) }

// FluxCRDs returns the CRDs of Flux's sources, alerts and receivers.
func FluxCRDs() []string { return assets(Flux()...) }

func assets(modules ...Module) []string {
	var names []string
	for _, m := range modules {
		for _, a := range m.Assets {
			names = append(names, a.Name)
		}
	}
	return names
}

// ControlPlane lists the modules every sandbox needs.
func ControlPlane() []Module {
	return []Module{kubernetes(), kwok()}
}

// Extras lists the modules that are only built when they are named.
func Extras() []Module {
	return []Module{karpenter(), flux(), notifier(), Machine()}
}

// Flux lists the additional modules of a sandbox with Flux.
func Flux() []Module {
	return []Module{flux(), notification()}
}

// flux returns the source-controller of Flux.
func flux() Module {
	const module = "github.com/fluxcd/source-controller"
	return Module{
		Name: "flux",
		Main: module,
		Programs: []Program{
			{Name: SourceController, Package: module},
		},
		Assets: crds(module, "source.toolkit.fluxcd.io_", "buckets", "externalartifacts", "gitrepositories",
			"helmcharts", "helmrepositories", "ocirepositories"),
	}
}

// notification has only the CRDs of Flux's notification-controller, because in a sandbox the program would have no
// one to notify.
func notification() Module {
	const module = "github.com/fluxcd/notification-controller"
	return Module{
		Name:   "flux-notification",
		Main:   module,
		Assets: crds(module, "notification.toolkit.fluxcd.io_", "alerts", "providers", "receivers"),
	}
}

// notifier is notification with the program.
func notifier() Module {
	m := notification()
	m.Programs = []Program{{Name: NotificationController, Package: m.Main}}
	return m
}

func crds(module, prefix string, plurals ...string) []Asset {
	var all []Asset
	for _, plural := range plurals {
		name := prefix + plural + ".yaml"
		all = append(all, Asset{Module: module, Path: "config/crd/bases/" + name, Name: name})
	}
	return all
}

// karpenter returns Karpenter's own suite of regression tests for providers.
func karpenter() Module {
	const module = "sigs.k8s.io/karpenter"
	return Module{
		Name: "karpenter",
		Main: module,
		Programs: []Program{
			{Name: KarpenterSuite, Package: module + "/test/suites/regression", Output: "regression.test", Test: true},
		},
	}
}

func kubernetes() Module {
	const kube = "k8s.io/kubernetes"
	return Module{
		Name: "kubernetes",
		Main: kube,
		Programs: []Program{
			{Name: Etcd, Package: "go.etcd.io/etcd/server/v3", Output: "server"},
			{Name: APIServer, Package: kube + "/cmd/kube-apiserver"},
			{Name: ControllerManager, Package: kube + "/cmd/kube-controller-manager"},
			{Name: Scheduler, Package: kube + "/cmd/kube-scheduler"},
			{Name: Kubectl, Package: kube + "/cmd/kubectl"},
		},
		Stamp: kubernetesVersion,
	}
}

// Machine returns the programs that a machine needs to join a cluster.
func Machine() Module {
	m := kubernetes()
	m.Name, m.From = "machine", m.Name
	m.Programs = []Program{
		{Name: Kubeadm, Package: m.Main + "/cmd/kubeadm"},
		{Name: Kubelet, Package: m.Main + "/cmd/kubelet"},
	}
	return m
}

// kubernetesVersion returns the linker variables that the release scripts set. Without them kubectl and the version
// endpoint report v0.0.0-master, which some clients reject.
func kubernetesVersion(version string) []string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	var pairs []string
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		pairs = append(pairs, pkg+".gitVersion="+version, pkg+".gitCommit=")
		if len(parts) == 3 {
			pairs = append(pairs, pkg+".gitMajor="+parts[0], pkg+".gitMinor="+parts[1])
		}
	}
	return pairs
}

func kwok() Module {
	const module = "sigs.k8s.io/kwok"
	stage := func(path, name string) Asset {
		return Asset{Module: module, Path: "kustomize/stage/" + path, Name: name}
	}
	return Module{
		Name: "kwok",
		Main: module,
		Programs: []Program{
			{Name: KWOK, Package: module + "/cmd/kwok"},
		},
		Assets: []Asset{
			stage("node/fast/node-initialize.yaml", "node-initialize.yaml"),
			stage("node/heartbeat-with-lease/node-heartbeat-with-lease.yaml", "node-heartbeat.yaml"),
			stage("pod/fast/pod-ready.yaml", "pod-ready.yaml"),
			stage("pod/fast/pod-complete.yaml", "pod-complete.yaml"),
			stage("pod/fast/pod-delete.yaml", "pod-delete.yaml"),
		},
	}
}

// source returns the module's two files.
func (m Module) source() (mod, sum []byte, err error) {
	files := m.Source
	if files == nil {
		if files, err = fs.Sub(embedded, "modules"); err != nil {
			return nil, nil, err
		}
	}
	name := cmp.Or(m.From, m.Name)
	if mod, err = fs.ReadFile(files, name+".mod"); err != nil {
		return nil, nil, err
	}
	sum, err = fs.ReadFile(files, name+".sum")
	return mod, sum, err
}

// version returns the version of the main module.
func (m Module) version() (string, error) {
	mod, _, err := m.source()
	if err != nil {
		return "", err
	}
	parsed, err := modfile.Parse(m.Name+".mod", mod, nil)
	if err != nil {
		return "", err
	}
	for _, r := range parsed.Require {
		if r.Mod.Path == m.Main {
			return r.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("module %s does not require %s", m.Name, m.Main)
}
