// Package argocd speaks the contract of Argo CD's config management plugins:
// what a plugin is told of an Application, what it announces of itself, and
// what Argo CD reads on objects to know how to sync them. The contract is that
// of argocd-cmp-server 3.5 (cmpserver/plugin and reposerver/repository).
//
// It runs nothing and reads no environment: the command hands over what it was
// started with.
package argocd
