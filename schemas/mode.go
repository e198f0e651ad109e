package schemas

// The modes of a cluster: who makes its machines.
const (
	ModeLKE      = "lke"
	ModeInstance = "instance" // the controller itself, as Linodes that join by themselves
)

// The tiers of LKE.
const (
	TierStandard   = "standard"
	TierEnterprise = "enterprise"
)

// AnnotationMode says on a LinodeNodeClass how its machines are made: ModeInstance, or
// nothing where LKE makes them. What compiles the class writes it, and the controller, which
// takes no class of another mode.
const AnnotationMode = "lkeplan.dev/node-mode"

// AnnotationGPUPlans says on a LinodeNodeClass of LKE Enterprise, if it is "true", that nodes are made of GPU plans as
// well. What compiles the class writes it, from gpu_plans of the cluster block. It replaces no node.
const AnnotationGPUPlans = "lkeplan.dev/gpu-plans"

// OfCluster are the annotations of a LinodeNodeClass that say of its cluster what the cluster block
// says.
func OfCluster() []string { return []string{AnnotationMode, AnnotationGPUPlans} }

// Modes say in which mode an argument or a block has an effect; the zero value: in both.
type Modes struct {
	// NoEffectOnLKE is for what is taken there, so that manifests for the provider that
	// Linode publishes apply unchanged, and does nothing.
	NoEffectOnLKE bool
	// NotInstances says, as a sentence, why it is an error in instance mode; "" where it
	// has an effect.
	NotInstances string
}

// prefix is what stands before the documentation of what has an effect in one mode only.
func (m Modes) prefix() string {
	switch {
	case m.NoEffectOnLKE && m.NotInstances == "":
		return "Instances: "
	case m.NotInstances != "" && !m.NoEffectOnLKE:
		return "LKE: "
	}
	return ""
}

// says is the documentation of an argument.
func (a Arg) says() string { return a.Modes.prefix() + a.Doc }

// within are the modes of what is in a block.
func (m Modes) within(block Modes) Modes {
	m.NoEffectOnLKE = m.NoEffectOnLKE || block.NoEffectOnLKE
	if m.NotInstances == "" {
		m.NotInstances = block.NotInstances
	}
	return m
}

var onInstances = Modes{NoEffectOnLKE: true}

// modes describes which arguments of a block have an effect in which mode.
func (w *reference) modes(block Block) {
	w.line("What has an effect depends on who makes the machines, `mode` of the cluster block. Where an argument has none on " +
		"LKE, it is taken, and `lkeplan validate` warns; where it has none in instance mode, it is an error.")
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

// AnnotationRemoval marks a NodePool that is being removed: since when, and how many nodes it had
// then. Its nodes go first, within its budgets: they drift by it. A configuration cannot set it, as
// no guard has judged such a removal.
const AnnotationRemoval = "lkeplan.dev/condemned"
