package schemas

import (
	"fmt"
	"regexp"
	"strings"
)

// PlaceholderName stands for the name of a cluster where it is not known. Nobody's
// cluster is called so.
const PlaceholderName = "CHANGE-ME"

var labelValue = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)

// WrongClusterName says in sentences what is wrong with the name of a cluster, of LKE or in
// instance mode; "" for nothing. The name is written on each object as a label.
func WrongClusterName(name string, instances bool) string {
	const rule = "It is the cluster's label in LKE"
	switch {
	case name == PlaceholderName && instances:
		return fmt.Sprintf("%s is not the name of a cluster. Write the controller's CLUSTER_NAME.", name)
	case name == PlaceholderName:
		return fmt.Sprintf("%s is not the name of a cluster. Write the cluster's label in LKE.", name)
	case instances:
		if wrong := WrongInstanceName(name); wrong != "" {
			return fmt.Sprintf("%q cannot be the name of a cluster in instance mode: %s.", name, wrong)
		}
	case name == "":
		return "The name is empty. " + rule + "."
	case len(name) > 63:
		return fmt.Sprintf("The name has %d characters, and 63 fit into the label that objects carry. %s.", len(name), rule)
	case !labelValue.MatchString(name):
		return fmt.Sprintf("%q cannot be a cluster's label. %s: letters, digits, dashes, underscores and dots, with a "+
			"letter or digit at both ends.", name, rule)
	}
	return ""
}

// longestInstanceName is how many characters the name of a cluster may have in instance mode:
// a Linode's label has 64, of which 21 follow from the claim; a tag has 50.
const longestInstanceName = 34

var instanceName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// WrongInstanceName says what is wrong with the name of a cluster in instance mode; "" for
// nothing.
func WrongInstanceName(name string) string {
	switch {
	case name == "":
		return "it is empty"
	case len(name) > longestInstanceName:
		return fmt.Sprintf("it has %d characters, and %d fit into a Linode's tags", len(name), longestInstanceName)
	case !instanceName.MatchString(name), strings.Contains(name, "--"):
		return "it is the beginning of Linodes' labels and of Nodes' names: lower-case letters, digits and single dashes, " +
			"with a letter or digit at both ends"
	}
	return ""
}
