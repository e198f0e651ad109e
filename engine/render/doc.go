// Package render hands compiled objects to what syncs them without lkeplan's
// controller.
//
// Write makes a directory of files: one for each object, and a
// kustomization.yaml that lists them. It knows which files of the directory it
// has written, replaces and deletes those, and never touches another.
//
// The rest is the contract of Argo CD's config management plugins: what a plugin
// reads about an Application, which parameters it announces, and which
// annotations Argo CD reads to know how to sync objects. It is that of
// argocd-cmp-server 3.5 (cmpserver/plugin and reposerver/repository).
//
// It runs nothing and does not read the environment: the command passes its own.
package render
