// Package argo plays the part of Argo CD that runs the scripts of examples/argocd: the Lua
// that says how healthy an object is, and carries out its actions. It does what the
// sources of Argo CD 3.5 do (util/lua), for tests that have no Argo CD.
package argo
