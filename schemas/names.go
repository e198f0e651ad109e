package schemas

import (
	"fmt"
	"regexp"
	"strings"
)

// PlaceholderName stands for the name of a cluster that is not known. No cluster can have this
// name.
const PlaceholderName = "CHANGE-ME"

var labelValue = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)

// WrongClusterName returns in sentences what is wrong with the name of a cluster, in LKE or in
// instance mode; "" if it is valid. The name is a label of each object.
func WrongClusterName(name string, instances bool) string {
	const rule = "The name of a cluster is its label in LKE"
	switch {
	case name == PlaceholderName && instances:
		return fmt.Sprintf("%s is a placeholder. Write the controller's CLUSTER_NAME.", name)
	case name == PlaceholderName:
		return fmt.Sprintf("%s is a placeholder. Write the cluster's label in LKE.", name)
	case instances:
		if wrong := WrongInstanceName(name); wrong != "" {
			return fmt.Sprintf("%q cannot be the name of a cluster in instance mode: %s.", name, wrong)
		}
	case name == "":
		return "The name is empty. " + rule + "."
	case len(name) > 63:
		return fmt.Sprintf("The name has %d characters, and objects have it as a label of at most 63 characters. %s.", len(name), rule)
	case !labelValue.MatchString(name):
		return fmt.Sprintf("%q cannot be the name of a cluster. %s: letters, digits, dashes, underscores and dots, with a "+
			"letter or digit at both ends.", name, rule)
	}
	return ""
}

// longestInstanceName is the maximum number of characters of a cluster name in instance mode. A
// Linode's label has 64 characters, of which 21 are derived from the claim; a tag has 50.
const longestInstanceName = 34

var instanceName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// WrongInstanceName returns what is wrong with the name of a cluster in instance mode; "" if it is
// valid.
func WrongInstanceName(name string) string {
	switch {
	case name == "":
		return "it is empty"
	case len(name) > longestInstanceName:
		return fmt.Sprintf("it has %d characters; a Linode's tags allow %d", len(name), longestInstanceName)
	case !instanceName.MatchString(name), strings.Contains(name, "--"):
		return "the labels of Linodes and the names of Nodes start with the name of the cluster, so it can contain only lower-case " +
			"letters, digits and single dashes, with a letter or digit at both ends"
	}
	return ""
}
