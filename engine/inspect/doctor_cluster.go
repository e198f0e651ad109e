package inspect

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/utils/ptr"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// The minor versions of Kubernetes that lkeplan supports: the oldest that has
// what it needs, and the newest that it was built for.
const (
	OldestMinor = 30 // ValidatingAdmissionPolicies
	NewestMinor = 36
)

// server checks the API server's version.
func (p Installation) server(ctx context.Context) []Finding {
	info, err := p.Cluster.Server(ctx)
	if err != nil {
		return []Finding{{LevelFail, "API server", err.Error(), "choose another cluster with --kubeconfig or --context"}}
	}
	return []Finding{versionOf(info.Minor, info.GitVersion)}
}

func versionOf(minor, full string) Finding {
	n, err := strconv.Atoi(strings.TrimRight(minor, "+"))
	f := Finding{LevelOK, "Kubernetes", full, ""}
	switch {
	case err != nil:
		return Finding{LevelWarn, "Kubernetes", "cannot read its version " + full, ""}
	case n < OldestMinor:
		f.Level, f.Do = LevelFail, fmt.Sprintf("upgrade the cluster: lkeplan needs 1.%d or newer", OldestMinor)
	case n > NewestMinor:
		f.Level, f.Do = LevelWarn, fmt.Sprintf("install a newer lkeplan: this one was built for up to 1.%d", NewestMinor)
	}
	return f
}

// crds compares the CRDs of the cluster with those of this program.
func (p Installation) crds(ctx context.Context) []Finding {
	const of = "CRDs"
	wanted := kube.CRDs()
	live, err := p.Cluster.List(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition")
	if err != nil {
		return notKnown(of, err)
	}
	var missing, others []string
	for _, w := range wanted {
		at := slices.IndexFunc(live, func(obj map[string]any) bool { return manifest.Name(obj) == w.Name })
		if at < 0 {
			missing = append(missing, w.Spec.Names.Kind)
			continue
		}
		have, err := manifest.As[apiextensionsv1.CustomResourceDefinition](live[at]) // CRDs of other projects are large and many
		if err != nil {
			return notKnown(of, err)
		}
		if !sameCRD(w, have) {
			others = append(others, w.Spec.Names.Kind)
		}
	}
	var found []Finding
	if len(missing) > 0 {
		found = append(found, Finding{LevelFail, of, "missing: " + strings.Join(missing, ", "), "lkeplan crds apply"})
	}
	if len(others) > 0 {
		found = append(found, Finding{LevelWarn, of, "these CRDs have another release: " + strings.Join(others, ", "),
			"lkeplan crds apply, or use the lkeplan of the release that is installed"})
	}
	if found == nil {
		found = append(found, Finding{LevelOK, of, fmt.Sprintf("all %d CRDs have this release", len(wanted)), ""})
	}
	return found
}

func sameCRD(want, have *apiextensionsv1.CustomResourceDefinition) bool {
	want, have = want.DeepCopy(), have.DeepCopy()
	for _, d := range []*apiextensionsv1.CustomResourceDefinition{want, have} {
		apiextensionsv1.SetDefaults_CustomResourceDefinition(d)
		apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&d.Spec)
	}
	return equality.Semantic.DeepEqual(want.Spec, have.Spec)
}

// part is a Deployment of lkeplan.
type part struct {
	namespace, name, account, version string
	env                               map[string]string // its variables and flags
	idle                              bool              // it should have pods, but none is available
}

func (p Installation) parts(ctx context.Context) ([]part, error) {
	all, err := cluster.List[appsv1.Deployment](ctx, p.Cluster, "apps/v1", "Deployment")
	if err != nil {
		return nil, err
	}
	var parts []part
	for _, d := range all {
		if d.Labels["app.kubernetes.io/part-of"] == "lkeplan" {
			parts = append(parts, part{
				namespace: d.Namespace, name: d.Name, account: d.Spec.Template.Spec.ServiceAccountName,
				version: d.Labels["app.kubernetes.io/version"], env: environmentOf(d), idle: isIdle(d),
			})
		}
	}
	return parts, nil
}

