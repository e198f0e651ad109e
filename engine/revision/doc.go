// Package revision opens the directories of configuration of a command, with the values for their
// variables and their catalogue. It reads what they are compared with: a commit of their
// repository, a saved plan, or a snapshot of a cluster. In a repository of many clusters, it
// finds the directories of clusters, and those that a change can affect.
//
// It finds and compiles directories. It neither compares them nor connects to a cluster.
package revision
