// Package argo plays the parts of Argo CD that examples/argocd is written for:
// the server that runs a config management plugin, and the Lua that asks for the
// health of an object and carries out its actions. It does what the sources of
// Argo CD 3.5 do (cmpserver/plugin, reposerver/repository and util/lua), for
// tests that have no Argo CD.
package argo