// flags are the flags that stand for environment variables.
var flags = map[string]string{
	"--cluster-name": "CLUSTER_NAME", "--cluster-id": "LKE_CLUSTER_ID", "--region": "LINODE_REGION",
	"--mode": "KARPENTER_MODE", "--cluster-endpoint": "CLUSTER_ENDPOINT",
}

// environmentOf has the values of variables and flags of the first container of a Deployment, if
// the Deployment itself contains them.
func environmentOf(deployment *appsv1.Deployment) map[string]string {
	env := map[string]string{}
	containers := deployment.Spec.Template.Spec.Containers
	for _, container := range containers[:min(1, len(containers))] {
		for _, variable := range container.Env {
			env[variable.Name] = variable.Value
		}
		for i, arg := range container.Args {
			name, value, given := strings.Cut(arg, "=")
			if !given && i+1 < len(container.Args) {
				value = container.Args[i+1]
			}
			if variable, ok := flags[name]; ok {
				env[variable] = value
			}
		}
	}
	return env
}

// isIdle reports whether a Deployment should have pods, but none is available.
func isIdle(d *appsv1.Deployment) bool {
	return d.Status.AvailableReplicas == 0 && ptr.Deref(d.Spec.Replicas, 1) != 0
}

// installed checks the Deployments of lkeplan, and how far their release is from
// this one.
func (p Installation) installed(ctx context.Context) []Finding {
	const of = "installation"
	parts, err := p.parts(ctx)
	if err != nil {
		return notKnown(of, err)
	}
	if len(parts) == 0 {
		return []Finding{{LevelWarn, of, "there is no Deployment of lkeplan",
			"install the chart in kube/chart; if the controller runs outside of the cluster, ignore this"}}
	}
	var found []Finding
	for _, d := range parts {
		f := Finding{LevelOK, of, fmt.Sprintf("%s/%s %s", d.namespace, d.name, d.version), ""}
		switch {
		case d.idle:
			f.Level, f.Text = LevelFail, f.Text+" has no available pod"
			f.Do = fmt.Sprintf("to see the reason, run kubectl -n %s describe pods; if the only nodes are those of NodePools, create "+
				"an LKE pool for the controller (a cluster of LKE Enterprise can be without one)", d.namespace)
		case Skewed(p.Version, "v"+d.version):
			f.Level = LevelWarn
			f.Do = fmt.Sprintf("use releases that are at most one minor version apart; this lkeplan is %s", p.Version)
		}
		found = append(found, f)
	}
	return found
}

// Skewed reports whether a program and the controller are further apart than is tested:
// by a major version or more than one minor version. An unknown version is not.
func Skewed(ours, theirs string) bool {
	a, unknown := version.ParseSemantic(ours)
	b, alsoUnknown := version.ParseSemantic(theirs)
	if unknown != nil || alsoUnknown != nil {
		return false
	}
	return a.Major() != b.Major() || max(a.Minor(), b.Minor())-min(a.Minor(), b.Minor()) > 1
}

// controllers checks which controllers run, by their Leases.
func (p Installation) controllers(ctx context.Context) []Finding {
	const of = "controller"
	all, err := cluster.Controllers(ctx, p.Cluster, p.Now())
	if err != nil {
		return notKnown(of, err)
	}
	var found []Finding
	works := 0
	for _, c := range all {
		f := Finding{LevelOK, of, c.String(), ""}
		if !c.Works() {
			f.Level, f.Do = LevelFail, "start the controller, or delete its Lease if the controller was removed; to see which pods do not run, use "+
				"kubectl -n "+c.Namespace+" get pods"
		}
		if c.MakesNodes() && c.Works() {
			works++
		}
		found = append(found, f)
	}
	switch {
	case works > 1:
		found = append(found, Finding{LevelFail, of, fmt.Sprintf("%d controllers create nodes in one cluster", works), "uninstall all but one"})
	case len(all) == 0:
		found = append(found, Finding{LevelWarn, of, "no controller has a Lease",
			"start a controller, unless one runs outside of the cluster without leader election"})
	}
	return found
}

