// Package stack runs the processes of a sandbox: a control plane and the simulated cloud. Up writes their
// configuration, starts them in order and waits until each one works; Down ends exactly those that Up has recorded.
//
// It does not build programs (package binaries) and does not know what the simulated cloud does (package sim).
package stack

import (
	"os"
	"path/filepath"
)

// layout is the directory of a sandbox, with the paths in it.
type layout string

func (l layout) path(elem ...string) string {
	return filepath.Join(append([]string{string(l)}, elem...)...)
}

func (l layout) state() string               { return l.path("sandbox.json") }
func (l layout) lock() string                { return l.path("sandbox.lock") }
func (l layout) kubeconfig() string          { return l.path("kubeconfig") }
func (l layout) logs() string                { return l.path("logs") }
func (l layout) log(component string) string { return l.path("logs", component+".log") }
func (l layout) etcdData() string            { return l.path("etcd") }
func (l layout) home() string                { return l.path("home") }
func (l layout) simulator() string           { return l.path("simulator.json") }
func (l layout) artifacts() string           { return l.path("artifacts") }
func (l layout) auditPolicy() string         { return l.path("audit.json") }
func (l layout) podReadyAgain() string       { return l.path("pod-ready-again.yaml") }
func (l layout) auditLog() string            { return l.log("audit") }

func (l layout) pki(name string) string { return l.path("pki", name) }
func (l layout) caCert() string         { return l.pki("ca.crt") }
func (l layout) caKey() string          { return l.pki("ca.key") }
func (l layout) servingCert() string    { return l.pki("serving.crt") }
func (l layout) servingKey() string     { return l.pki("serving.key") }
func (l layout) accountKey() string     { return l.pki("service-accounts.key") }
func (l layout) tokens() string         { return l.pki("tokens.csv") }
func (l layout) configOf(component string) string {
	return l.pki(component + ".kubeconfig")
}

// furnish creates the directories.
func (l layout) furnish() error {
	for _, dir := range []string{l.logs(), l.etcdData(), l.home(), l.artifacts(), l.path("pki")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	return nil
}

// remove removes the sandbox's files, and the directory if nothing else is in it.
func (l layout) remove() error {
	for _, entry := range []string{l.kubeconfig(), l.etcdData(), l.home(), l.simulator(), l.artifacts(), l.auditPolicy(),
		l.podReadyAgain(), l.path("pki"), l.logs(), l.state(), l.state() + ".new", l.lock()} {
		if err := os.RemoveAll(entry); err != nil {
			return err
		}
	}
	_ = os.Remove(string(l))
	return nil
}
