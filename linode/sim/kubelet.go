package sim

// A machine that joins a cluster on its own reads the user data with which it was created, checks that the API
// server is the right one, gets a certificate signed, and registers the Node, in the way of kubeadm, k3s and the
// kubelet. It has only the rights of its user data, so that what fails here fails with a real API server as well.
// It runs no pods, and reports nothing about the Node afterwards; KWOK does that. It does not use the Linode API.

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// The steps of a machine that joins its cluster.
const (
	Boot         = "boot" // not started: it has no user data that joins
	Discovery    = "discovery"
	Certificate  = "certificate"
	Registration = "registration"
	Joined       = "joined"
)

// JoinStatus is the progress of a machine, and what blocks it.
type JoinStatus struct {
	Step    string `json:"step"`
	Problem string `json:"problem,omitempty"` // error of the last try of the step; "" during the first try
	Tries   int    `json:"tries,omitempty"`   // number of failed tries, of all steps
	Node    string `json:"node,omitempty"`    // the name of its Node, once it has joined
	Joins   int    `json:"joins,omitempty"`   // number of registrations: one for each start of its kubelet
}

// Dial creates a client of an API server, with exactly those credentials.
type Dial func(*rest.Config) (kubernetes.Interface, error)

// Kubelet joins one machine to its cluster.
type Kubelet struct {
	Linode     int // its id
	Has        catalog.Resources
	Address    string // address of its first interface
	MachineID  string
	Version    string // of the kubelet
	UserData   []byte
	Swap       int    // MB
	RegisterAs string // another node name that it registers with, with its own certificate

	// Dial creates clients; nil creates real ones.
	Dial Dial
	// Report is called for each change.
	Report func(JoinStatus)

	status      JoinStatus
	join        *Join
	cluster     *kubeletCluster
	key         *ecdsa.PrivateKey
	certificate []byte // PEM
}

// step is one step of joining. The pause after a failed try grows from first to last.
type step struct {
	name        string
	do          func(context.Context) error
	first, last time.Duration
}

// steps returns the steps until the machine has joined. The pauses are those of kubeadm's discovery, of systemd
// after the kubelet has ended, and of a kubelet that registers. kubeadm gives up after five minutes, and the user
// data decides what happens then; here the machine keeps trying.
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

// Run takes all remaining steps, each until it succeeds or ctx ends. If the Node is gone, a restarted kubelet
// registers it again with its certificate.
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
		if !k.runStep(ctx, s) {
			return
		}
	}
	k.status.Node, k.status.Joins = join.Name, k.status.Joins+1
	k.say(Joined, "")
}

// runStep reports whether a step was done before ctx ended.
func (k *Kubelet) runStep(ctx context.Context, s step) bool {
	k.say(s.name, "")
	for wait := s.first; ; wait = min(2*wait, s.last) {
		err := s.do(ctx)
		if err == nil || ctx.Err() != nil {
			return err == nil
		}
		k.fail(s.name, err)
		sleepOrChange(ctx, wait, nil)
		if ctx.Err() != nil {
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