// rights asks the API server for each right that the accounts of lkeplan need.
func (p Installation) rights(ctx context.Context) []Finding {
	const of = "rights"
	parts, err := p.parts(ctx)
	if err != nil {
		return notKnown(of, err)
	}
	instances := p.settings(ctx).instances
	needed, err := kube.NeededRights(instances)
	if err != nil {
		return notKnown(of, err)
	}
	together := !slices.ContainsFunc(parts, func(d part) bool { return d.name == "lkeplan-gitops" })
	plans, err := p.plans(ctx)
	if err != nil {
		return notKnown(of, err)
	}
	var found []Finding
	for _, d := range parts {
		rights := needed[d.name]
		if together && d.name == "lkeplan-controller" && plans > 0 {
			more := slices.DeleteFunc(needed["lkeplan-gitops"], func(r authorizationv1.ResourceAttributes) bool {
				return r.Resource == "leases" // it has only its own Lease
			})
			rights = slices.Concat(rights, more)
		}
		refused, err := p.refused(ctx, d, rights)
		switch {
		case err != nil:
			return append(found, notKnown(of, err)...)
		case len(refused) > 0:
			const most = 5
			text := strings.Join(refused[:min(most, len(refused))], ", ")
			if n := len(refused) - most; n > 0 {
				text += fmt.Sprintf(" and %d more", n)
			}
			do := "helm upgrade, or kubectl apply -k kube/deploy of that release"
			if instances {
				do += ", and then kubectl apply -f kube/deploy/instance.yaml"
			}
			text = fmt.Sprintf("the account %s/%s cannot %s", d.namespace, d.account, text)
			found = append(found, Finding{LevelFail, of, text, do})
		default:
			text := fmt.Sprintf("the account %s/%s has all %d rights that it needs", d.namespace, d.account, len(rights))
			found = append(found, Finding{LevelOK, of, text, ""})
		}
	}
	return found
}

// refused returns the rights that an account lacks.
func (p Installation) refused(ctx context.Context, d part, needed []authorizationv1.ResourceAttributes) ([]string, error) {
	var refused []string
	for _, right := range needed {
		if right.Namespace == kube.DeployNamespace {
			right.Namespace = d.namespace
		}
		allowed, err := p.Cluster.May(ctx, d.namespace, d.account, right)
		if err != nil {
			return nil, err
		}
		if !allowed {
			text := right.Verb + " " + right.Resource
			if right.Subresource != "" {
				text += "/" + right.Subresource
			}
			if right.Namespace != "" && right.Namespace != d.namespace {
				text += " in " + right.Namespace
			}
			refused = append(refused, text)
		}
	}
	return refused, nil
}

func (p Installation) plans(ctx context.Context) (int, error) {
	plans, err := p.Cluster.List(ctx, "lkeplan.dev/v1alpha1", "NodePlan")
	if meta.IsNoMatchError(err) {
		return 0, nil
	}
	return len(plans), err
}

// rivals checks for another Karpenter: two of them revert each other's changes.
func (p Installation) rivals(ctx context.Context) []Finding {
	const of = "other Karpenter"
	all, err := cluster.List[appsv1.Deployment](ctx, p.Cluster, "apps/v1", "Deployment")
	if err != nil {
		return notKnown(of, err)
	}
	var found []Finding
	for _, d := range all {
		if d.Labels["app.kubernetes.io/name"] == "karpenter" && ptr.Deref(d.Spec.Replicas, 1) > 0 {
			found = append(found, Finding{LevelFail, of, "the Deployment " + d.Namespace + "/" + d.Name +
				" runs, and also creates nodes for the NodePools", "kubectl -n " + d.Namespace + " scale deployment/" + d.Name + " --replicas=0"})
		}
	}
	return found
}
