// Package revision opens the directories of configuration that a command is given, with the
// values for their variables and the catalogue to check against, and reads what they are
// compared with: a commit of their repository, a saved plan, or a snapshot of a cluster. It
// knows the repository of many clusters: which directories are those of clusters, and which of
// them a change can reach.
//
// It finds and compiles. What follows from a comparison it does not know, and it asks no
// cluster.
package revision
