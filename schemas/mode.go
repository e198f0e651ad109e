package schemas

import "time"

// The modes of a cluster: how its machines are created.
const (
	ModeLKE      = "lke"
	ModeInstance = "instance" // by the controller, as Linodes that join the cluster
)

// The tiers of LKE.
const (
	TierStandard   = "standard"
	TierEnterprise = "enterprise"
)

// AnnotationMode is an annotation of a LinodeNodeClass: ModeInstance, or absent if LKE creates its
// machines. The compiler of the class writes it. The controller ignores classes of another mode.
const AnnotationMode = "lkeplan.dev/node-mode"

// AnnotationGPUPlans is "true" on a LinodeNodeClass of LKE Enterprise if nodes can use GPU plans.
// The compiler of the class writes it, from gpu_plans of the cluster block. It replaces no nodes.
const AnnotationGPUPlans = "lkeplan.dev/gpu-plans"

// OfCluster returns the annotations of a LinodeNodeClass that repeat settings of the cluster block.
func OfCluster() []string { return []string{AnnotationMode, AnnotationGPUPlans} }

// Modes are the modes in which an argument or a block has an effect; the zero value: both.
type Modes struct {
	// NoEffectOnLKE is for arguments that have no effect on LKE. They are accepted there, so
	// manifests for Linode's published provider apply unchanged.
	NoEffectOnLKE bool
	// NotInstances is a sentence: why the argument is an error in instance mode; "" if it has an
	// effect there.
	NotInstances string
}

// prefix introduces the documentation of an argument that has an effect in one mode only.
func (m Modes) prefix() string {
	switch {
	case m.NoEffectOnLKE && m.NotInstances == "":
		return "Instance mode: "
	case m.NotInstances != "" && !m.NoEffectOnLKE:
		return "LKE: "
	}
	return ""
}

// About describes an argument, in Markdown.
func (a Arg) About() string { return a.Modes.prefix() + a.Doc }

// within returns the modes in which an argument has an effect if its block has an effect only in some modes.
func (m Modes) within(block Modes) Modes {
	m.NoEffectOnLKE = m.NoEffectOnLKE || block.NoEffectOnLKE
	if m.NotInstances == "" {
		m.NotInstances = block.NotInstances
	}
	return m
}

var onInstances = Modes{NoEffectOnLKE: true}

// modes documents the modes in which the arguments of a block have an effect.
func (w *reference) modes(block Block) {
	w.line("The mode of the cluster block determines which arguments have an effect. On LKE, an argument without " +
		"effect is accepted, and `lkeplan validate` warns. In instance mode, it is an error.")
	var rows [][]string
	row := func(name string, m Modes) {
		lke, instances := "yes", "yes"
		if m.NoEffectOnLKE {
			lke = "no"
		}
		if m.NotInstances != "" {
			instances = "error: " + m.NotInstances
		}
		rows = append(rows, []string{"`" + name + "`", lke, instances})
	}
	for _, arg := range block.Args {
		if !arg.Meta {
			row(arg.Name, arg.Modes)
		}
	}
	for _, nested := range block.Blocks {
		row(nested.Type, nested.Modes)
		for _, arg := range nested.Args {
			if arg.Modes != (Modes{}) {
				row(nested.Type+"."+arg.Name, arg.Modes.within(nested.Modes))
			}
		}
	}
	w.table([]string{"argument or block", "LKE", "instance mode"}, rows)
}

// AnnotationRemoval marks a NodePool that is being removed. It records since when, and how many
// nodes the pool had then. The annotation makes the nodes drift, so they drain within the pool's
// budgets. A configuration cannot set it, because no guard would have checked the removal.
const AnnotationRemoval = "lkeplan.dev/condemned"

// AnnotationInPlace is on a NodePool: the keys of labels and annotations of its template that change in place, sorted and
// separated by commas.
const AnnotationInPlace = "lkeplan.dev/in-place"

// AnnotationRefreshAfter is on a NodePool: the age at which its nodes are replaced within its disruption budgets. It is
// on the NodePool and not on its template, so that a change of it changes no hash.
const AnnotationRefreshAfter = "lkeplan.dev/refresh-after"

// ShortestRefresh is the least value of refresh_after: a Linode takes minutes to join the cluster.
const ShortestRefresh = 10 * time.Minute
