package stack

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/lkeplan/lkeplan/cmd/sandbox/binaries"
)

// The components, and the administrator, by the names of their logs.
const (
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	kwok              = "kwok"
	linode            = "linode-simulator"
	sourceController  = "source-controller"
	admin             = "admin"
)

// apiRate is the number of requests that a component may send per second. The defaults (20 to 50) protect a shared
// API server; here they would only slow down a burst of pods.
const apiRate = "1000"

// podReadyAgain is a stage that KWOK does not come with.
//
//go:embed pod-ready-again.yaml
var podReadyAgain []byte

// component describes how a process is started.
type component struct {
	name string
	// program is the name of a program in the binaries; "" means the sandbox's own.
	program string
	// ports are the names of its ports.
	ports []string
	// account is its user for the API server; etcd and the API server have none.
	account user
	args    func(w wiring) []string
}

// wiring has the values that a component's arguments can refer to.
type wiring struct {
	layout
	// port finds a port of a component that was started before, or is about to be.
	port func(component, name string) int
	// stages are the files with KWOK's stages.
	stages []string
	// audit makes the API server log each request.
	audit bool
}

func (w wiring) url(scheme, component, name string) string {
	return scheme + "://" + address(w.port(component, name))
}

// components returns all possible components, in the order in which they are started. Each has its own account, so
// that logs and managed fields show who did what. kube-controller-manager is an administrator, because its own role
// is enough only with a service account for each of its controllers, which would take longer to start.
func components() []component {
	return []component{
		{name: etcd, program: binaries.Etcd, ports: []string{"client", "peer", "health"}, args: etcdArgs},
		{name: apiServer, program: binaries.APIServer, ports: []string{"api"}, args: apiServerArgs},
		{name: controllerManager, program: binaries.ControllerManager, ports: []string{"health"},
			account: user{name: "system:kube-controller-manager", group: masters}, args: controllerManagerArgs},
		{name: scheduler, program: binaries.Scheduler, ports: []string{"health"},
			account: user{name: "system:kube-scheduler"}, args: schedulerArgs},
		{name: kwok, program: binaries.KWOK, ports: []string{"health"},
			account: user{name: "kwok", group: masters}, args: kwokArgs},
		{name: linode, ports: []string{"api"},
			account: user{name: "linode-simulator", group: masters}, args: linodeArgs},
		{name: sourceController, program: binaries.SourceController, ports: []string{"artifacts", "health"},
			account: user{name: "source-controller", group: masters}, args: sourceControllerArgs},
	}
}

// Names lists the components in the order in which they are started.
func Names() (names []string) {
	for _, c := range components() {
		names = append(names, c.name)
	}
	return names
}

// etcdArgs trade durability for speed, because the data lives only as long as the sandbox. The certificates keep
// out other clients, such as the API server of another sandbox that has taken over the port.
func etcdArgs(w wiring) []string {
	client, peer := w.url("https", etcd, "client"), w.url("http", etcd, "peer")
	return []string{
		"--name=sandbox",
		"--data-dir=" + w.etcdData(),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-metrics-urls=" + w.url("http", etcd, "health"),
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=sandbox=" + peer,
		"--cert-file=" + w.servingCert(),
		"--key-file=" + w.servingKey(),
		"--trusted-ca-file=" + w.caCert(),
		"--client-cert-auth",
		"--unsafe-no-fsync",
		"--log-level=warn",
	}
}

