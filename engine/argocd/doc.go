// Package argocd speaks the contract of Argo CD's config management plugins:
// what a plugin reads about an Application, which parameters it announces, and
// which annotations Argo CD reads to know how to sync objects. The contract is
// that of argocd-cmp-server 3.5 (cmpserver/plugin and reposerver/repository).
//
// It runs nothing and does not read the environment: the command passes its own.
package argocd
