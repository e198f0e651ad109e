package sim

// A machine that joins a cluster on its own reads the user data that it was created with, finds out
// whether the API server is the right one, has a certificate signed, and registers the Node, each
// as kubeadm, k3s and the kubelet do. It has no rights but those that the user data give it, and
// what it is refused, a real API server refuses. It runs no pods and reports no more of the Node
// afterwards; KWOK does that. It does not use the Linode API.

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// The steps of a machine's way into its cluster.
const (
	Boot         = "boot" // nothing was begun: there are no user data that join
	Discovery    = "discovery"
	Certificate  = "certificate"
	Registration = "registration"
	Joined       = "joined"
)

// JoinStatus says how far a machine has come, and what keeps it there.
type JoinStatus struct {
	Step    string `json:"step"`
	Problem string `json:"problem,omitempty"` // of the last try of the step; "" while the first goes on
	Tries   int    `json:"tries,omitempty"`   // that have failed, of all steps
	Node    string `json:"node,omitempty"`    // the name of its Node, once it has joined
	Joins   int    `json:"joins,omitempty"`   // how many times it has registered: once each time that its kubelet starts
}

// Dial makes a client of an API server, with exactly those credentials.
type Dial func(*rest.Config) (kubernetes.Interface, error)

// Kubelet is the program of one machine.
type Kubelet struct {
	Linode    int // its id
	Has       catalog.Resources
	Address   string // of its first interface
	MachineID string
	Version   string // of the kubelet
	UserData  []byte
	Swap      int    // MB
	PosesAs   string // another name that it registers under, with its own certificate

	// Dial makes clients; nil makes real ones.
	Dial Dial
	// Report hears of each change.
	Report func(JoinStatus)

	status      JoinStatus
	join        *Join
	cluster     *kubeletCluster
	key         *ecdsa.PrivateKey
	certificate []byte // PEM
}

// step is one of the steps. How long a failed one waits grows from first to last.
type step struct {
	name        string
	do          func(context.Context) error
	first, last time.Duration
}

// steps are those before the machine has joined. The waits are those of kubeadm's discovery, of systemd where the
// kubelet has ended, and of a kubelet that registers. kubeadm stops after five minutes; what happens to the machine
// then is for its user data to say, and here it continues.
func (k *Kubelet) steps() []step {
	register := step{Registration, k.register, 200 * time.Millisecond, 7 * time.Second}
	if k.certificate != nil {
		return []step{register}
	}
	return []step{
		{Discovery, k.discover, 5 * time.Second, 5 * time.Second},
		{Certificate, k.certify, 10 * time.Second, 10 * time.Second},
		register,
	}
}

// Run takes all steps that are left, each until it succeeds, or ctx ends. A kubelet that runs again registers again,
// if its Node is gone, with the certificate that it has.
func (k *Kubelet) Run(ctx context.Context) {
	join, err := ReadUserData(k.UserData, k.Linode)
	switch {
	case err != nil:
		k.fail(Boot, err)
		return
	case join == nil:
		k.say(Boot, "nothing in its user data joins a cluster")
		return
	}
	k.join = join
	for _, s := range k.steps() {
		if !k.take(ctx, s) {
			return
		}
	}
	k.status.Node, k.status.Joins = join.Name, k.status.Joins+1
	k.say(Joined, "")
}

// take says whether a step was done before ctx ended.
func (k *Kubelet) take(ctx context.Context, s step) bool {
	k.say(s.name, "")
	for wait := s.first; ; wait = min(2*wait, s.last) {
		err := s.do(ctx)
		if err == nil || ctx.Err() != nil {
			return err == nil
		}
		k.fail(s.name, err)
		if sleep(ctx, wait, nil); ctx.Err() != nil {
			return false
		}
	}
}

func (k *Kubelet) fail(step string, err error) {
	k.status.Tries++
	k.say(step, err.Error())
}

func (k *Kubelet) say(step, problem string) {
	k.status.Step, k.status.Problem = step, problem
	k.Report(k.status)
}

func (k *Kubelet) dial(config *rest.Config) (kubernetes.Interface, error) {
	config.UserAgent = fmt.Sprintf("kubelet/%s", k.Version)
	config.QPS, config.Burst = -1, -1
	if k.Dial != nil {
		return k.Dial(config)
	}
	return kubernetes.NewForConfig(config)
}