func apiServerArgs(w wiring) []string {
	args := []string{
		"--etcd-servers=" + w.url("https", etcd, "client"),
		"--etcd-cafile=" + w.caCert(),
		"--etcd-certfile=" + w.servingCert(),
		"--etcd-keyfile=" + w.servingKey(),
		"--bind-address=" + loopback,
		fmt.Sprintf("--secure-port=%d", w.port(apiServer, "api")),
		"--cert-dir=" + w.path("pki"),
		"--tls-cert-file=" + w.servingCert(),
		"--tls-private-key-file=" + w.servingKey(),
		"--token-auth-file=" + w.tokens(),
		// Only machines that join have a certificate.
		"--client-ca-file=" + w.caCert(),
		// What kubeadm enables in addition to the defaults.
		"--authorization-mode=Node,RBAC",
		"--enable-bootstrap-token-auth",
		"--enable-admission-plugins=NodeRestriction",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + w.accountKey(),
		"--service-account-signing-key-file=" + w.accountKey(),
		"--service-cluster-ip-range=10.128.0.0/16",
		"--allow-privileged=true",
		// The loopback address is not a valid endpoint, so the kubernetes service has no endpoints; no pod here
		// would use them.
		"--advertise-address=" + loopback,
		"--endpoint-reconciler-type=none",
		// Nothing is throttled, because bursts are the purpose of the sandbox.
		"--enable-priority-and-fairness=false",
		"--max-requests-inflight=0",
		"--max-mutating-requests-inflight=0",
	}
	if w.audit {
		args = append(args, "--audit-policy-file="+w.auditPolicy(), "--audit-log-path="+w.auditLog())
	}
	return args
}

// clientArgs returns the arguments that kube-controller-manager and kube-scheduler have in common.
func clientArgs(w wiring, name string) []string {
	return []string{
		"--kubeconfig=" + w.configOf(name),
		"--authentication-kubeconfig=" + w.configOf(name),
		"--authorization-kubeconfig=" + w.configOf(name),
		"--bind-address=" + loopback,
		fmt.Sprintf("--secure-port=%d", w.port(name, "health")),
		"--tls-cert-file=" + w.servingCert(),
		"--tls-private-key-file=" + w.servingKey(),
		"--leader-elect=false",
		"--kube-api-qps=" + apiRate,
		"--kube-api-burst=" + apiRate,
	}
}

func controllerManagerArgs(w wiring) []string {
	return append(clientArgs(w, controllerManager),
		"--service-account-private-key-file="+w.accountKey(),
		"--root-ca-file="+w.caCert(),
		"--cluster-signing-cert-file="+w.caCert(),
		"--cluster-signing-key-file="+w.caKey(),
		// What kubeadm enables in addition to the defaults: they sign cluster-info with the tokens
		// of machines that join, and delete tokens that have expired.
		"--controllers=*,bootstrapsigner,tokencleaner",
		// It creates this directory, and the default one belongs to the host.
		"--flex-volume-plugin-dir="+w.path("home", "flexvolume"),
		// KWOK renews the nodes' leases. The grace is longer than the default
		// so that nodes stay ready on a machine that is too busy to renew in time.
		"--node-monitor-grace-period=2m",
	)
}

func schedulerArgs(w wiring) []string { return clientArgs(w, scheduler) }

func kwokArgs(w wiring) []string {
	args := []string{
		"--kubeconfig=" + w.configOf(kwok),
		"--manage-all-nodes=true",
		"--node-lease-duration-seconds=40",
		// The addresses of pods are those of LKE; the default has room for 254.
		"--cidr=10.2.0.1/16",
		"--node-ip=" + loopback,
		"--node-port=0",
		"--server-address=" + address(w.port(kwok, "health")),
	}
	for _, stage := range w.stages {
		// KWOK splits the value at commas, which a path may contain, unless it is quoted.
		args = append(args, `--config="`+strings.ReplaceAll(stage, `"`, `""`)+`"`)
	}
	return args
}

func linodeArgs(w wiring) []string {
	return []string{
		SimulateCommand,
		"--config=" + w.simulator(),
		"--address=" + address(w.port(linode, "api")),
		"--kubeconfig=" + w.configOf(linode),
	}
}

// SimulateCommand is the hidden command of the sandbox's own binary that runs the
// Linode simulator.
const SimulateCommand = "simulate"
