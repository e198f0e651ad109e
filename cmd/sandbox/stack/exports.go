package stack

import (
	"fmt"
	"strconv"
	"strings"
)

// Export is an environment variable with which a client finds the sandbox.
type Export struct {
	Name, Value string
}

// Exports returns the variables that a client needs, in the order in which they are printed.
func (s *State) Exports() []Export {
	all := []Export{
		{"KUBECONFIG", layout(s.Dir).kubeconfig()},
		{"LINODE_URL", "http://" + address(s.port(linode, "api"))},
		{"LINODE_TOKEN", s.Cluster.LinodeToken},
		{"CLUSTER_NAME", s.Cluster.Name},
	}
	if s.Cluster.Mode == ModeInstance {
		return append(all, Export{"KARPENTER_MODE", ModeInstance}, Export{"LINODE_REGION", s.Cluster.Region})
	}
	return append(all, Export{"LKE_CLUSTER_ID", strconv.Itoa(s.Cluster.ID)})
}

// ofAMode are the variables of one mode, which the other mode must not inherit from the environment.
var ofAMode = []string{"LKE_CLUSTER_ID", "KARPENTER_MODE", "LINODE_REGION"}

// Shell returns the variable as a line for a shell to evaluate.
func (e Export) Shell() string {
	return fmt.Sprintf("export %s='%s'", e.Name, strings.ReplaceAll(e.Value, "'", `'\''`))
}

// Environ returns base with the exports, and with the sandbox's programs at the end of PATH, so that an installed
// kubectl comes first.
func (s *State) Environ(base []string) []string {
	replaced := map[string]bool{"PATH": true}
	for _, name := range ofAMode {
		replaced[name] = true
	}
	for _, e := range s.Exports() {
		replaced[e.Name] = true
	}
	var env []string
	path := ""
	for _, pair := range base {
		name, value, _ := strings.Cut(pair, "=")
		if name == "PATH" {
			path = value
		}
		if !replaced[name] {
			env = append(env, pair)
		}
	}
	for _, e := range s.Exports() {
		env = append(env, e.Name+"="+e.Value)
	}
	dirs := s.BinDirs
	if path != "" {
		dirs = append([]string{path}, dirs...)
	}
	return append(env, "PATH="+strings.Join(dirs, ":"))
}
