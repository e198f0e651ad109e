package inspect

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/semver"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/schemas/crd"
)

// The versions of Kubernetes that lkeplan is for, by their minor: the oldest that has
// what it needs, and the newest that it was built for.
const (
	OldestMinor = 30 // ValidatingAdmissionPolicies
	NewestMinor = 36
)

// How far clocks may be apart: Leases of 15 seconds, and ages of objects, are judged by
// them. The API server says its own to the second.
const (
	clockOff   = 3 * time.Second
	clockWrong = 10 * time.Second
)

// server looks at the API server's version and clock.
func (p Installation) server(ctx context.Context) []Finding {
	asked := p.Now()
	info, at, err := p.Cluster.Server(ctx)
	if err != nil {
		return []Finding{{LevelFail, "API server", err.Error(), "choose another cluster with --kubeconfig or --context"}}
	}
	return []Finding{versionOf(info.Minor, info.GitVersion), clock(asked, at, p.Now())}
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
		f.Level, f.Do = LevelWarn, fmt.Sprintf("look for a newer lkeplan: this one was built for up to 1.%d", NewestMinor)
	}
	return f
}

// clock compares the API server's clock with ours, which was read before and after it.
func clock(before, there, after time.Time) Finding {
	off := time.Duration(0)
	switch {
	case there.Add(time.Second).Before(before):
		off = before.Sub(there.Add(time.Second))
	case there.After(after):
		off = there.Sub(after)
	}
	f := Finding{LevelOK, "clock", "the API server's and this machine's agree", ""}
	if off > clockOff {
		f = Finding{LevelWarn, "clock", fmt.Sprintf("the API server's and this machine's are %s apart", off.Round(time.Second)),
			"set the clocks by NTP; what is said here of Leases may be wrong"}
	}
	return f
}

// crds compares the CRDs of the cluster with those of this program.
func (p Installation) crds(ctx context.Context) []Finding {
	const of = "CRDs"
	wanted, err := crd.All()
	if err != nil {
		return notKnown(of, err)
	}
	live, err := cluster.List[apiextensionsv1.CustomResourceDefinition](ctx, p.Cluster, "apiextensions.k8s.io/v1",
		"CustomResourceDefinition")
	if err != nil {
		return notKnown(of, err)
	}
	var missing, others []string
	for _, w := range wanted {
		at := slices.IndexFunc(live, func(d *apiextensionsv1.CustomResourceDefinition) bool { return d.Name == w.Name })
		if at < 0 {
			missing = append(missing, w.Spec.Names.Kind)
		} else if !same(w, live[at]) {
			others = append(others, w.Spec.Names.Kind)
		}
	}
	var found []Finding
	if len(missing) > 0 {
		found = append(found, Finding{LevelFail, of, "missing: " + strings.Join(missing, ", "), "lkeplan crds apply"})
	}
	if len(others) > 0 {
		found = append(found, Finding{LevelWarn, of, "of another release: " + strings.Join(others, ", "),
			"lkeplan crds apply, or use the lkeplan of the release that is installed"})
	}
	if found == nil {
		found = append(found, Finding{LevelOK, of, fmt.Sprintf("all %d are those of this release", len(wanted)), ""})
	}
	return found
}

// same reports whether two definitions define the same.
func same(want, have *apiextensionsv1.CustomResourceDefinition) bool {
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
	env                               map[string]string // what it is told, also by flags
	idle                              bool              // it should have pods, and none is available
}

// parts are the Deployments of lkeplan.
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
				version: d.Labels["app.kubernetes.io/version"], env: told(d), idle: idle(d),
			})
		}
	}
	return parts, nil
}

// flags are those with which the controller is told what a variable says otherwise.
var flags = map[string]string{
	"--cluster-name": "CLUSTER_NAME", "--cluster-id": "LKE_CLUSTER_ID", "--region": "LINODE_REGION",
	"--mode": "KARPENTER_MODE", "--cluster-endpoint": "CLUSTER_ENDPOINT",
}

// told is what the first container of a Deployment is told by variables and flags, as far as
// the Deployment itself has their values.
func told(deployment *appsv1.Deployment) map[string]string {
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

// idle reports whether a Deployment should have pods, and none is available.
func idle(d *appsv1.Deployment) bool {
	return d.Status.AvailableReplicas == 0 && ptr.Deref(d.Spec.Replicas, 1) != 0
}

// installed looks at the Deployments of lkeplan, and at how far their release is from
// this one.
func (p Installation) installed(ctx context.Context) []Finding {
	const of = "installation"
	parts, err := p.parts(ctx)
	if err != nil {
		return notKnown(of, err)
	}
	if len(parts) == 0 {
		return []Finding{{LevelWarn, of, "there is no Deployment of lkeplan",
			"helm install lkeplan (kube/chart), unless it runs outside of the cluster"}}
	}
	var found []Finding
	for _, d := range parts {
		f := Finding{LevelOK, of, fmt.Sprintf("%s/%s %s", d.namespace, d.name, d.version), ""}
		switch {
		case d.idle:
			f.Level, f.Text = LevelFail, f.Text+" has no pod that is available"
			f.Do = fmt.Sprintf("kubectl -n %s describe pods says why: the Secret with the token, the image, or no node but "+
				"those of NodePools: make an LKE pool for it, as a cluster of LKE Enterprise can have none", d.namespace)
		case Skewed(p.Version, "v"+d.version):
			f.Level = LevelWarn
			f.Do = fmt.Sprintf("use releases that are one minor version apart at most; this is %s", p.Version)
		}
		found = append(found, f)
	}
	return found
}

// Skewed reports whether a program and the controller are further apart than is tested:
// of another major version, or more than one minor. A version that is not known is not.
func Skewed(ours, theirs string) bool {
	if !semver.IsValid(ours) || !semver.IsValid(theirs) {
		return false
	}
	if semver.Major(ours) != semver.Major(theirs) {
		return true
	}
	minor := func(v string) int {
		_, text, _ := strings.Cut(semver.MajorMinor(v), ".")
		n, _ := strconv.Atoi(text) // semver has read it
		return n
	}
	return max(minor(ours), minor(theirs))-min(minor(ours), minor(theirs)) > 1
}

// controllers looks at who works, by the Leases.
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
			f.Level, f.Do = LevelFail, "start it, or delete its Lease; kubectl -n "+c.Namespace+" get pods says what does not run"
		}
		if c.MakesNodes() && c.Works() {
			works++
		}
		found = append(found, f)
	}
	switch {
	case works > 1:
		found = append(found, Finding{LevelFail, of, "two make nodes in one cluster", "uninstall one of them"})
	case len(all) == 0:
		found = append(found, Finding{LevelWarn, of, "none has a Lease",
			"start it, unless one runs that elects no leader, outside of the cluster"})
	}
	return found
}
